/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 200 };
#define PART " [part]"

void record_print_step(void *stream, const struct step *step)
{
	fprintf(stream, "%u %s%s\n", step->core, step->operation->name, step->part ? PART : "");
}

bool record_write(const char *path, const struct record *record)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return false;
	fprintf(file, "# SPDX-License-Identifier: BSD-2-Clause\nregime %s\ntheme %s\ncores %u\nbudget %u\npairs %u\n",
	        record->regime, record->theme->name, record->cores, record->budget, record->pairs);
	for (unsigned i = 0; i < record->steps; i++)
		record_print_step(file, &record->step[i]);
	const bool written = !ferror(file);
	return !fclose(file) && written;
}

static _Noreturn void bad(const char *path, unsigned line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static _Noreturn void bad(const char *path, unsigned line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fprintf(stderr, "explore: %s:%u: ", path, line);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(2);
}

static unsigned read_number(const char *path, unsigned line, const char *text, unsigned low, unsigned high)
{
	char *end;
	errno = 0;
	const unsigned long value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < low || value > high)
		bad(path, line, "a number from %u to %u is expected, not '%s'", low, high, text);
	return (unsigned)value;
}

static void read_step(const char *path, unsigned line, char *text, struct record *record)
{
	char *name = strchr(text, ' ');
	if (!name || record->steps == SEARCH_PATH_MAX - 1)
		bad(path, line, "a step is expected: core, operation; at most %d of them", SEARCH_PATH_MAX - 1);
	*name++ = 0;
	struct step *step = &record->step[record->steps++];
	const size_t length = strlen(name), part = sizeof(PART) - 1;
	*step = (struct step){ .core = read_number(path, line, text, 0, record->cores - 1) };
	if (length > part && !strcmp(name + length - part, PART)) {
		step->part = true;
		name[length - part] = 0;
	}
	const unsigned number = operation_find(name);
	if (number == operations_count)
		bad(path, line, "no operation is named '%s'", name);
	step->operation = &operations[number];
}

/* Returns false where the line is none of the head's. */
static bool read_head(const char *path, unsigned line, char *text, struct record *record)
{
	char *value = strchr(text, ' ');
	if (!value || (*text >= '0' && *text <= '9'))
		return false;
	*value++ = 0;
	if (!strcmp(text, "regime")) {
		if (strlen(value) >= sizeof(record->regime))
			bad(path, line, "no regime has so long a name");
		strcpy(record->regime, value);
	} else if (!strcmp(text, "theme")) {
		record->theme = theme_find(value);
		if (!record->theme)
			bad(path, line, "no theme is named '%s'", value);
	} else if (!strcmp(text, "cores")) {
		record->cores = read_number(path, line, value, 1, STEP_CORES);
	} else if (!strcmp(text, "budget")) {
		record->budget = read_number(path, line, value, 1, 1000000);
	} else if (!strcmp(text, "pairs")) {
		record->pairs = read_number(path, line, value, 0, 1);
	} else {
		bad(path, line, "'%s' is not a word of this file", text);
	}
	return true;
}

void record_read(const char *path, struct record *record)
{
	char text[LINE_MAX];
	unsigned line = 0;
	FILE *file = fopen(path, "r");
	if (!file) {
		fprintf(stderr, "explore: cannot read %s: %s\n", path, strerror(errno));
		exit(2);
	}
	*record = (struct record){ .budget = 1 };
	while (fgets(text, sizeof(text), file)) {
		const size_t length = strcspn(text, "\n");
		line++;
		if (!text[length])
			bad(path, line, "a line of less than %d bytes that ends is expected", LINE_MAX);
		text[length] = 0;
		if (*text == '#' || read_head(path, line, text, record))
			continue;
		if (!record->theme || !record->cores)
			bad(path, line, "theme and cores come before the steps");
		read_step(path, line, text, record);
	}
	fclose(file);
	if (!record->theme || !record->cores || !record->steps)
		bad(path, line, "theme, cores and at least one step are expected");
}
