/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug images only. Takes no lock and reads no thread-local storage: an assertion can fail while the layer's lock is
 * held, before threads exist, and in a handler of a signal.
 */
#include <string.h>
#include <skerry/require.h>
#include "layer.h"
#include "platform.h"

enum { EXIT_ASSERTION = 128 + 6 }; /* as abort(), whose signal is number 6 */

void require_failed(const char *what)
{
	static _Atomic int failed; /* a second failure, of the report itself, is not reported */
	char line[256];
	size_t size = strnlen(what, sizeof(line) - 1);

	if (!atomic_exchange(&failed, 1)) {
		memcpy(line, what, size);
		line[size] = '\n';
		platform_write(line, size + 1);
	}
	platform_exit(EXIT_ASSERTION);
}
