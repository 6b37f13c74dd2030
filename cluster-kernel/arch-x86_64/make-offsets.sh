#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# usage: make-offsets.sh COMPILER INPUT OUTPUT [FLAGS...]
set -eu
compiler=$1 input=$2 output=$3
shift 3
"$compiler" -std=gnu11 -ffreestanding "$@" -S -o "$output.s" "$input"
sed -n 's/^@@ //p' "$output.s" > "$output"
