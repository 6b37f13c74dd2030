/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "registers.h"
#include <dlfcn.h>
#include <stdio.h>
#include <skerry/require.h>

enum { VECTORS = 16, STACK = 8 };
_Static_assert(2 * (VECTORS + STACK) == SPIN_WIDE, "two words each");

static struct qemu_plugin_register *general[SPIN_GENERAL], *wide[VECTORS + STACK];
static struct plugin_bytes *buffer[MOST_CORES]; /* of each core */
static struct plugin_bytes *(*make_bytes)(void);
static struct plugin_bytes *(*resize_bytes)(struct plugin_bytes *bytes, unsigned size);

static struct qemu_plugin_register *find_register(const struct plugin_array *all, const char *name)
{
	const struct plugin_register *each = (const void *)all->data;
	for (unsigned i = 0; i < all->count; i++)
		if (!strcmp(each[i].name, name))
			return each[i].handle;
	return NULL;
}

const char *registers_take(void)
{
	static const char *const names[SPIN_GENERAL] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
		                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	const struct plugin_array *all = qemu_plugin_get_registers();
	bool missing = false;
	for (unsigned i = 0; i < SPIN_GENERAL; i++)
		missing |= !(general[i] = find_register(all, names[i]));
	for (unsigned i = 0; i < VECTORS + STACK; i++) {
		char name[8];
		snprintf(name, sizeof(name), i < VECTORS ? "xmm%u" : "st%u", i < VECTORS ? i : i - VECTORS);
		missing |= !(wide[i] = find_register(all, name));
	}
	if (missing)
		return "this QEMU does not say what a core's registers hold";
	make_bytes = (struct plugin_bytes *(*)(void))dlsym(RTLD_DEFAULT, "g_byte_array_new");
	resize_bytes = (struct plugin_bytes *(*)(struct plugin_bytes *, unsigned))dlsym(RTLD_DEFAULT,
		"g_byte_array_set_size");
	return make_bytes && resize_bytes ? NULL : "this QEMU comes without GLib's byte arrays";
}

static struct plugin_bytes *emptied_bytes(unsigned core)
{
	require(core < MOST_CORES && make_bytes && resize_bytes);
	if (!buffer[core])
		buffer[core] = make_bytes();
	else
		resize_bytes(buffer[core], 0);
	return buffer[core];
}

static void copy_bytes_to(const struct plugin_bytes *bytes, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, bytes->data, bytes->size < size ? bytes->size : size);
}

uint64_t registers_general(unsigned core, unsigned number)
{
	uint64_t value;
	qemu_plugin_read_register(general[number], emptied_bytes(core));
	copy_bytes_to(buffer[core], &value, sizeof(value));
	return value;
}

void registers_wide(unsigned core, uint64_t to[SPIN_WIDE])
{
	for (unsigned i = 0; i < VECTORS + STACK; i++) {
		qemu_plugin_read_register(wide[i], emptied_bytes(core));
		copy_bytes_to(buffer[core], to + 2 * i, 2 * sizeof(*to));
	}
}

uint64_t registers_memory(unsigned core, uint64_t address)
{
	uint64_t value = 0;
	if (qemu_plugin_read_memory_vaddr(address, emptied_bytes(core), sizeof(value)))
		copy_bytes_to(buffer[core], &value, sizeof(value));
	return value;
}
