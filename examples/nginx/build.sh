#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# nginx 1.22, unmodified, by its own configure and make. Its configure runs every program that it compiles: these are
# made for Linux. `skerry build examples/nginx` sets CC, SOURCES and OUTPUT.
if ! [ -e objs/Makefile ]; then
	cp -R "$SOURCES/nginx/." .
	without=
	for module in rewrite gzip fastcgi uwsgi scgi grpc memcached; do # the first two need libraries: PCRE, zlib
		without="$without --without-http_${module}_module"
	done
	./configure --with-cc="$CC --for-linux" --crossbuild=Linux:6:x86_64 --prefix=/ --conf-path=/etc/nginx.conf \
		--pid-path=/run/nginx.pid --error-log-path=stderr --http-log-path=/dev/null $without
fi
rm -f objs/nginx # linked anew: what CC adds may be newer
make -f objs/Makefile -j2 CC="$CC" objs/nginx
strip -o "$OUTPUT/nginx.elf" objs/nginx
