/* SPDX-License-Identifier: BSD-2-Clause */
#include "last-words.h"
#define revoke revoke_terminal /* harness.h has another */
#include <sys/wait.h>
#include <unistd.h>
#undef revoke
#include "harness.h"

void last_words(void (*mistake)(void), char *text, size_t size)
{
	int pipes[2], status;
	EXPECT(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		hosted_self = &machine->core[0];
		mistake();
		_exit(0);
	}
	close(pipes[1]);
	size_t length = 0;
	for (ssize_t got; length < size - 1 && (got = read(pipes[0], text + length, size - 1 - length)) > 0;)
		length += got;
	text[length] = 0;
	close(pipes[0]);
	EXPECT(waitpid(child, &status, 0), child);
	EXPECT(WIFSIGNALED(status), true);
}
