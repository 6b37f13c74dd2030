/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"

#include "acpi.h"
#include "cpu.h"
#include "loader.h"
#include "screen.h"
#include "uart.h"

enum { COM1 = 0x3f8, COM2 = 0x2f8, BAUD = 115200, DEBUG_EXIT = 0xf4, DEBUG_EXIT_REFUSED = 0x31, REGISTERS = 8 };
enum { LOADER_ROWS = 12 }; /* of the screen, at most, before its text begins again at the top */

static struct boot_serial serial[2]; /* console, results */
static struct uart uart[2];
static struct screen screen;

/* The loader's lines so far, for a console that is found only when they have been said. */
static char early[1024];
static size_t early_size;
static bool chosen;
static bool left; /* the kernels have the console */
static const struct machine *the_machine;
static const struct options *the_options;

static const void *port_registers(const struct boot_serial *port)
{
	return acpi_memory(port->base, (uint64_t)port->stride * REGISTERS);
}

static bool in_reach(const struct boot_serial *port)
{
	return port->kind != BOOT_SERIAL_MEMORY || port_registers(port) != NULL;
}

static bool port_use(unsigned which, const struct boot_serial *port, uint32_t baud)
{
	const void *memory = port->kind == BOOT_SERIAL_MEMORY ? port_registers(port) : NULL;
	struct uart found = uart_at(port, (volatile void *)memory);

	if (port->kind == BOOT_SERIAL_MEMORY && memory == NULL)
		return false;
	if (!uart_answers(&found))
		return false;
	serial[which] = *port;
	uart[which] = found;
	uart_init(&found, baud);
	return true;
}

static struct boot_serial port_of_com(uint16_t port)
{
	return (struct boot_serial){ .kind = BOOT_SERIAL_PORT, .base = port, .stride = 1, .width = 1 };
}

void console_early(const struct machine *m, const struct options *o)
{
	struct boot_serial first = port_of_com(COM1);

	the_machine = m;
	the_options = o;
	port_use(0, &first, BAUD);
}

static bool same_port(const struct boot_serial *a, const struct boot_serial *b)
{
	return a->kind == b->kind && a->base == b->base;
}

static void choose_console(const struct machine *m, const struct options *o)
{
	struct boot_serial early = serial[0], none = { .kind = BOOT_SERIAL_NONE };

	if (o->console_said) {
		if (o->console.kind == BOOT_SERIAL_NONE) {
			serial[0] = none;
			uart[0] = uart_at(&none, NULL);
		} else if (!in_reach(&o->console)) {
			print("console=: 0x%lx is out of this CPU's reach", o->console.base);
		} else if (!port_use(0, &o->console, o->console_baud)) {
			print("console=: no 16550 answers at 0x%lx", o->console.base);
		}
	} else if (m->spcr.kind != BOOT_SERIAL_NONE && !same_port(&m->spcr, &early) &&
		   port_use(0, &m->spcr, m->spcr_baud)) {
		print("console at 0x%lx, as the firmware's SPCR says", m->spcr.base);
	}
}

static void choose_results(const struct options *o)
{
	struct boot_serial port = port_of_com(COM2), other = port_of_com(COM1);

	if (o->results_said && o->results.kind == BOOT_SERIAL_NONE)
		return;
	if (o->results_said)
		port = o->results;
	else if (same_port(&port, &serial[0]))
		port = other;
	if (same_port(&port, &serial[0])) {
		if (o->results_said)
			print("results=: 0x%lx is the console already, which is where results go then", port.base);
	} else if (!in_reach(&port)) {
		print("results=: 0x%lx is out of this CPU's reach", port.base);
	} else if (!port_use(1, &port, o->results_said ? o->results_baud : BAUD) && o->results_said) {
		print("results=: no 16550 answers at 0x%lx", port.base);
	}
}

static void choose_screen(const struct machine *m, const struct options *o)
{
	struct boot_screen is = m->screen;
	uint64_t size = (uint64_t)is.pitch * is.height;
	const void *memory;

	if (o->no_screen || screen_rows(&is) == 0 || (is.kind == BOOT_SCREEN_TEXT && m->no_vga))
		return;
	memory = acpi_memory(is.base, size);
	if (memory == NULL) {
		print("the screen at 0x%lx is out of reach", is.base);
		return;
	}
	is.rows = screen_rows(&is) < LOADER_ROWS ? screen_rows(&is) : LOADER_ROWS;
	screen = screen_at(&is, (volatile uint8_t *)memory);
	screen_clear(&screen);
}

static void put_screen(const char *text)
{
	for (; *text != '\0'; text++)
		screen_put(&screen, *text);
}

static void put_serial(const char *text)
{
	for (; *text != '\0'; text++)
		uart_put(&uart[0], *text);
}

void console_choose(void)
{
	struct boot_serial before = serial[0];

	chosen = true;
	choose_screen(the_machine, the_options);
	choose_console(the_machine, the_options);
	put_screen(early);
	if (!same_port(&before, &serial[0]))
		put_serial(early);
	choose_results(the_options);
}

void console_share(struct boot_info *info, uint32_t index, uint32_t count)
{
	uint32_t first = screen.rows, all = screen_rows(&screen.is) - first, each;

	info->console = serial[0];
	info->results = serial[1];
	if (screen.rows == 0)
		return;
	require(index < count && first <= screen_rows(&screen.is));
	each = all / count;
	info->screen = screen.is;
	info->screen.first_row = first + index * each;
	info->screen.rows = each;
}

void console_leave(void)
{
	left = true;
	uart_drain(&uart[0]);
}

static void keep_early(const char *text)
{
	require(!chosen && early_size < sizeof early);
	for (; *text != '\0' && early_size < sizeof early - 1; text++)
		early[early_size++] = *text;
}

static void put_text(const char *text)
{
	if (!chosen)
		keep_early(text);
	put_serial(text);
	put_screen(text);
}

static void put_line(const char *prefix, const char *format, va_list args)
{
	char line[256];

	format_line(line, sizeof line, format, args);
	put_text("skerry loader: ");
	put_text(prefix);
	put_text(line);
	put_text("\n");
}

void print(const char *format, ...)
{
	va_list args;

	if (left)
		return;
	va_start(args, format);
	put_line("", format, args);
	va_end(args);
}

void panic(const char *format, ...)
{
	va_list args;

	if (!chosen && the_machine != NULL)
		console_choose(); /* with what is known so far */
	va_start(args, format);
	put_line(left ? "a core stops: " : "refused: ", format, args);
	va_end(args);
	uart_drain(&uart[0]);
	if (left)
		cpu_stop(); /* a cluster that cannot be loaded again, or whose kernel faulted at its entry; the others go on */
	out8(DEBUG_EXIT, DEBUG_EXIT_REFUSED);
	cpu_stop();
}
