#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Lua 5.4, unmodified, by its own Makefile. `skerry build examples/lua` sets CC, SOURCES and OUTPUT.
[ -e src ] || cp -R "$SOURCES/lua5.4/." .
rm -f src/lua # linked anew: what CC adds may be newer
make -C src -j2 CC="$CC" SYSCFLAGS=-DLUA_USE_POSIX MYLIBS= lua
strip -o "$OUTPUT/lua.elf" src/lua
