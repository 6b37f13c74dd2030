#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build musl, unmodified, with our syscall_arch.h in front of its own, into the
# sysroot OUTPUT. Quiet unless it fails.
#   build-musl.sh headers SOURCE OUTPUT NAMES    OUTPUT/include; NAMES becomes a C table
#                                                of the names of system calls by number
#   build-musl.sh library SOURCE OUTPUT STAMP    OUTPUT/lib, after the headers; leaves the
#                                                headers as they are, for others compile with them
set -eu

part=$1
source=$(realpath "$2")
made=$(realpath -m "$4")
front=$(dirname "$(realpath "$0")")
mkdir -p "$3"
output=$(realpath "$3")
object=$output.obj
log=$object/log

if [ "$part" = library ]; then
	cd "$object"
	{ make -j2 && make install-libs; } >>"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
	echo "$output/lib" >"$made"
	exit
fi

rm -rf "$output" "$object"
mkdir -p "$output" "$object"
cd "$object"
{
	"$source/configure" --prefix="$output" --syslibdir="$output/lib" --disable-shared --disable-wrapper \
		CC="gcc -I$front" CFLAGS="-O2 -g -fno-pie -fno-stack-protector" &&
	make install-headers
} >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }

# musl has no <sys/queue.h>, which many programs include; that of libc6-dev is macros alone.
queue=$(echo '#include <sys/queue.h>' | gcc -E -x c - | sed -n 's/^# 1 "\(\/.*\/sys\/queue\.h\)".*/\1/p' | head -n 1)
[ -z "$queue" ] || cp "$queue" "$output/include/sys/"

sed -n 's/^#define[[:space:]]*__NR_\([a-z0-9_]*\)[[:space:]]*\([0-9][0-9]*\)$/[\2] = "\1",/p' \
	"$output/include/bits/syscall.h" >"$made"
