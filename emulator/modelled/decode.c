/* SPDX-License-Identifier: BSD-2-Clause */
/* Opcodes: Intel SDM volume 2, appendix A. */
#include "decode.h"
#include <string.h>
#include "../mark.h"

enum { LONGEST = 15 };

struct bytes {
	uint8_t byte[LONGEST + 3]; /* zero behind the instruction */
	unsigned at;               /* opcode */
	bool lock, repeat, segment; /* prefixes */
	uint8_t rex;               /* its bits; 0: none */
};

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefix[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3 };
	return memchr(prefix, byte, sizeof(prefix));
}

static struct bytes skip_prefixes(const uint8_t *bytes, size_t size)
{
	struct bytes b = { .at = 0 };
	memcpy(b.byte, bytes, size < LONGEST ? size : LONGEST);
	for (; b.at < LONGEST && is_prefix(b.byte[b.at]); b.at++) {
		b.lock |= b.byte[b.at] == 0xf0;
		b.repeat |= b.byte[b.at] == 0xf3 || b.byte[b.at] == 0xf2;
		b.segment |= b.byte[b.at] == 0x64 || b.byte[b.at] == 0x65;
	}
	if ((b.byte[b.at] & 0xf0) == 0x40) /* REX */
		b.rex = b.byte[b.at++] & 0xf;
	return b;
}

static unsigned reg_of(uint8_t modrm) { return modrm >> 3 & 7; }
static bool is_memory(uint8_t modrm) { return modrm < 0xc0; }

/* Returns the operand of an instruction with two bytes of opcode. */
static struct operand find_operand(const struct bytes *b)
{
	enum { REX_B = 1, REX_X = 2, STACK = 4, FRAME = 5 };
	const uint8_t *at = b->byte + b->at + 2;
	unsigned mode = *at >> 6, low = *at & 7;
	struct operand o = { .known = !b->segment, .base = low | (b->rex & REX_B ? 8 : 0), .index = NO_REGISTER };
	at++;
	if (low == STACK) { /* a byte follows with scale, index and base */
		low = *at & 7;
		o.scale = *at >> 6;
		o.base = low | (b->rex & REX_B ? 8 : 0);
		o.index = (*at >> 3 & 7) | (b->rex & REX_X ? 8 : 0);
		if (o.index == STACK)
			o.index = NO_REGISTER;
		at++;
	}
	if (!mode && low == FRAME) /* relative to the instruction, or an address */
		o.known = false;
	if (mode == 1)
		o.displacement = (int8_t)*at;
	else if (mode == 2)
		memcpy(&o.displacement, at, sizeof(o.displacement));
	return o;
}

/* Opcodes that begin with 0F. */
static void decode_two_bytes(const struct prices *price, const uint8_t *o, bool repeat, struct decoded *d)
{
	uint8_t modrm = o[2];
	switch (o[1]) {
	case 0x01:
		if (modrm == 0xf8)
			d->price += price->swapgs, d->is |= IS_KERNEL_ENTRY;
		else if (modrm == 0xf9)
			d->price += price->rdtsc, d->is |= IS_CLOCK; /* RDTSCP */
		else if (is_memory(modrm) && reg_of(modrm) == 7)
			d->is |= IS_REMAP; /* INVLPG */
		break;
	case 0x05: d->price += price->syscall; break;
	case 0x07: d->price += price->sysret, d->is |= IS_KERNEL_EXIT; break;
	case 0x22:
		if (reg_of(modrm) == 3)
			d->price += price->cr3, d->is |= IS_DRAIN | IS_FLUSH;
		else
			d->is |= IS_REMAP;
		break;
	case 0x30: d->price += price->wrmsr, d->is |= IS_DRAIN; break;
	case 0x31: d->price += price->rdtsc, d->is |= IS_CLOCK; break;
	case 0x38:
		if (modrm == 0x82)
			d->is |= IS_REMAP; /* INVPCID: the opcode's third byte */
		break;
	case 0xa2: d->price += price->cpuid, d->is |= IS_DRAIN; break;
	case 0xae:
		if (is_memory(modrm) && (reg_of(modrm) == 4 || reg_of(modrm) == 5 || (reg_of(modrm) == 6 && !repeat)))
			d->price += price->xsave,
			d->is |= reg_of(modrm) == 4 ? IS_SAVE : reg_of(modrm) == 5 ? IS_RESTORE : 0; /* or XSAVEOPT */
		else if (modrm == 0xf0 && !repeat)
			d->price += price->fence, d->is |= IS_DRAIN;
		else if (!is_memory(modrm) && repeat && reg_of(modrm) < 4)
			d->price += price->segment_base;
		break;
	case 0xc7:
		if (is_memory(modrm) && reg_of(modrm) >= 3 && reg_of(modrm) <= 5)
			d->price += price->xsave; /* XRSTORS, XSAVEC, XSAVES */
		break;
	}
}

static void decode_one_byte(const struct prices *price, const uint8_t *o, bool repeat, struct decoded *d)
{
	if (o[0] == 0x90 && repeat)
		d->price += price->pause, d->is |= IS_PAUSE;
	else if (o[0] == 0xcf)
		d->price += price->iret, d->is |= IS_KERNEL_EXIT | IS_DRAIN;
	else if ((o[0] == 0xf6 || o[0] == 0xf7) && reg_of(o[1]) >= 6)
		d->price += price->divide;
	else if ((o[0] >= 0xe4 && o[0] <= 0xe7) || (o[0] >= 0xec && o[0] <= 0xef))
		d->price += price->io, d->is |= IS_DRAIN | (o[0] & 2 ? 0 : IS_IN);
	else if (repeat && (o[0] == 0xa4 || o[0] == 0xa5 || o[0] == 0xaa || o[0] == 0xab))
		d->price = price->repeat; /* QEMU counts each step as an instruction */
	else if ((o[0] == 0x86 || o[0] == 0x87) && is_memory(o[1]))
		d->is |= IS_LOCKED;
}

struct decoded decode(const struct prices *price, const uint8_t *bytes, size_t size, bool kernel)
{
	struct decoded d = { .price = kernel ? price->cpi_kernel : price->cpi_user };
	struct bytes b = skip_prefixes(bytes, size);
	const uint8_t *o = b.byte + b.at;
	const int mark = mark_number(bytes, size);
	if (mark != NO_MARK) {
		d.is = IS_MARK;
		d.mark = (unsigned)mark;
		return d;
	}
	if (o[0] == 0x0f)
		decode_two_bytes(price, o, b.repeat, &d);
	else
		decode_one_byte(price, o, b.repeat, &d);
	if (d.is & (IS_SAVE | IS_RESTORE))
		d.operand = find_operand(&b);
	if (b.lock)
		d.is |= IS_LOCKED;
	if (d.is & IS_LOCKED)
		d.price += price->atomic;
	if (!kernel)
		d.is &= ~(unsigned)IS_KERNEL_EXIT;
	return d;
}
