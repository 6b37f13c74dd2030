/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A few of the tools that scripts need beside a shell, by the name that it is executed as: cat, sort, uniq -c, wc -l,
 * tr A B, head -n N, sleep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 10000, WIDTH = 1000 };

static char *lines[LINES];

static int read_lines(void)
{
	static char line[WIDTH];
	int count = 0;

	while (count < LINES && fgets(line, sizeof(line), stdin))
		lines[count++] = strdup(line);
	return count;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int sort(void)
{
	const int count = read_lines();

	qsort(lines, (size_t)count, sizeof(lines[0]), compare);
	for (int i = 0; i < count; i++)
		fputs(lines[i], stdout);
	return 0;
}

static int uniq(void)
{
	const int count = read_lines();

	for (int i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !strcmp(lines[i], lines[end]);)
			end++;
		printf("%7d %s", end - i, lines[i]);
	}
	return 0;
}

static int copy(FILE *from)
{
	for (int c; from && (c = getc(from)) != EOF;)
		putchar(c);
	return !from;
}

static int cat(int argc, char **argv)
{
	int failed = argc == 1 && copy(stdin);

	for (int i = 1; i < argc; i++)
		failed |= copy(strcmp(argv[i], "-") ? fopen(argv[i], "r") : stdin);
	return failed;
}

static int translate(const char *from, const char *to)
{
	for (int c; (c = getchar()) != EOF;) {
		const char *at = c ? strchr(from, c) : NULL;
		putchar(at && (size_t)(at - from) < strlen(to) ? to[at - from] : c);
	}
	return 0;
}

static int head(int count)
{
	for (int c; count > 0 && (c = getchar()) != EOF;) {
		putchar(c);
		count -= c == '\n';
	}
	return 0;
}

static int pause_for(double seconds)
{
	const struct timespec time = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	return nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

	if (!strcmp(name, "cat"))
		return cat(argc, argv);
	if (!strcmp(name, "sort"))
		return sort();
	if (!strcmp(name, "uniq"))
		return uniq();
	if (!strcmp(name, "wc"))
		return printf("%d\n", read_lines()) < 0;
	if (!strcmp(name, "tr") && argc == 3)
		return translate(argv[1], argv[2]);
	if (!strcmp(name, "head") && argc == 3)
		return head(atoi(argv[2]));
	if (!strcmp(name, "sleep") && argc == 2)
		return pause_for(atof(argv[1]));
	fprintf(stderr, "tool: no tool is named %s\n", name);
	return 127;
}
