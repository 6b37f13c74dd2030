/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks more of its manager than it should, in the way that its argument names,
 * and says at the end how it went: exit status 0 when the manager did its part.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <skerry/manager.h>
#include <skerry/process.h>
#include <skerry/stubs.h>

enum { LINES = 2000, SENDS = 2000, NEWLINES = 40 };

/* Whole lines, numbered, without end for the console's patience. */
static int chatty(void)
{
	for (unsigned i = 0; i < LINES; i++)
		if (printf("line %04u of %u %.*s end\n", i, LINES, (int)(i % 60), "............................................................") < 0)
			return 1;
	return 0;
}

/* A request of 952 bytes, each of which is a line. */
static int newlines(void)
{
	static char text[MANAGER_BYTES];
	memset(text, '\n', sizeof(text));
	for (unsigned i = 0; i < NEWLINES; i++)
		fwrite(text, 1, sizeof(text), stdout);
	return fflush(stdout) != 0;
}

static int results(void)
{
	char json[64];
	for (unsigned i = 0; i < LINES; i++) {
		snprintf(json, sizeof(json), "{\"number\":%u}", i);
		if (manager_result(json))
			return 1;
	}
	return manager_result("{x}") == 0 || manager_result("{\"a\":}") == 0;
}

/* Requests that wait for an answer, sent so that nobody waits. "itself" never serves. */
static int sends(const char *itself)
{
	uint64_t length = strlen(itself);
	for (unsigned i = 0; i < SENDS; i++) {
		struct message m = { .info = message_info(MANAGER_AWAIT, 0, (unsigned)(1 + (length + 7) / 8)), .word = { length } };
		if (length > 24)
			return 1;
		memcpy(m.word + 1, itself, length);
		if (ipc_send(PROCESS_SLOT_MANAGER, &m))
			return 1;
		m = (struct message){ .info = message_info(MANAGER_BARRIER, 0, 1), .word = { i + 1 } };
		if (ipc_send(PROCESS_SLOT_MANAGER, &m))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int status = 2;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (argc == 2 && !strcmp(argv[1], "chatty"))
		status = chatty();
	else if (argc == 2 && !strcmp(argv[1], "newlines"))
		status = newlines();
	else if (argc == 2 && !strcmp(argv[1], "results"))
		status = results();
	else if (argc == 3 && !strcmp(argv[1], "sends"))
		status = sends(argv[2]);
	printf("last words");
	return status;
}
