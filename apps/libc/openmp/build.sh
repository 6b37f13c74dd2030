#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libgomp of GCC 12, unmodified, over musl and the layer: OUTPUT/lib/libgomp.a. deploy/setup/libraries.py sets CC,
# SOURCES and OUTPUT. `config_path` of make takes the futexes of Linux without GCC's header for x86, whose calls are
# instructions.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
CC="$CC -I$here"
"$SOURCES/gcc-12/libgomp/configure" --build=x86_64-linux-gnu --host=x86_64-linux-musl CC="$CC" CFLAGS=-O2 \
	--disable-shared --disable-multilib --disable-werror
make -j2 config_path="linux posix" libgomp.la
if objdump -d .libs/libgomp.a | grep -qwE 'syscall|sysenter|int +\$0x80'; then
	echo "error: libgomp.a has a system call of its own, which the layer cannot answer" >&2
	exit 1
fi
mkdir "$OUTPUT/lib"
cp .libs/libgomp.a "$OUTPUT/lib/"
