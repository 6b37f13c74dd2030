/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of the manager's own have the seals that another implementation of BLAKE2s gives them (Python's hashlib),
 * whatever their length. */
#include <stdio.h>
#include <string.h>
#include <skerry/console.h>
#include "own-line.h"
#include "test-check.h"

enum { LONGEST = 300 };

/* The seal of a line of this length, its mark included, as the octal digits of its letters. */
static const struct {
	size_t length;
	const char *digits;
} known[] = {
	{ 1, "03255525472245400241505756203045" },   { 2, "22013215676463700520534421751747" },
	{ 63, "47761430533773353100244772551310" },  { 64, "35507766666551461544666766007000" },
	{ 65, "42015767377475771172240755614572" },  { 128, "14600266541637556051100710674264" },
	{ 129, "57623530067260377571715336221761" }, { 300, "65471571031006145612364115174420" },
};

static void seals(void)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char buffer[LONGEST + OWN_LINE_END], expected[SEAL_SIZE];
		struct text line = own_line_begin(buffer, sizeof(buffer));
		for (size_t j = 0; j < known[i].length - 1; j++)
			text_format(&line, "%c", (char)('a' + j % 26));
		for (unsigned j = 0; j < SEAL_SIZE; j++)
			expected[j] = SEAL_LETTERS[known[i].digits[j] - '0'];
		CHECK(own_line_end(&line) == known[i].length + OWN_LINE_END);
		CHECK(buffer[0] == CONSOLE_MANAGER && buffer[line.length - 1] == '\n');
		CHECK(!memcmp(buffer + known[i].length, expected, SEAL_SIZE));
	}
}

/* A line that is too long is cut off, and the seal is that of the rest. */
static void room(void)
{
	char buffer[64], seal_of_rest[SEAL_SIZE];
	struct seal seal;
	struct text line = own_line_begin(buffer, sizeof(buffer));
	text_format(&line, "%s", "a line that is longer than the buffer that it is written into, by far");
	CHECK(line.truncated && own_line_end(&line) == sizeof(buffer));
	seal_begin(&seal, CONSOLE_MANAGER);
	for (size_t i = 1; i < sizeof(buffer) - OWN_LINE_END; i++)
		seal_add(&seal, buffer[i]);
	seal_end(&seal, seal_of_rest);
	CHECK(!memcmp(buffer + sizeof(buffer) - OWN_LINE_END, seal_of_rest, SEAL_SIZE));
}

int main(void)
{
	seals();
	room();
	return failures != 0;
}
