#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run-threads.sh PROGRAM [ARGUMENTS]: under the thread sanitizer, which wants addresses that are not too random.
if setarch -R true 2>/dev/null; then
	exec setarch -R "$@"
fi
exec "$@"
