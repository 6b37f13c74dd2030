#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fuzz-briefly.sh FUZZER CORPUS RUNS: the corpus and some more inputs; what is learned is forgotten.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" -runs="$3" -max_len=2401 -artifact_prefix="$scratch/" -print_final_stats=1 \
	"$scratch" "$2" 2>&1 | tail -40 >"$scratch/log" &&
	grep -q 'stat::number_of_executed_units' "$scratch/log" && ! grep -q 'ERROR: ' "$scratch/log" ||
	{ cat "$scratch/log"; exit 1; }
grep 'stat::number_of_executed_units' "$scratch/log"
