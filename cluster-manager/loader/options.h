/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loader's command line, words that spaces part:
 *
 *     console=PORT  results=PORT   none, 0x3f8, 0x3f8,9600, mmio:0xfe034000, mmio:0xfe034000,115200,4
 *                                  (baud, 0 or left out: as it is set; then bytes between registers)
 *     screen=off
 *     clock=pm|hpet|pit|cpuid      what the TSC is measured with, where the first that runs is not good
 *     machine=N                    which machine of the map this is
 */
#pragma once

#include <skerry/error_message.h>

#include <skerry/boot.h>

enum clock_source { CLOCK_ANY, CLOCK_PM, CLOCK_HPET, CLOCK_PIT, CLOCK_CPUID };

struct options {
	struct boot_serial console, results;
	bool console_said, results_said;
	uint32_t console_baud, results_baud; /* 0: leave as it is */
	bool no_screen;
	enum clock_source clock;
	uint32_t machine; /* which of the map's this is */
};

/* `line` may be NULL. False: `err` names the word. */
bool options_parse(struct options *o, const char *line, struct error_message *err);
