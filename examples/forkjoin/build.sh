#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# README.md has the same as a command.
$CC --cores -O2 -o "$OUTPUT/forkjoin.elf" "$OUTPUT/forkjoin.c"
