#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Make the profiles of Redis and hiredis, or of Valkey, anew: after a change of their sources, of the compiler or of its
# options. Both are built as always, but instrumented and for this host, and Redis serves a short load of the YCSB
# client on the loopback interface. Two runs differ by a few counts, because timers run in between: the profiles are
# committed, so that all builds use the same.
#   ninja -C build train-profiles    (or train-valkey) calls this so, and takes some three minutes of processor time:
#   train.sh REDIS WORK SKERRY-CC OPTIMIZATION CLIENT-SOURCE...
# REDIS: the folder of its sources, or of Valkey's. With musl, as for Skerry, and with glibc, as for the Linux guest.
set -eu

own=$(dirname "$(realpath "$0")")
source=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
folder=$(realpath "$2")
skerry_cc=$(realpath "$3")
optimization=$4
shift 4
port=${SKERRY_TRAINING_PORT:-17431}
. "$own/../redis/engine.sh"
profile_of=$own/../redis/profile
[ "$engine" = redis ] || profile_of=$profile_of-$engine
limits=$("$own/short-values.py" limits)

# The instrumented Redis $work/redis-server and client $work/ycsb; the compiler is $work/cc.
build() {
	if [ "$libc" = musl ]; then
		cp "$(dirname "$skerry_cc")/syscall-names.h" "$work"
		"$own/../redis/build-redis.sh" "$source" "$work/redis" "$work/cc" "$optimization" /dev/null \
			"$work/redis-server" "$work/redis-server.debug"
	else
		CC=$work/cc "$own/../redis/build-redis-linux.sh" "$source" "$work/redis" "$optimization" /dev/null \
			"$work/redis-server" "$work/redis-server.debug"
	fi
	"$own/../ycsb/build-hiredis.sh" "$source/deps/hiredis" "$work/deps/hiredis" "$work/cc" "$optimization" /dev/null "$work/libhiredis.a"
	# shellcheck disable=SC2086
	"$work/cc" $optimization -flto=2 -w -isystem "$source/deps/hiredis" -isystem "$source/deps/hdr_histogram" -I "$own/../ycsb" \
		-I "$own/../../lib/include" -o "$work/ycsb" "$@" "$work/libhiredis.a" -lm
}

run() {
	# shellcheck disable=SC2086
	"$work/redis-server" $limits --port "$port" --bind 127.0.0.1 --save '' --dir "$work" >"$work/redis.log" &
	server=$!
	trap 'kill $server 2>/dev/null || true' EXIT
	for load in 'c --operations 20000' 'a --operations 5000'; do
		# shellcheck disable=SC2086
		"$work/ycsb" --port "$port" --load --records 2000 --seed 1 --alone --name trainer --workload $load >>"$work/client.log"
	done
	"$own/short-values.py" load "$port"
	kill $server # it writes its counts when it ends
	trap - EXIT
	wait $server
}

for libc in musl glibc; do
	work=$folder/$libc
	mkdir "$work"
	compiler=gcc
	[ $libc = glibc ] || compiler="'$skerry_cc' --for-linux"
	# No counts of values: copies would be made for the lengths of this load's fields.
	printf '#!/bin/sh\nexec %s "$@" -fprofile-generate -fno-profile-values -DTRAINING\n' "$compiler" >"$work/cc"
	chmod +x "$work/cc"
	build "$@"
	run
	find "$work/redis" -name '*.gcda' ! -path "$work/redis/src/*" -delete # our files, and Lua, which has options of its own
	"$own/profile.py" read "$profile_of-$libc.json" "$work/redis"
	[ "$engine" != redis ] || "$own/profile.py" read "$own/../ycsb/profile-$libc.json" "$work/deps/hiredis"
done
