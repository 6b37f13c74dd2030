#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libgomp of GCC 12, unmodified, over musl and the layer: OUTPUT/lib/libgomp.a. deploy/setup/libraries.py sets CC,
# SOURCES and OUTPUT. `config_path` of make takes the futexes of Linux without GCC's header for x86, whose calls are
# instructions.
# GCC's futex.h of other targets calls the C library's syscall(); its cpu_relax() is no instruction, here it is PAUSE.
mkdir include
cat >include/futex.h <<'END'
#define cpu_relax compiler_barrier
#include "config/linux/futex.h"
#undef cpu_relax

/* Lets the other thread of a core run while a loop of do_spin() waits (Intel's manual, volume 2: PAUSE). */
static inline void cpu_relax(void)
{
	compiler_barrier();
	__builtin_ia32_pause();
}
END
CC="$CC -I$PWD/include"
"$SOURCES/gcc-12/libgomp/configure" --build=x86_64-linux-gnu --host=x86_64-linux-musl CC="$CC" CFLAGS=-O2 \
	--disable-shared --disable-multilib --disable-werror
make -j2 config_path="linux posix" libgomp.la
if objdump -d .libs/libgomp.a | grep -qwE 'syscall|sysenter|int +\$0x80'; then
	echo "error: libgomp.a has a system call of its own, which the layer cannot answer" >&2
	exit 1
fi
mkdir "$OUTPUT/lib"
cp .libs/libgomp.a "$OUTPUT/lib/"
