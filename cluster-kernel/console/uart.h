/* SPDX-License-Identifier: BSD-2-Clause */
/* 16550 UARTs, polled: for the loader and the kernels, whose ports of I/O and memory differ only in how they map it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>

struct uart {
	enum boot_serial_kind kind;
	uint16_t stride, width;
	uint16_t port;
	volatile void *registers; /* of kind BOOT_SERIAL_MEMORY */
	uint32_t refused;         /* how often in a row uart_ready() found no room */
	bool stuck;               /* it did not take a byte for a second or so: nobody waits for it until it does */
};

/* `registers`: where registers in memory are mapped, else NULL. */
struct uart uart_at(const struct boot_serial *serial, volatile void *registers);

/* Whether something answers there. */
bool uart_answers(const struct uart *u);
/* 8n1, FIFOs, no interrupts. `baud` 0 leaves the rate as it is; others suppose the PC's clock of 1.8432 MHz. */
void uart_init(const struct uart *u, uint32_t baud);
void uart_put(struct uart *u, char c);
/*
 * Whether uart_put() of a byte that is no newline would not wait. True, too, for a UART that has had no room for very
 * many calls in a row: it is stuck, and drops what it is given.
 */
bool uart_ready(struct uart *u);
/* Waits until all is sent. */
void uart_drain(const struct uart *u);
