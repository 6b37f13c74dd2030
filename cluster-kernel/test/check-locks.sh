#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# CLANG ARGUMENTS...: clang's analysis of locks (core/annotations.h). Succeeds where it finds no mistake, in sources that
# it can read.
set -eu
clang=$1
shift
"$clang" -std=gnu11 -fsyntax-only -Wthread-safety -Werror "$@"
