#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build redis-server or valkey-server, whichever SOURCE has, for the Linux guest from the same sources, optimised alike,
# with the allocator that it has on Linux: jemalloc, from its own tree.
#   build-redis-linux.sh SOURCE WORK OPTIMIZATION PROFILE OUTPUT SYMBOLS
set -eu

source=$(realpath "$1")
work=$2
optimization=$3
profile=$4
output=$(realpath -m "$5")
symbols=$(realpath -m "$6")
own=$(dirname "$(realpath "$0")")
. "$own/engine.sh"
server=$engine-server
rm -rf "$work"
cp -R "$source" "$work"
. "$own/../profile/use-profile.sh"
log=$work/build.log
# Lines and symbols go into a file beside it, for profiles; the code is the same. jemalloc's flags are its own but for that.
GIT_DIR=$work/not-a-repository SOURCE_DATE_EPOCH=0 make -C "$work/src" -j2 \
	"$server" V=1 OPTIMIZATION="$optimization" REDIS_LDFLAGS=-flto=2 DEBUG=-g1 \
	JEMALLOC_CFLAGS='-std=gnu99 -Wall -pipe -g1 -O3 -funroll-loops' \
	AR=gcc-ar RANLIB=gcc-ranlib \
	MALLOC=jemalloc BUILD_TLS=no USE_SYSTEMD=no >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
objcopy --only-keep-debug "$work/src/$server" "$symbols"
strip -o "$output" "$work/src/$server"
