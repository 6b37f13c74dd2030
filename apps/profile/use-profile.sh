# SPDX-License-Identifier: BSD-2-Clause
# For build-redis.sh, build-redis-linux.sh and build-hiredis.sh, which set `own`, `work` and `profile`: adds the profile
# to `optimization`.
if [ -s "$profile" ]; then
	folder=$(realpath "$work")
	"$own/../profile/profile.py" write "$profile" "$folder/profile" "$(gcc -dumpfullversion)"
	optimization="$optimization -fprofile-use=$folder/profile -fprofile-prefix-path=$folder $("$own/../profile/profile.py" options)"
fi
