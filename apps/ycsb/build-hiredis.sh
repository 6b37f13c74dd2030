#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Build hiredis from its unmodified sources as an archive for link-time optimisation, in a copy of its folder and by
# relative names: the profile identifies a static function by the names of its source and its object.
#   build-hiredis.sh SOURCE WORK COMPILER OPTIMIZATION PROFILE OUTPUT
# COMPILER: an absolute path, or a name in PATH. PROFILE: a JSON file of ../profile/profile.py, or an empty file.
# WORK ends in deps/hiredis: `skerry profile` knows the functions of hiredis by that.
set -eu

source=$(realpath "$1")
work=$2
compiler=$3
optimization=$4
profile=$5
output=$(realpath -m "$6")
own=$(dirname "$(realpath "$0")")
rm -rf "$work"
mkdir -p "$(dirname "$work")"
cp -R "$source" "$work"
. "$own/../profile/use-profile.sh"
cd "$work"
rm -f "$output"
objects=$(sed -n 's/^OBJ=//p' Makefile)
for object in $objects; do
	# shellcheck disable=SC2086
	"$compiler" $optimization -g -w -c -o "$object" "${object%.o}.c"
done
# shellcheck disable=SC2086
gcc-ar qcsD "$output" $objects
