# SPDX-License-Identifier: BSD-2-Clause
# For build-redis.sh, build-redis-linux.sh and build-hiredis.sh, which set `own`, `work` and `profile`: adds the profile to
# `optimization`.
# What the load did not run (-fprofile-partial-training) is optimised as without a profile, not for size. A compiler
# of another version ignores the profile with a warning in the log. Other headers can change a function and leave its
# checksum: GCC makes such counts consistent (-fprofile-correction) in place of an error.
if [ -s "$profile" ]; then
	folder=$(realpath "$work")
	"$own/../profile/profile.py" write "$profile" "$folder/profile"
	optimization="$optimization -fprofile-use=$folder/profile -fprofile-prefix-path=$folder -fprofile-partial-training"
	optimization="$optimization -fprofile-correction -fno-profile-values -fno-vpt -Wno-missing-profile -Wno-coverage-mismatch"
fi
