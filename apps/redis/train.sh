#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Make a profile for Redis anew: after a change of its sources, of the compiler or of its options. Redis is built as
# always, but instrumented and for this host, and serves a short load of the YCSB client on the loopback interface. Two
# runs differ by a few counts, because timers run in between: the profile is committed, so that all builds use the same.
#   train.sh SOURCE WORK COMPILER OPTIMIZATION CLIENT profile-musl.json      for Skerry: with skerry-cc --for-linux
#   train.sh SOURCE WORK ''       OPTIMIZATION CLIENT profile-glibc.json     for the Linux guest
set -eu

own=$(dirname "$(realpath "$0")")
source=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
work=$(realpath "$2")
client=$(realpath "$5")
port=${SKERRY_TRAINING_PORT:-17431}

compiler='gcc'
[ -z "$3" ] || compiler="'$(realpath "$3")' --for-linux"
# No counts of values: copies would be made for the lengths of this load's fields.
cat >"$work/cc" <<END
#!/bin/sh
exec $compiler "\$@" -fprofile-generate -fno-profile-values
END
chmod +x "$work/cc"
set -- "$4" /dev/null "$work/redis-server" "$work/redis-server.debug" "$3" "$6"
if [ -n "$5" ]; then
	cp "$(dirname "$5")/syscall-names.h" "$work"
	"$own/build-redis.sh" "$source" "$work/redis" "$work/cc" "$1" "$2" "$3" "$4"
else
	CC=$work/cc "$own/build-redis-linux.sh" "$source" "$work/redis" "$1" "$2" "$3" "$4"
fi

"$work/redis-server" --port "$port" --bind 127.0.0.1 --save '' --dir "$work" >"$work/redis.log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for load in 'c --operations 20000' 'a --operations 5000'; do
	# shellcheck disable=SC2086
	"$client" --port "$port" --load --records 2000 --seed 1 --alone --name trainer --workload $load >>"$work/client.log"
done
kill $server # it writes its counts when it ends
trap - EXIT
wait $server
find "$work/redis/deps" -name '*.gcda' -delete # Lua is compiled with options of its own
"$own/profile.py" read "$work/redis" "$6"
