/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QEMU plugin that counts how often each block of the guest's code is
 * executed between the guest's marks BEGIN and END (skerry/mark.h), or from the
 * first instruction in a range of virtual addresses to the first time that code
 * with these bytes is executed at an address, or from the time SKIP + 1 that
 * this is so, for COUNT times. Addresses and bytes are hexadecimal.
 *
 *     -plugin profile.so,out=FILE[,begin=1][,end=2]
 *     -plugin profile.so,out=FILE,from=FIRST-BEHIND,to=ADDRESS:BYTES
 *     -plugin profile.so,out=FILE,skip=SKIP,count=COUNT,to=ADDRESS:BYTES
 *
 * At END a line goes to FILE for each block that was executed:
 *
 *     ADDRESS EXECUTIONS LENGTHS BYTES
 *
 * The virtual address in hexadecimal; the number of executions in decimal; of
 * each instruction its length in bytes, a hexadecimal digit each; and all bytes
 * in hexadecimal, by which a reader tells programs apart that have other code
 * at the same address. The last line is "end". A block that an exception ends
 * is counted as a whole.
 *
 * For cores that take turns (-icount, thread=single), where counts do not
 * depend on the host. They are updated by callbacks: with counters that
 * generated code updates, QEMU 10.0 ends with "Bad icount read".
 */
#include "mark.h"
#include "qemu_plugin.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST = 15 }; /* bytes of an instruction */
enum { TABLE = 1 << 16 };

struct block {
	struct block *next; /* of the same hash */
	uint64_t address, hash;
	_Atomic uint64_t executions;
	size_t instructions, size;
	uint8_t content[]; /* the length of each instruction, then all bytes */
};

static struct block *table[TABLE]; /* under the mutex */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool counting;
static uint64_t begin_mark = 1, end_mark = 2;
static FILE *out;
static uint64_t from_first, from_behind; /* equal: no such range */
static uint64_t skip, count; /* 0 to count: no such number */
static uint64_t to_address; /* 0: marks are what counts */
static uint8_t to_bytes[LONGEST];
static size_t to_size;

int qemu_plugin_version = PLUGIN_VERSION;

static void block_executed(unsigned vcpu, void *data)
{
	(void)vcpu;
	if (counting)
		atomic_fetch_add_explicit(&((struct block *)data)->executions, 1, memory_order_relaxed);
}

static void write_block(const struct block *block)
{
	fprintf(out, "%llx %llu ", (unsigned long long)block->address, (unsigned long long)block->executions);
	for (size_t i = 0; i < block->instructions; i++)
		fprintf(out, "%x", block->content[i]);
	fputc(' ', out);
	for (size_t i = 0; i < block->size; i++)
		fprintf(out, "%02x", block->content[block->instructions + i]);
	fputc('\n', out);
}

static void interval_finish(void)
{
	counting = false;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < TABLE; i++)
		for (const struct block *block = table[i]; block; block = block->next)
			if (block->executions)
				write_block(block);
	fputs("end\n", out);
	fflush(out);
	pthread_mutex_unlock(&mutex);
}

static void mark_reached(unsigned vcpu, void *number)
{
	(void)vcpu;
	if ((uintptr_t)number == begin_mark)
		counting = true;
	else if (counting)
		interval_finish();
}

static void end_arrived(unsigned vcpu, void *at_end)
{
	static _Atomic bool begun;
	(void)vcpu;
	if (at_end && counting)
		interval_finish();
	else if (!at_end && !atomic_exchange(&begun, true))
		counting = true;
}

/* The code that is counted is about to be executed once more. */
static void begin_again(unsigned vcpu, void *unused)
{
	static _Atomic uint64_t times;
	(void)vcpu, (void)unused;
	uint64_t before = atomic_fetch_add(&times, 1);
	if (before == skip)
		counting = true;
	else if (before == skip + count && counting)
		interval_finish();
}

