#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# memcached 1.6 and the library that it needs, libevent, unmodified, each by its own configure and make.
# `skerry build examples/memcached` sets CC, SOURCES and OUTPUT.
here=$PWD
if ! [ -e installed/lib/libevent.a ]; then
	mkdir -p libevent memcached
	cd libevent
	"$SOURCES/libevent/configure" --host=x86_64-linux-musl CC="$CC" --prefix="$here/installed" \
		--disable-shared --disable-openssl --disable-samples --disable-libevent-regress
	make -j2
	make install
	cd ../memcached
	"$SOURCES/memcached/configure" --host=x86_64-linux-musl CC="$CC" --with-libevent="$here/installed" --disable-docs
	cd ..
fi
rm -f memcached/memcached # linked anew: what CC adds may be newer
make -C memcached -j2 memcached
strip -o "$OUTPUT/memcached.elf" memcached/memcached
$CC -O2 -Wall -Wextra -o "$OUTPUT/load.elf" "$OUTPUT/load.c"
