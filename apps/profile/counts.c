/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In the layer that is trained (deploy/profile/training.py): at its end a program writes how often each edge of the
 * layer's functions ran, as hexadecimal lines of .gcda files (gcc/gcov-io.h):
 *   counts = <file>
 *   counts + <hexadecimal bytes>
 *   counts . <bytes of the file> <their Adler-32 (RFC 1950)>    after the last of a file
 *   counts ; <files>                                          after all
 * What runs while this is written counts, too, so that counts of write() can disagree by a few.
 */
#include <gcov.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BYTES 64u /* of a line */

extern const struct gcov_info *const __start_layer_counts[], *const __stop_layer_counts[]; /* -fprofile-info-section */

static struct {
	char line[sizeof("counts + ") + 2 * BYTES + 1];
	int used;
	unsigned bytes;
	uint32_t low, high; /* of the Adler-32 */
} file;

static void write_line(const char *text)
{
	ssize_t size = (ssize_t)strlen(text);

	if (write(STDOUT_FILENO, text, (size_t)size) != size)
		_exit(1);
}

static void end_line(void)
{
	if (!file.used)
		return;
	strcpy(file.line + file.used, "\n");
	write_line(file.line);
	file.used = 0;
}

static void begin_file(const char *name, void *argument)
{
	char text[1024];

	(void)argument;
	if (snprintf(text, sizeof(text), "counts = %s\n", name) >= (int)sizeof(text))
		_exit(1);
	write_line(text);
	file.bytes = 0;
	file.low = 1;
	file.high = 0;
}

static void add_bytes(const void *data, unsigned size, void *argument)
{
	const unsigned char *bytes = data;

	(void)argument;
	for (unsigned i = 0; i < size; i++) {
		if (!file.used)
			file.used = sprintf(file.line, "counts + ");
		file.used += sprintf(file.line + file.used, "%02x", bytes[i]);
		file.low = (file.low + bytes[i]) % 65521;
		file.high = (file.high + file.low) % 65521;
		if (++file.bytes % BYTES == 0)
			end_line();
	}
}

static void end_file(void)
{
	char text[64];

	end_line();
	snprintf(text, sizeof(text), "counts . %u %08x\n", file.bytes, file.high << 16 | file.low);
	write_line(text);
}

/* For counts of values, of which there are none (-fno-profile-values). */
static void *no_memory(unsigned size, void *argument)
{
	(void)size, (void)argument;
	return 0;
}

/* libgcov's function that adds a file's counts; the instrumented objects name it, and nothing calls it here. */
void __gcov_merge_add(int64_t *counters, unsigned number)
{
	(void)counters, (void)number;
}

__attribute__((destructor)) static void say_counts(void)
{
	const struct gcov_info *const *object = __start_layer_counts;
	char text[64];

	for (; object < __stop_layer_counts; object++) {
		__gcov_info_to_gcda(*object, begin_file, add_bytes, no_memory, 0);
		end_file();
	}
	snprintf(text, sizeof(text), "counts ; %td\n", object - __start_layer_counts);
	write_line(text);
}
