/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"
#include <skerry/require.h>

void p9_begin(struct p9_out *out, uint8_t *data, uint32_t room, enum p9_type type, uint16_t tag)
{
	*out = (struct p9_out){ .data = data, .room = room };
	p9_put(out, 0, 4);
	p9_put(out, type, 1);
	p9_put(out, tag, 2);
}

void p9_put(struct p9_out *out, uint64_t value, unsigned bytes)
{
	require(bytes <= sizeof(value) && (bytes == 8 || value >> 8 * bytes == 0));
	for (unsigned i = 0; i < bytes && !out->full; i++, value >>= 8)
		p9_put_bytes(out, &(uint8_t){ (uint8_t)value }, 1);
}

void p9_put_bytes(struct p9_out *out, const void *bytes, uint32_t size)
{
	require(out->size <= out->room);
	if (size > out->room - out->size)
		out->full = true;
	if (out->full)
		return;
	__builtin_memcpy(out->data + out->size, bytes, size);
	out->size += size;
}

void p9_put_string(struct p9_out *out, const char *bytes, uint32_t size)
{
	require(size <= UINT16_MAX);
	p9_put(out, size, 2);
	p9_put_bytes(out, bytes, size);
}

uint32_t p9_end(struct p9_out *out)
{
	const uint32_t size = out->size;

	if (out->full)
		return 0;
	require(size >= P9_HEADER);
	out->size = 0;
	p9_put(out, size, 4);
	out->size = size;
	return size;
}

const uint8_t *p9_get_bytes(struct p9_in *in, uint32_t size)
{
	require(in->at <= in->size);
	if (in->bad || size > in->size - in->at) {
		in->bad = true;
		return 0;
	}
	in->at += size;
	return in->data + in->at - size;
}

uint64_t p9_get(struct p9_in *in, unsigned bytes)
{
	const uint8_t *byte = p9_get_bytes(in, bytes);
	uint64_t value = 0;

	require(bytes <= sizeof(value));
	for (unsigned i = bytes; byte && i--;)
		value = value << 8 | byte[i];
	return value;
}
