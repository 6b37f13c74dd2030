#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# README.md has the same as a command.
$CC --cores -fopenmp -O2 -o "$OUTPUT/openmp.elf" "$OUTPUT/openmp.c"
