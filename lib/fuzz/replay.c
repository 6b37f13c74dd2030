/* SPDX-License-Identifier: BSD-2-Clause */
/* replay [-v] FILE|FOLDER...: a target's inputs once more, without the fuzzer; -v tells what runs. */
#include "replay.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 20 };

static char current_file[4096];
static unsigned count;
static bool verbose;

static void tell(int signal_number)
{
	(void)!write(STDERR_FILENO, "this was ", 9);
	(void)!write(STDERR_FILENO, current_file, strlen(current_file));
	(void)!write(STDERR_FILENO, "\n", 1);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static int fail(const char *path)
{
	perror(path);
	return 2;
}

static int replay_file(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	if (!file)
		return fail(path);
	size_t size = fread(data, 1, sizeof(data), file);
	fclose(file);
	snprintf(current_file, sizeof(current_file), "%s", path);
	if (verbose)
		replay_tell(path, size);
	LLVMFuzzerTestOneInput(data, size);
	count++;
	return 0;
}

static int replay_folder(const char *path)
{
	struct dirent **entry = NULL;
	int entries = scandir(path, &entry, NULL, alphasort), status = entries < 0 ? fail(path) : 0;
	for (int i = 0; i < entries; i++) {
		char name[4096];
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (!status && entry[i]->d_name[0] != '.')
			status = replay_file(name);
		free(entry[i]);
	}
	free(entry);
	return status;
}

int main(int argc, char **argv)
{
	int status = argc < 2 ? 2 : 0;
	signal(SIGABRT, tell);
	signal(SIGSEGV, tell);
	for (int i = 1; i < argc && !status; i++) {
		struct stat about;
		if (!strcmp(argv[i], "-v"))
			verbose = true;
		else if (stat(argv[i], &about))
			status = fail(argv[i]);
		else
			status = S_ISDIR(about.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
	}
	printf("%u inputs\n", count);
	return status;
}
