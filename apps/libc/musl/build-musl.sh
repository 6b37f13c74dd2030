#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build musl, unmodified, with our syscall_arch.h in front of its own.
#   build-musl.sh SOURCE OUTPUT NAMES
# OUTPUT gets include/ and lib/ (a sysroot); NAMES becomes a C table of the
# names of system calls by number. Quiet unless it fails.
set -eu

source=$(realpath "$1")
names=$(realpath -m "$3")
front=$(dirname "$(realpath "$0")")
mkdir -p "$2"
output=$(realpath "$2")
object=$output.obj

rm -rf "$output" "$object"
mkdir -p "$output" "$object"
cd "$object"
log=$object/log
{
	"$source/configure" --prefix="$output" --syslibdir="$output/lib" --disable-shared --disable-wrapper \
		CC="gcc -I$front" CFLAGS="-O2 -g -fno-pie -fno-stack-protector" &&
	make -j2 &&
	make install
} >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }

# musl has no <sys/queue.h>, which many programs include; that of libc6-dev is macros alone.
queue=$(echo '#include <sys/queue.h>' | gcc -E -x c - | sed -n 's/^# 1 "\(\/.*\/sys\/queue\.h\)".*/\1/p' | head -n 1)
[ -z "$queue" ] || cp "$queue" "$output/include/sys/"

sed -n 's/^#define[[:space:]]*__NR_\([a-z0-9_]*\)[[:space:]]*\([0-9][0-9]*\)$/[\2] = "\1",/p' \
	"$output/include/bits/syscall.h" >"$names"