/* Registers what begins and ends the interval, where marks do not. The block's bytes end at `end`. */
static void watch_instruction(struct qemu_plugin_insn *instruction, const uint8_t *bytes, const uint8_t *end,
			      uint64_t address)
{
	size_t size = (size_t)(end - bytes) < to_size ? (size_t)(end - bytes) : to_size;
	if (address >= from_first && address < from_behind)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, end_arrived, PLUGIN_NO_REGISTERS, NULL);
	if (address == to_address && !memcmp(bytes, to_bytes, size))
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, count ? begin_again : end_arrived,
		                                       PLUGIN_NO_REGISTERS, &counting);
}

static uint64_t hash_of(uint64_t address, const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325 ^ address; /* FNV-1a */
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

/* The block with this content that was translated before, or this one from now on. */
static struct block *block_kept(struct block *fresh)
{
	size_t length = fresh->instructions + fresh->size;
	struct block **first = &table[(fresh->hash ^ fresh->hash >> 32) % TABLE];
	pthread_mutex_lock(&mutex);
	struct block *found = *first;
	while (found && (found->hash != fresh->hash || found->address != fresh->address ||
	                 found->instructions != fresh->instructions ||
	                 found->size != fresh->size || memcmp(found->content, fresh->content, length)))
		found = found->next;
	if (found) {
		free(fresh);
	} else {
		fresh->next = *first;
		found = *first = fresh;
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

static void translate_block(plugin_id id, struct qemu_plugin_tb *translated)
{
	(void)id;
	size_t length = qemu_plugin_tb_n_insns(translated);
	struct block *block = calloc(1, sizeof(*block) + length * (1 + LONGEST));
	if (!block) {
		fputs("profile: out of memory\n", stderr);
		abort();
	}
	block->address = qemu_plugin_tb_vaddr(translated);
	block->instructions = length;
	uint8_t *bytes = block->content + length;
	for (size_t i = 0; i < length; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translated, i);
		size_t size = qemu_plugin_insn_size(instruction);
		plugin_read(instruction, bytes + block->size, size);
		block->content[i] = (uint8_t)size;
		int number = mark_number(bytes + block->size, size);
		block->size += size;
		if (!to_address && (number == (int)begin_mark || number == (int)end_mark))
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, mark_reached, PLUGIN_NO_REGISTERS,
			                                       (void *)(uintptr_t)number);
	}
	for (size_t i = 0, at = 0; to_address && i < length; at += block->content[i++])
		watch_instruction(qemu_plugin_tb_get_insn(translated, i), bytes + at, bytes + block->size,
				  block->address + at);
	block->hash = hash_of(block->address, bytes, block->size);
	qemu_plugin_register_vcpu_tb_exec_cb(translated, block_executed, PLUGIN_NO_REGISTERS, block_kept(block));
}

static bool read_range(const char *text)
{
	char *rest;
	from_first = strtoull(text, &rest, 16);
	if (*rest != '-')
		return false;
	from_behind = strtoull(rest + 1, &rest, 16);
	return !*rest && from_first < from_behind;
}

static bool read_code(const char *text)
{
	char *rest;
	unsigned byte;
	to_address = strtoull(text, &rest, 16);
	if (*rest++ != ':')
		return false;
	for (to_size = 0; to_size < LONGEST && sscanf(rest, "%2x", &byte) == 1; rest += 2)
		to_bytes[to_size++] = (uint8_t)byte;
	return to_size && !*rest;
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
	bool from = false, to = false, good;
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
		else if (!strncmp(argv[i], "begin=", 6))
			begin_mark = strtoull(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "end=", 4))
			end_mark = strtoull(argv[i] + 4, NULL, 10);
		else if (!strncmp(argv[i], "from=", 5))
			from = read_range(argv[i] + 5);
		else if (!strncmp(argv[i], "skip=", 5))
			skip = strtoull(argv[i] + 5, NULL, 10);
		else if (!strncmp(argv[i], "count=", 6))
			count = strtoull(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "to=", 3))
			to = read_code(argv[i] + 3);
	}
	good = out && begin_mark != end_mark && (from_first != from_behind) == from && (to_address != 0) == to &&
	       to == (from != (count != 0));
	if (!good) {
		fputs("profile: out=FILE must be given, begin and end be two marks, and one of from=FIRST-BEHIND and "
		      "count=COUNT beside "
		      "to=ADDRESS:BYTES\n", stderr);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_block);
	return 0;
}
