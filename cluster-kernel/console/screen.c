/* SPDX-License-Identifier: BSD-2-Clause */
#include "screen.h"
#include <stdbool.h>

enum { LARGE_WIDTH = 1000, CELL_GREY = 0x07, TAB = 8, INK = 0xc0 };

static uint32_t scale_of(const struct boot_screen *is)
{
	return is->width >= LARGE_WIDTH ? 2 : 1;
}

uint32_t screen_rows(const struct boot_screen *is)
{
	if (is->kind == BOOT_SCREEN_TEXT)
		return is->height;
	if (is->kind != BOOT_SCREEN_PIXELS || is->pixel_size < 2 || is->pixel_size > 4)
		return 0;
	return is->height / (FONT_HEIGHT * scale_of(is));
}

struct screen screen_at(const struct boot_screen *is, volatile void *memory)
{
	struct screen s = { .is = *is, .memory = memory, .scale = scale_of(is) };

	if (screen_rows(is) == 0 || is->first_row + is->rows > screen_rows(is))
		return s; /* no rows: nothing is ever written */
	s.rows = is->rows;
	s.columns = is->kind == BOOT_SCREEN_TEXT ? is->width : is->width / (FONT_WIDTH * s.scale);
	return s;
}

/* Shades of grey are the same in every order of colours. */
static void put_pixel(const struct screen *s, uint32_t x, uint32_t y, uint8_t grey)
{
	volatile uint8_t *at = s->memory + (uint64_t)y * s->is.pitch + (uint64_t)x * s->is.pixel_size;

	if (s->is.pixel_size == 4)
		*(volatile uint32_t *)at = grey * 0x010101u;
	else if (s->is.pixel_size == 2)
		*(volatile uint16_t *)at = (uint16_t)((grey >> 3) * 0x801u | (grey >> 2) << 5 | grey >> 3);
	else
		at[0] = at[1] = at[2] = grey;
}

static void draw_glyph(const struct screen *s, uint32_t column, uint32_t row, char c)
{
	uint32_t x0 = column * FONT_WIDTH * s->scale, y0 = (s->is.first_row + row) * FONT_HEIGHT * s->scale;

	if (column >= s->columns || row >= s->rows)
		return; /* cores that panic at once may disturb each other's position */
	if (s->is.kind == BOOT_SCREEN_TEXT) {
		*(volatile uint16_t *)(s->memory + (uint64_t)(s->is.first_row + row) * s->is.pitch + column * 2) =
			(uint16_t)(CELL_GREY << 8 | (uint8_t)c);
		return;
	}
	for (uint32_t y = 0; y < FONT_HEIGHT * s->scale; y++) {
		uint32_t line = y / s->scale;
		uint8_t dots = line < FONT_DOTS ? font[c - FONT_FIRST][line] : 0;

		for (uint32_t x = 0; x < FONT_WIDTH * s->scale; x++)
			put_pixel(s, x0 + x, y0 + y, dots >> (FONT_WIDTH - 1 - x / s->scale) & 1 ? INK : 0);
	}
}

static void blank_row(const struct screen *s, uint32_t row)
{
	for (uint32_t column = 0; column < s->columns; column++)
		draw_glyph(s, column, row, ' ');
}

void screen_clear(struct screen *s)
{
	for (uint32_t row = 0; row < s->rows; row++)
		blank_row(s, row);
	s->row = s->column = 0;
}

static void new_line(struct screen *s)
{
	s->column = 0;
	s->row = s->row + 1 < s->rows ? s->row + 1 : 0;
	blank_row(s, s->row);
	if (s->rows > 2)
		blank_row(s, s->row + 1 < s->rows ? s->row + 1 : 0);
}

void screen_put(struct screen *s, char c)
{
	/* marks and seals (skerry/console.h) */
	const bool for_readers = (unsigned char)c < FONT_FIRST && c != '\n' && c != '\t';
	if (s->rows == 0 || for_readers)
		return;
	if (c == '\n') {
		new_line(s);
		return;
	}
	if (s->column == s->columns)
		new_line(s);
	if (c == '\t')
		for (s->column++; s->column % TAB != 0 && s->column < s->columns; s->column++)
			;
	else
		draw_glyph(s, s->column++, s->row, c < FONT_FIRST || c > FONT_LAST ? '?' : c);
}
