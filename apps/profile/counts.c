/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In the layer that is trained (deploy/profile/training.py): at its end a program writes how often each edge of the
 * layer's functions ran, as hexadecimal lines of a .gcda file (gcc/gcov-io.h):
 *   counts = <file>
 *   counts + <hexadecimal bytes>
 * What runs while this is written counts, too, so that counts of write() can disagree by a few.
 */
#include <gcov.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define BYTES 64u /* of a line */

extern const struct gcov_info *const __start_layer_counts[], *const __stop_layer_counts[]; /* -fprofile-info-section */

static char line[sizeof("counts + ") + 2 * BYTES + 1];
static int used;

static void end_line(void)
{
	if (!used)
		return;
	line[used++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)used) != used)
		_exit(1);
	used = 0;
}

static void begin_file(const char *name, void *argument)
{
	char text[1024];
	int size = snprintf(text, sizeof(text), "counts = %s\n", name);

	(void)argument;
	end_line();
	if (size >= (int)sizeof(text) || write(STDOUT_FILENO, text, (size_t)size) != size)
		_exit(1);
}

static void add(const void *data, unsigned size, void *argument)
{
	const unsigned char *bytes = data;

	(void)argument;
	for (unsigned i = 0; i < size; i++) {
		if (!used)
			used = sprintf(line, "counts + ");
		used += sprintf(line + used, "%02x", bytes[i]);
		if (used >= (int)(sizeof("counts + ") - 1 + 2 * BYTES))
			end_line();
	}
}

/* For counts of values, of which there are none (-fno-profile-values). */
static void *no_memory(unsigned size, void *argument)
{
	(void)size, (void)argument;
	return 0;
}

/* What adds counts to those of a file asks for it; there is no file here. */
void __gcov_merge_add(int64_t *counters, unsigned number)
{
	(void)counters, (void)number;
}

__attribute__((destructor)) static void say_counts(void)
{
	for (const struct gcov_info *const *object = __start_layer_counts; object < __stop_layer_counts; object++) {
		__gcov_info_to_gcda(*object, begin_file, add, no_memory, 0);
		end_line();
	}
}
