/* SPDX-License-Identifier: BSD-2-Clause */
/* A model of the 82574L, in place of net/e1000e/registers.c: registers, queues, interrupts, and what can go wrong with
 * them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <setjmp.h>
#include <skerry/process.h>
#include "../e1000e/device.h"

enum { MODEL_POSTED = 64 };

struct model {
	uint32_t reg[REGISTERS_SIZE / 4];
	uint32_t mask;          /* IMS */
	bool link, gone;        /* reads are all ones */
	bool stuck, unread;     /* a reset that does not end; an EEPROM that is not read */
	bool hold;              /* frames to send stay where they are */
	bool hostile;           /* reads return anything */
	bool late;              /* writes arrive at the next read, or by model_arrive() */
	unsigned resets, interrupts, said, sent, missed, tails;
	const char *last_said;
	uint8_t frame[E1000E_BUFFER]; /* the last one sent */
	uint32_t frame_size;
	struct { uint32_t offset, value; } posted[MODEL_POSTED];
	unsigned posted_count;
	jmp_buf *failure; /* where program_fail() goes */
};

extern struct model model;
extern struct process_info model_info;

/* A new card, with its PCI function in D3 if `asleep`, and zero DMA memory. */
void model_init(bool asleep);
uint8_t *model_config(void);
uint32_t *model_msix(void); /* entry 0 */

/* The oldest `count` writes arrive. */
void model_arrive(unsigned count);

/* A frame comes in, in one descriptor. False: the card had none, and missed it. */
bool model_receive(const uint8_t *data, uint32_t size, uint64_t status);

/* Send what was held. */
void model_send(void);

void model_set_link(bool up);
void model_reset(void);

/* Any values in both queues. */
void model_scribble(struct e1000e *e);
