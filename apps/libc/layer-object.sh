#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Make one object of the layer's libraries, for skerry-cc: what was compiled with
# -flto is optimised as one unit, and the object has no trace of that. The names inside it
# are the layer's own (stream_write, event_wait, ...) and a program may have
# functions of the same names: they become local. Visible are the names that
# musl defines or asks for, and those of skerry/manager.h, process.h and malloc.h.
# A program may replace what a C library's programs may replace: its malloc
# counts, not ours.
#   layer-object.sh [--internal] LIBC OUTPUT LIBRARY...
# --internal: every name stays visible.
set -eu

internal=no
if [ "$1" = --internal ]; then
	internal=yes
	shift
fi
libc=$1
output=$2
shift 2
gcc -r -nostdlib -O3 -mstringop-strategy=libcall -flto -flto-partition=one -flinker-output=nolto-rel -fno-pie \
	-o "$output" -Wl,--whole-archive "$@" -Wl,--no-whole-archive
[ $internal = no ] || exit 0

trap 'rm -f "$output.libc" "$output.names" "$output.weak"' EXIT
nm "$libc" 2>/dev/null | awk 'NF > 1 && $NF !~ /:$/ && $(NF - 1) ~ /^[A-Zw]$/ { print $NF }' | sort -u >"$output.libc"
nm --defined-only "$output" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | sort -u >"$output.names"
{
	comm -12 "$output.libc" "$output.names"
	grep -E '^(manager_[a-z_]*|process_info|malloc_alignment|malloc_page_entries)$' "$output.names" || true
} >"$output.libc.both"
mv "$output.libc.both" "$output.names"
grep '^[a-z]' "$output.names" | grep -v '^skerry_' >"$output.weak"
objcopy --keep-global-symbols="$output.names" --weaken-symbols="$output.weak" "$output"
