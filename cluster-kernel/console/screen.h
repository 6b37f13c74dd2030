/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text on a screen that the boot loader left us: each in its own rows. Nothing
 * scrolls, for reading a frame buffer takes a thousand times as long as writing
 * it: after the last row text goes on at the first, behind a row left blank.
 */
#pragma once

#include <stdint.h>
#include <skerry/boot.h>

struct screen {
	struct boot_screen is;
	volatile uint8_t *memory;
	uint32_t scale;         /* pixels of a dot of the font */
	uint32_t columns, rows; /* rows: those we may use */
	uint32_t column, row;   /* where the next character goes; row counts from is.first_row */
};

enum { FONT_FIRST = ' ', FONT_LAST = '~', FONT_WIDTH = 6, FONT_HEIGHT = 9, FONT_DOTS = 8 };
/* Rows of dots, the leftmost in bit 5; the ninth row stays empty. Generated from font.txt. */
extern const uint8_t font[FONT_LAST - FONT_FIRST + 1][FONT_DOTS];

/* Lines of text that fit; 0 where there is no screen that we can write to. */
uint32_t screen_rows(const struct boot_screen *is);
/* `memory`: where is->base is mapped. Leaves what stands there. */
struct screen screen_at(const struct boot_screen *is, volatile void *memory);
void screen_clear(struct screen *s);
void screen_put(struct screen *s, char c);
