#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libstdc++ of GCC 12, unmodified, over musl: OUTPUT/lib and OUTPUT/include, beside c++.specs. Debian's own libstdc++.a
# reads tables within glibc's locales. deploy/setup/libraries.py sets CC, SOURCES and OUTPUT. libgcc's build would have
# laid gthr-default.h for the threads of the compiler, POSIX's.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
mkdir include "$OUTPUT/lib"
cp "$SOURCES/gcc-12/libgcc/gthr-posix.h" include/gthr-default.h
cp "$here/c++.specs" "$OUTPUT/"
$CC -O2 -Wall -Wextra -c -o find-object.o "$here/find-object.c"
ar cr "$OUTPUT/lib/libskerry-c++.a" find-object.o
export SKERRY_CPLUSPLUS="$OUTPUT"
CXX="$CC --c++ -I$PWD/include"
mkdir work
cd work
"$SOURCES/gcc-12/libstdc++-v3/configure" --build=x86_64-linux-gnu --host=x86_64-linux-musl CC="$CC" CXX="$CXX" \
	CFLAGS=-O2 CXXFLAGS=-O2 --disable-shared --disable-multilib --disable-nls --disable-libstdcxx-pch \
	--prefix="$OUTPUT" --with-gxx-include-dir="$OUTPUT/include"
make -j2
make install
if objdump -d "$OUTPUT/lib/libstdc++.a" | grep -qwE 'syscall|sysenter|int +\$0x80'; then
	echo "error: libstdc++.a has a system call of its own, which the layer cannot answer" >&2
	exit 1
fi
rm -rf "$OUTPUT/share" "$OUTPUT"/lib/*.la "$OUTPUT"/lib/*.py

# `meson setup --cross-file build/apps/libc/c++/cross.ini`
cat >"$OUTPUT/cross.ini" <<END
[binaries]
c = ['$CC']
cpp = ['$CC', '--c++']
ar = 'ar'
strip = 'strip'

[host_machine]
system = 'linux'
cpu_family = 'x86_64'
cpu = 'x86_64'
endian = 'little'
END

# `cmake -DCMAKE_TOOLCHAIN_FILE=build/apps/libc/c++/toolchain.cmake`
cat >"$OUTPUT/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER "$CC")
set(CMAKE_CXX_COMPILER "$CC" --c++)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(BUILD_SHARED_LIBS OFF)
END
