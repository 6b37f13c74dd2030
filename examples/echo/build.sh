#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# README.md has the same as a command.
$CC -O2 -o "$OUTPUT/echo.elf" "$OUTPUT/echo.c"
