#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build redis-server for the Linux guest from the same sources, optimised alike,
# with the allocator that it has on Linux: jemalloc, from Redis's own tree.
#   build-redis-linux.sh SOURCE WORK OPTIMIZATION OUTPUT
set -eu

source=$(realpath "$1")
work=$2
output=$(realpath -m "$4")
rm -rf "$work"
cp -R "$source" "$work"
log=$work/build.log
# Without debug information, which is stripped in the end: the code is the same. jemalloc's flags are its own but for that.
GIT_DIR=$work/not-a-repository make -C "$work/src" -j2 redis-server V=1 OPTIMIZATION="$3" REDIS_LDFLAGS=-flto=2 DEBUG= \
	JEMALLOC_CFLAGS='-std=gnu99 -Wall -pipe -O3 -funroll-loops' \
	MALLOC=jemalloc BUILD_TLS=no USE_SYSTEMD=no >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
strip -o "$output" "$work/src/redis-server"
