/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's command line: what it means, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "options.h"

static int failures;

static void check(bool good, const char *line, const char *what)
{
	if (!good) {
		fprintf(stderr, "\"%s\": %s does not hold\n", line, what);
		failures++;
	}
}
#define CHECK(condition) check(condition, line, #condition)

static void accepted(void)
{
	struct error_message err;
	struct options o;
	const char *line = NULL;

	CHECK(options_parse(&o, line, &err) && !o.console_said && !o.no_screen && o.clock == CLOCK_ANY);
	line = "  console=0x2f8   clock=cpuid ";
	CHECK(options_parse(&o, line, &err) && o.console.kind == BOOT_SERIAL_PORT && o.console.base == 0x2f8);
	CHECK(o.console_baud == 0 && o.console.stride == 1 && o.console.width == 1 && o.clock == CLOCK_CPUID);
	line = "console=mmio:0xfe034000,57600,4 results=none screen=off";
	CHECK(options_parse(&o, line, &err) && o.console.kind == BOOT_SERIAL_MEMORY && o.console.base == 0xfe034000);
	CHECK(o.console_baud == 57600 && o.console.stride == 4 && o.console.width == 4);
	CHECK(o.results_said && o.results.kind == BOOT_SERIAL_NONE && o.no_screen);
	line = "results=1016,9600";
	CHECK(options_parse(&o, line, &err) && o.results.base == 0x3f8 && o.results_baud == 9600 && o.machine == 0);
	line = "machine=12";
	CHECK(options_parse(&o, line, &err) && o.machine == 12);
}

static void refused(void)
{
	static const char *const lines[] = {
		"console=", "console=COM1", "console=0x", "console=0x3f8,", "console=0x3f8,9601",
		"console=0x3f8,230400", "console=0x3f8,9600,3", "console=0x3f8,9600,1,1", "console=0xffff",
		"console=0x3f8x", "console=0", "console=mmio:", "console=mmio:0", "console=mmio:0x11111111111111111",
		"results=maybe", "clock=tsc", "clock=", "machine=", "machine=64", "machine=1,2", "machine=one",
		"screen=on", "quiet", "=", "console",
		"console=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
		const char *line = lines[i];
		struct error_message err = { .text = "" };
		struct options o;

		CHECK(!options_parse(&o, line, &err) && strstr(err.text, "command line: "));
		if (strlen(line) >= 80)
			CHECK(strstr(err.text, "the word console=aaaaa"));
	}
}

int main(void)
{
	accepted();
	refused();
	return failures != 0;
}
