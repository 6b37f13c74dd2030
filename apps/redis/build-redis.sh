#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build redis-server or valkey-server, whichever SOURCE has, from its unmodified sources, with its own Makefile and our
# compiler, in a copy of its tree; with data.c around what loads and saves data, no-disk.c in place of what cannot save,
# settings.c and replication.c around settings and commands that ask for what is not there, out-of-memory.c around what
# reports that no memory is left, and block-alignment.c.
#   build-redis.sh SOURCE WORK COMPILER OPTIMIZATION PROFILE STAMP                         its objects
#   build-redis.sh SOURCE WORK COMPILER OPTIMIZATION PROFILE OUTPUT OUTPUT-WITH-SYMBOLS [--processes]   then the program
# --processes: one that forks a child; the files named above are compiled with -DCHILDREN, and Redis's own are the same.
# PROFILE: a JSON file of ../profile/profile.py, or an empty file. Valkey is compiled with -DVALKEY: a few
# names differ. What is already compiled in WORK is kept as long as the compiler, the profile, musl's headers and the
# source are the same; the program is always linked anew, for the libraries that the compiler adds may be newer.
set -eu

source=$(realpath "$1")
work=$2
compiler=$(realpath "$3")
optimization=$4
profile=$5
output=$(realpath -m "$6")
symbols=${7:+$(realpath -m "$7")}
form=${8:-}
stamp=$work/.built-with

headers=$(dirname "$compiler")/syscall-names.h # made together with musl's headers
own=$(dirname "$(realpath "$0")")
tools=$own/../profile
. "$own/engine.sh"
key=$(echo "$optimization" | cat - "$compiler" "$0" "$own/wrapped.h" "$own/data.h" \
	"$own/../libc/include/skerry/malloc.h" \
	"$tools/use-profile.sh" "$tools/profile.py" "$profile" "$source/src/version.h" "$headers" | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$key" ]; then
	rm -rf "$work"
	cp -R "$source" "$work"
fi
. "$own/../profile/use-profile.sh"
targets=$engine-server
[ -n "$symbols" ] || targets=$(sed -n 's/^\(REDIS\|ENGINE\)_SERVER_OBJ=//p' "$work/src/Makefile")
rm -f "$work/src/$engine-server"
log=$work/build.log
objects=
definitions="-DUSE_MALLOC_USABLE_SIZE -include $own/wrapped.h"
[ "$engine" = redis ] || definitions="-DVALKEY $definitions"
for file in data no-disk settings replication out-of-memory block-alignment; do
	includes=
	if grep -q '^#include "server.h"' "$own/$file.c"; then # Redis's own headers, with its own macros
		includes="$definitions -isystem $work/src"
		for library in lua/src hiredis hdr_histogram; do
			includes="$includes -isystem $work/deps/$library"
		done
	fi
	"$compiler" -O3 -Wall -Wextra ${form:+-DCHILDREN} $includes -c -o "$work/$file.o" "$own/$file.c"
	objects="$objects $(realpath "$work")/$file.o"
done
wrapped=
for function in $(sed -n 's/^__attribute__((noipa)) [a-z]* \([A-Za-z_]*\)(.*/\1/p' "$own/wrapped.h" | sort -u); do
	wrapped="$wrapped -Wl,--wrap=$function"
done
# Redis asks git for its revision: it must not find that of the repository around it. USE_MALLOC_USABLE_SIZE makes it
# count what its blocks take of the heap, not what it asked for: maxmemory depends on that. Optimised at link
# time in one partition for each source file: the linker replaces what is called from another. -g1 has functions and
# lines, and that is what `profile` and backtraces ask for: types and variables take a sixth of the time.
# SOURCE_DATE_EPOCH: Redis puts the host's name and the time of the build into its version; an image is the same in every
# folder and at every time. gcc-ar: ar alone finds no symbols in what is optimised at link time, unless the package of
# the release's own gcc is there.
GIT_DIR=$work/not-a-repository SOURCE_DATE_EPOCH=0 make -C "$work/src" -j2 $targets V=1 \
	CC="$compiler${form:+ $form}" OPTIMIZATION="$optimization" DEBUG=-g1 \
	AR=gcc-ar RANLIB=gcc-ranlib MALLOC=libc \
	REDIS_CFLAGS="$definitions" REDIS_LDFLAGS="-flto=2 -flto-partition=1to1 $objects$wrapped" \
	BUILD_TLS=no USE_SYSTEMD=no USE_JEMALLOC=no >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
echo "$key" >"$stamp"
if [ -z "$symbols" ]; then
	echo "$key" >"$output"
	exit
fi
strip -o "$output" "$work/src/$engine-server"
cp "$work/src/$engine-server" "$symbols"
