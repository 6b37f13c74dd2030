# SPDX-License-Identifier: BSD-2-Clause
# What scripts do. Linux's dash prints the same.
set -u
PATH=${TOOLS:-/bin}; export PATH

echo "--- pipelines"
printf '%s\n' pear apple pear fig apple pear | sort | uniq -c | sort
printf 'a\nb\nc\n' | cat - | wc -l | tr 3 7
i=0
while [ $i -lt 2000 ]; do echo "line $i of a text that is longer than a pipe holds"; i=$((i + 1)); done | cat | wc -l
echo never read | :
echo "status $? of $(echo a; exit 3) $?"

echo "--- substitution"
text=$(printf 'one two\nthree\n' | sort)
echo "$text" | tr o 0
echo "nested: $(echo "$(echo "$(echo deep)")" | cat)"
echo "`echo backquoted`"
count=$(echo a b c | { read x y; echo "$y" | wc -l; })
echo "count $count"

echo "--- case and functions"
kind() {
	case $1 in
	[0-9]*) echo "$1 is a number" ;;
	*.txt | *.md) echo "$1 is a text" ;;
	"") echo "nothing" ;;
	*) echo "$1 is a word"; return 4 ;;
	esac
}
for word in 12 read.md note.txt thing ""; do kind "$word"; done
kind last; echo "returned $?"

echo "--- here-documents"
name=world
cat <<EOF
hello $name
$(echo computed)
EOF
cat <<'EOF' | tr h H
hello $name
EOF
cat <<-EOF
	indented
	EOF

echo "--- files"
cd "${FOLDER:-/tmp}"
echo first > file
echo second >> file
cat file
cat < file | head -n 1
{ echo out; echo err >&2; } 2>&1 | sort
(cd / && echo inner) && echo outer
exec 3> log; echo logged >&3; exec 3>&-; cat log
if [ -f file ] && ! [ -e nowhere ]; then echo there; fi
cat nowhere 2>/dev/null || echo "no such file: $?"
nowhere 2>/dev/null; echo "not found: $?"

echo "--- jobs"
sleep 0.02 & first=$!
(exit 5) & second=$!
wait $second; echo "second ends with $?"
wait $first; echo "first ends with $?"
(sleep 30; echo never) & long=$!
kill -TERM $long; wait $long; echo "killed: $?"
for n in 1 2 3; do (exit $n) & done; wait; echo "all ended: $?"
trap 'echo trapped' USR1
kill -USR1 $$
(trap 'echo child trapped; exit 6' TERM; kill -TERM $(sh -c 'echo $PPID')); echo "trap $?"
trap 'echo at the end' EXIT

echo "--- scripts"
printf '#!/bin/sh\necho "script $0 with $# arguments: $*"\nexit 9\n' > run
if [ -x run ]; then echo executable; fi
sh run a b; echo "run $?"
sh -c 'echo "in a shell: $1"' zero one
set -- x y z; shift; echo "$# left: $*"
exec cat <<EOF
the last words
EOF
