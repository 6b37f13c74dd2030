/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers in memory, and text in frame buffers of exactly their size: AddressSanitizer sees what is beside them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <skerry/seal.h>
#include "screen.h"
#include "uart.h"

enum { REGISTERS = 8, LINE_STATUS = 5, SCRATCH = 7, STATUS_IDLE = 0x60, SEED = 7, CHARACTERS = 20000 };

static int failures;

static void check(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "%s does not hold\n", what);
		failures++;
	}
}
#define CHECK(condition) check(condition, #condition)

/* A "UART" of plain memory: its scratch register works, and it is always ready. */
static void uart(uint16_t stride, uint16_t width)
{
	struct boot_serial serial = { .kind = BOOT_SERIAL_MEMORY, .base = 1, .stride = stride, .width = width };
	uint8_t *registers = calloc(REGISTERS, stride);
	struct uart u = uart_at(&serial, registers);

	registers[LINE_STATUS * stride] = STATUS_IDLE;
	CHECK(uart_answers(&u));
	uart_init(&u, 0);
	CHECK(registers[0] == 0 && registers[3 * stride] == 3);
	uart_init(&u, 9600);
	CHECK(registers[0] == 12 && registers[3 * stride] == 3);
	uart_put(&u, 'x');
	CHECK(registers[0] == 'x');
	uart_drain(&u);
	registers[LINE_STATUS * stride] = 0; /* not ready: given up, and then at once */
	uart_put(&u, 'y');
	CHECK(u.stuck && registers[0] == 'x');
	registers[LINE_STATUS * stride] = 0xff; /* as where there is nothing */
	uart_put(&u, 'z');
	CHECK(u.stuck && registers[0] == 'x');
	registers[LINE_STATUS * stride] = STATUS_IDLE;
	uart_put(&u, 'w');
	CHECK(!u.stuck && registers[0] == 'w');
	free(registers);
}

static void print(struct screen *s, const char *text)
{
	for (; *text != '\0'; text++)
		screen_put(s, *text);
}

static void pixels(uint32_t width, uint32_t height, uint32_t pixel_size)
{
	struct boot_screen is = { .base = 1, .kind = BOOT_SCREEN_PIXELS, .pitch = width * pixel_size + 4,
	                          .width = width,
				  .height = height, .pixel_size = pixel_size };
	size_t size = (size_t)is.pitch * height - 4;
	uint8_t *memory = malloc(size);
	struct screen s;
	uint32_t scale = width >= 1000 ? 2 : 1;

	is.first_row = screen_rows(&is) / 3;
	is.rows = screen_rows(&is) - is.first_row;
	memset(memory, 0xee, size);
	s = screen_at(&is, memory);
	CHECK(screen_rows(&is) == height / 9 / scale);
	screen_clear(&s);
	CHECK(is.first_row == 0 || memory[is.pitch - 5] == 0xee); /* above our rows */
	if (is.rows > 0 && s.columns > 0) {
		uint8_t *dot = memory + (size_t)is.first_row * 9 * scale * is.pitch + (size_t)2 * scale * pixel_size;

		print(&s, "I"); /* its bar's middle is the third dot */
		CHECK(*dot != 0 && dot[-2 * (int)(scale * pixel_size)] == 0);
	}
	srand(SEED);
	for (int i = 0; i < CHARACTERS; i++)
		screen_put(&s, (char)(rand() % 20 ? rand() : '\n'));
	CHECK(is.first_row == 0 || memory[is.pitch - 5] == 0xee);
	free(memory);
}

static void text(void)
{
	struct boot_screen is = { .base = 1, .kind = BOOT_SCREEN_TEXT, .pitch = 160, .width = 80, .height = 25,
				  .first_row = 20, .rows = 5 };
	uint8_t *memory = calloc(1, 160 * 25);
	struct screen s = screen_at(&is, memory);

	screen_clear(&s);
	print(&s, "\001one" SEAL_LETTERS "\n\002two"); /* marks and seals are for readers of the serial port */
	CHECK(memory[20 * 160] == 'o' && memory[20 * 160 + 6] == ' ' && memory[21 * 160 + 4] == 'o' &&
	      memory[21 * 160 + 6] == ' ');
	for (int i = 0; i < CHARACTERS; i++)
		screen_put(&s, (char)i);
	CHECK(memory[19 * 160 + 158] == 0);
	free(memory);
}

static void unusable(void)
{
	struct boot_screen is = { .base = 1, .kind = BOOT_SCREEN_PIXELS, .pitch = 10, .width = 80, .height = 80,
				  .pixel_size = 1, .rows = 3 };
	struct screen s = screen_at(&is, NULL);

	print(&s, "nothing\n");
	CHECK(screen_rows(&is) == 0 && s.rows == 0);
	is.pixel_size = 4;
	is.rows = 9; /* more than there are */
	s = screen_at(&is, NULL);
	print(&s, "nothing\n");
}

int main(void)
{
	for (uint16_t stride = 1; stride <= 4; stride *= 2)
		for (uint16_t width = 1; width <= stride; width *= 2)
			uart(stride, width);
	pixels(640, 480, 4);
	pixels(801, 603, 3);
	pixels(1280, 800, 2);
	pixels(5, 100, 4);
	pixels(100, 12, 4);
	text();
	unusable();
	return failures != 0;
}
