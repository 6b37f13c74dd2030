/* SPDX-License-Identifier: BSD-2-Clause */
/* In the place of memory.c, slots.c and vspace.c for hosts of image.c: slots are numbers, frames bytes of one array. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { HOST_SLOTS = 8192 };

static struct {
	uint32_t owner;
	int frame; /* of HOST_SLOTS in `frames`; 0: empty */
	bool object;
} slot[HOST_SLOTS];
static char (*frames)[SIZE_4K];
static int slots_taken = 1, frames_made = 1, window_first;
static int slots_most = HOST_SLOTS;
static uint32_t owner;

uint32_t owner_set(uint32_t next)
{
	uint32_t before = owner;
	owner = next;
	return before;
}

uint32_t owner_now(void) { return owner; }

static int take(uint32_t count, bool object)
{
	if (count > (uint32_t)(slots_most - slots_taken))
		return -SKERRY_NO_RESOURCE;
	for (uint32_t i = 0; i < count; i++) {
		slot[slots_taken + (int)i].owner = owner;
		slot[slots_taken + (int)i].object = object;
	}
	slots_taken += (int)count;
	return slots_taken - (int)count;
}

int slots_take(uint32_t count) { return take(count, false); }

int memory_reserve(struct memory_reserve *reserve, enum skerry_object type, unsigned size_bits, uint32_t count)
{
	*reserve = (struct memory_reserve){ .type = type, .size_bits = size_bits };
	return take(count, true);
}

int memory_commit(struct memory_reserve *reserve, int first, uint32_t count)
{
	(void)reserve;
	if (!frames)
		frames = calloc(HOST_SLOTS, sizeof(*frames));
	if (slot[first].frame)
		return -SKERRY_SLOT_FULL;
	for (uint32_t i = 0; i < count; i++)
		slot[first + (int)i].frame = frames_made++;
	return 0;
}

int slots_copy_to(int copies, int first, uint32_t count)
{
	if (slot[copies].frame)
		return -SKERRY_SLOT_FULL;
	for (uint32_t i = 0; i < count; i++)
		slot[copies + (int)i].frame = slot[first + (int)i].frame;
	return 0;
}

void memory_return(uint32_t of)
{
	for (int i = 1; i < slots_taken; i++)
		if (slot[i].owner == of)
			slot[i].frame = 0;
}

/* Frames are contiguous as they are made together. */
void *window_open(int first, uint32_t count)
{
	if (window_first || count > WINDOW_FRAMES || !slot[first].frame || !slot[first].object)
		abort();
	window_first = first;
	return frames[slot[first].frame];
}

void window_close(void) { window_first = 0; }

void manager_panic(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	abort();
}
