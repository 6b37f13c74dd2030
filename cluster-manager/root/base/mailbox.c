/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/errors.h>
#include <skerry/require.h>
#include "mailbox.h"

struct header {
	uint16_t kind, type;
	uint32_t cluster;
	uint32_t size, reserved;
};
_Static_assert(sizeof(struct header) == MAIL_HEADER, "what mailbox_has_room() counts");

enum { ALIGNMENT = 8 };

static _Alignas(ALIGNMENT) uint8_t first[MAILBOX_SIZE];
static uint8_t *bytes = first;
static uint32_t capacity = MAILBOX_SIZE;
static uint32_t head, tail; /* free-running: `capacity` is a power of two */
static uint32_t lost;
static bool lost_harmful;

static size_t padded_size(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static size_t free_bytes(void)
{
	require(tail - head <= capacity);
	return capacity - (tail - head);
}

static void copy_in(const void *from, size_t size)
{
	size_t offset = tail % capacity, part = size < capacity - offset ? size : capacity - offset;
	require(padded_size(size) <= free_bytes());
	if (part)
		memcpy(bytes + offset, from, part);
	if (size > part)
		memcpy(bytes, (const uint8_t *)from + part, size - part);
	tail += (uint32_t)padded_size(size);
}

static void copy_out(void *to, size_t size)
{
	size_t offset = head % capacity, part = size < capacity - offset ? size : capacity - offset;
	require(padded_size(size) <= tail - head);
	memcpy(to, bytes + offset, part);
	memcpy((uint8_t *)to + part, bytes, size - part);
	head += (uint32_t)padded_size(size);
}

void mailbox_move(void *memory, uint32_t size)
{
	require(head == tail && memory && !(size & (size - 1)));
	bytes = memory;
	capacity = size;
	head = tail = 0;
}

int mailbox_put(const struct mail *mail)
{
	const bool harmful = mail->kind == MAIL_OWN || mail->kind == MAIL_PEER_LOST;
	const size_t kept = harmful ? 0 : capacity / 2;
	int error = mail->size > MESSAGE_SIZE_MAX ? -SKERRY_BAD_ARGUMENT :
		    sizeof(struct header) + padded_size(mail->size) + kept > free_bytes() ? -SKERRY_NO_RESOURCE : 0;
	if (error) {
		lost++;
		lost_harmful |= harmful;
		return error;
	}
	const struct header header = { .kind = (uint16_t)mail->kind, .type = mail->type, .cluster = mail->cluster,
				       .size = (uint32_t)mail->size };
	require(!mail->size || mail->body);
	copy_in(&header, sizeof(header));
	copy_in(mail->body, mail->size);
	return 0;
}

bool mailbox_take(struct mail *mail)
{
	static _Alignas(ALIGNMENT) uint8_t body[MESSAGE_SIZE_MAX];
	struct header header;
	if (head == tail)
		return false;
	copy_out(&header, sizeof(header));
	require(header.size <= MESSAGE_SIZE_MAX);
	copy_out(body, header.size);
	*mail = (struct mail){ .kind = (enum mail_kind)header.kind, .type = header.type, .cluster = header.cluster,
			       .body = body, .size = header.size };
	return true;
}

bool mailbox_has_room(size_t size, uint32_t count)
{
	return size + (size_t)count * (MAIL_HEADER + ALIGNMENT) + capacity / 2 <= free_bytes();
}

uint32_t mailbox_lost(bool *harmful)
{
	uint32_t count = lost;
	*harmful = lost_harmful;
	lost = 0;
	lost_harmful = false;
	return count;
}
