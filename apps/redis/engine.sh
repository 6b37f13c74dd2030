# SPDX-License-Identifier: BSD-2-Clause
# Sets `engine`, redis or valkey: what is in the folder `source`. Redis's Makefile has no such name.
engine=$(sed -n 's/^ENGINE_NAME=//p' "$source/src/Makefile")
engine=${engine:-redis}
