/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <string.h>

enum { WORD_MAX = 80 };

/* A decimal number, or a hexadecimal one after 0x; what follows it is at *end. */
static bool parse_number(const char *text, uint64_t *value, const char **end)
{
	uint32_t base = text[0] == '0' && text[1] == 'x' ? 16 : 10;
	const char *p = text + (base == 16 ? 2 : 0), *first = p;

	for (*value = 0;; p++) {
		uint32_t digit = *p >= '0' && *p <= '9' ? (uint32_t)(*p - '0')
				 : *p >= 'a' && *p <= 'f' ? (uint32_t)(*p - 'a' + 10) : 99;

		if (digit >= base)
			break;
		if (*value > UINT64_MAX / 16 - 1)
			return false;
		*value = *value * base + digit;
	}
	*end = p;
	return p > first;
}

/* ",N", when there is one */
static bool parse_more(const char **at, uint64_t *value)
{
	if (**at != ',')
		return true;
	return parse_number(*at + 1, value, at);
}

static bool parse_port(const char *text, struct boot_serial *port, uint32_t *baud)
{
	bool memory = strncmp(text, "mmio:", 5) == 0;
	uint64_t base, rate = 0, stride = 1;

	*port = (struct boot_serial){ .kind = BOOT_SERIAL_NONE };
	*baud = 0;
	if (strcmp(text, "none") == 0)
		return true;
	if (!parse_number(text + (memory ? 5 : 0), &base, &text) || !parse_more(&text, &rate) ||
	    !parse_more(&text, &stride) ||
	    *text != '\0' || base == 0 || (!memory && base > 0xffff - 7 * 4) || rate > 115200 ||
	    (rate != 0 && 115200 % rate != 0) || (stride != 1 && stride != 2 && stride != 4))
		return false;
	*baud = (uint32_t)rate;
	*port = (struct boot_serial){ .base = base, .stride = (uint16_t)stride, .width = 1 };
	if (memory && stride == 4)
		port->width = 4; /* such registers are words */
	port->kind = memory ? BOOT_SERIAL_MEMORY : BOOT_SERIAL_PORT;
	return true;
}

static bool parse_clock(const char *text, enum clock_source *clock)
{
	static const char *const name[] = { [CLOCK_PM] = "pm", [CLOCK_HPET] = "hpet", [CLOCK_PIT] = "pit",
					    [CLOCK_CPUID] = "cpuid" };

	for (unsigned i = CLOCK_PM; i <= CLOCK_CPUID; i++) {
		if (strcmp(text, name[i]) == 0) {
			*clock = (enum clock_source)i;
			return true;
		}
	}
	return false;
}

static bool parse_machine(const char *text, uint32_t *machine)
{
	uint64_t value;

	if (!parse_number(text, &value, &text) || *text != '\0' || value >= BOOT_MAX_CLUSTERS)
		return false;
	*machine = (uint32_t)value;
	return true;
}

static bool parse_word(struct options *o, const char *word, struct error_message *err)
{
	if (strncmp(word, "console=", 8) == 0) {
		o->console_said = true;
		if (parse_port(word + 8, &o->console, &o->console_baud))
			return true;
	} else if (strncmp(word, "results=", 8) == 0) {
		o->results_said = true;
		if (parse_port(word + 8, &o->results, &o->results_baud))
			return true;
	} else if (strcmp(word, "screen=off") == 0) {
		return o->no_screen = true;
	} else if (strncmp(word, "clock=", 6) == 0) {
		if (parse_clock(word + 6, &o->clock))
			return true;
	} else if (strncmp(word, "machine=", 8) == 0) {
		if (parse_machine(word + 8, &o->machine))
			return true;
	} else {
		return error_set(err, "command line: there is no option %s", word);
	}
	return error_set(err, "command line: %s is not understood", word);
}

bool options_parse(struct options *o, const char *line, struct error_message *err)
{
	char word[WORD_MAX];

	memset(o, 0, sizeof *o);
	while (line != NULL && *line != '\0') {
		size_t length = 0;

		while (line[length] != '\0' && line[length] != ' ')
			length++;
		if (length >= sizeof word)
			return error_set(err, "command line: the word %s is longer than %u characters", line,
			                 WORD_MAX - 1);
		memcpy(word, line, length);
		word[length] = '\0';
		if (length > 0 && !parse_word(o, word, err))
			return false;
		line += length;
		while (*line == ' ')
			line++;
	}
	return true;
}
