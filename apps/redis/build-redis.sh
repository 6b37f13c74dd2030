#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build redis-server, unmodified, with its own Makefile and our compiler, in a
# copy of its tree.
#   build-redis.sh SOURCE WORK COMPILER OUTPUT OUTPUT-WITH-SYMBOLS
# What is already compiled in WORK is kept as long as the compiler, musl's
# headers and the source are the same; the program is always linked anew, for
# the libraries that the compiler adds may be newer.
set -eu

source=$(realpath "$1")
work=$2
compiler=$(realpath "$3")
output=$(realpath -m "$4")
symbols=$(realpath -m "$5")
stamp=$work/.built-with

headers=$(dirname "$compiler")/syscall-names.h # made together with musl's headers
key=$(cat "$compiler" "$0" "$source/src/version.h" "$headers" | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$key" ]; then
	rm -rf "$work"
	cp -R "$source" "$work"
fi
rm -f "$work/src/redis-server"
log=$work/build.log
# Redis asks git for its revision: it must not find that of the repository around it.
GIT_DIR=$work/not-a-repository make -C "$work/src" -j2 redis-server V=1 CC="$compiler" OPTIMIZATION=-O2 \
	MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no USE_JEMALLOC=no >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }
echo "$key" >"$stamp"

strip -o "$output" "$work/src/redis-server"
cp "$work/src/redis-server" "$symbols"
