#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# SQLite 3.40, unmodified: its shell, and its own benchmark, speedtest1. `skerry build examples/sqlite` sets CC,
# SOURCES and OUTPUT. -O1: SQLite is one file, which takes a compiler more than twice as long with -O2.
if ! [ -e sqlite3.c ]; then
	"$SOURCES/sqlite3/configure" --host=x86_64-linux-musl CC="$CC" --disable-tcl --disable-shared
	make sqlite3.c shell.c # the sources in one file each; tclsh puts them together
fi
options='-O1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_MATH_FUNCTIONS'
[ sqlite3.o -nt sqlite3.c ] || $CC $options -c sqlite3.c
$CC $options -I. -o speedtest1 "$SOURCES/sqlite3/test/speedtest1.c" sqlite3.o -lm
[ shell.o -nt shell.c ] || $CC $options -I. -c shell.c
$CC -o sqlite3 shell.o sqlite3.o -lm
strip -o "$OUTPUT/speedtest1.elf" speedtest1
strip -o "$OUTPUT/sqlite3.elf" sqlite3
