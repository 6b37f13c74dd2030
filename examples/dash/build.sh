#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# dash 0.5.12, Debian's /bin/sh, unmodified, by its own configure and make. `skerry build examples/dash` sets CC,
# SOURCES and OUTPUT.
if ! [ -e Makefile ]; then
	"$SOURCES/dash/configure" --host=x86_64-linux-musl CC="$CC --processes --without-net" CC_FOR_BUILD=gcc
fi
rm -f src/dash # linked anew: what CC adds may be newer
make -j2
strip -o "$OUTPUT/dash.elf" src/dash
$CC --processes --without-net -O2 -Wall -Wextra -o "$OUTPUT/tool.elf" "$OUTPUT/tool.c"
