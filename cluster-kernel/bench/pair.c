/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <skerry/root_info.h>
#include "stat_fields.h"
#include "thread.h"

enum { FIRST = 1008, SLOTS = 16 }; /* capability pointers of each pair */
enum { ENDPOINT, REPLY, NOTIFICATION, CLIENT_VSPACE, SERVER_VSPACE, CLIENT, CLIENT_BUFFER, SERVER, SERVER_BUFFER };
enum { BUFFER = 0x10000, PRIORITY = 100, ROOT_PRIORITY = 1, UNTYPED_BITS = 22 };

void pair_fail(const char *what)
{
	fprintf(stderr, "the kernel under the benchmark: %s\n", what);
	exit(1);
}

/* The root task's call on core 0. */
static void root_call(struct hosted *machine, uint64_t cptr, uint64_t label, const uint64_t *word, unsigned words,
                 const uint64_t *cap, unsigned caps)
{
	struct hosted_call order = { .number = SYS_CALL, .cptr = cptr, .info = message_info(label, caps, words) };
	struct ipc_buffer *buffer = thread_ipc_buffer(machine->root);
	for (unsigned i = 0; i < words; i++)
		*(i < MESSAGE_REGISTERS ? &order.word[i] : &buffer->words[i]) = word[i];
	for (unsigned i = 0; i < caps; i++)
		buffer->caps[i] = cap[i];
	hosted_post_call(machine, 0, &order);
	hosted_run(machine);
	pair_expect(machine->root->context.registers.rax == SKERRY_OK, "it refuses to make a pair");
}
#define W(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8

static void make_object(struct hosted *machine, uint64_t object, uint64_t slot)
{
	uint64_t untyped = ROOT_SLOT_UNTYPED;
	while (machine->root_cnode[untyped].cap.size_bits < UNTYPED_BITS) /* the pieces before are small */
		untyped++;
	root_call(machine, untyped, UNTYPED_RETYPE, W(object, 0, slot, 1), W(ROOT_SLOT_CNODE));
}

static struct thread *make_thread(struct hosted *machine, uint64_t slot, uint64_t vspace, unsigned core)
{
	make_object(machine, OBJECT_VSPACE, vspace);
	make_object(machine, OBJECT_TCB, slot);
	make_object(machine, OBJECT_FRAME_4K, slot + 1);
	root_call(machine, slot, TCB_CONFIGURE, W(BUFFER, 0), W(ROOT_SLOT_CNODE, vspace, slot + 1));
	root_call(machine, slot, TCB_SCHEDULE, W(PRIORITY, core), W(ROOT_SLOT_TCB));
	root_call(machine, slot, TCB_RESUME, 0, 0, 0, 0);
	return (struct thread *)machine->root_cnode[slot].cap.object;
}

static void make_server(struct hosted *machine, unsigned core, struct pair *pair)
{
	uint64_t slot = FIRST + core * SLOTS;
	make_object(machine, OBJECT_ENDPOINT, slot + ENDPOINT);
	make_object(machine, OBJECT_REPLY, slot + REPLY);
	make_object(machine, OBJECT_NOTIFICATION, slot + NOTIFICATION);
	*pair = (struct pair){
		.core = &machine->core[core], .cpu = machine->kernel.cpu[core],
		.endpoint = slot + ENDPOINT, .reply = slot + REPLY, .notification = slot + NOTIFICATION,
		.server = make_thread(machine, slot + SERVER, slot + SERVER_VSPACE, core),
	};
	const struct hosted_call receive = { .number = SYS_RECV, .cptr = pair->endpoint, .reply = pair->reply };
	pair_expect(current(pair->cpu) == pair->server, "a server does not run");
	hosted_post_call(machine, core, &receive);
	hosted_run(machine);
}

static void make_client(struct hosted *machine, unsigned core, struct pair *pair)
{
	uint64_t slot = FIRST + core * SLOTS;
	pair->client = make_thread(machine, slot + CLIENT, slot + CLIENT_VSPACE, core);
	pair_expect(current(pair->cpu) == pair->client, "a client does not run");
}

struct hosted *pairs_make(unsigned cluster, unsigned cores, struct pair *pairs)
{
	const struct hosted_config config = { .cluster = cluster, .cores = cores, .threads = true, .tsc = true,
	                                      .pinned = true };
	struct hosted *machine = hosted_create(&config);
	/* threads that can run, do */
	root_call(machine, ROOT_SLOT_TCB, TCB_SCHEDULE, W(ROOT_PRIORITY, 0), W(ROOT_SLOT_TCB));
	for (unsigned i = 0; i < cores; i++)
		make_server(machine, i, &pairs[i]);
	for (unsigned i = cores; i-- > 0;) /* the client on core 0 leaves the root task no time */
		make_client(machine, i, &pairs[i]);
	return machine;
}

typedef unsigned long long number; /* of printf */

void counted_read(struct core_stat *sum, const struct pair *pairs, uint64_t pair_size, unsigned cores)
{
	*sum = (struct core_stat){ 0 };
	for (unsigned c = 0; c < cores; c++) {
		const struct pair *pair = (const struct pair *)((const char *)pairs + c * pair_size);
		const uint64_t *word = (const uint64_t *)pair->cpu->own.stat;
		for (unsigned i = 0; i < sizeof(*sum) / 8; i++)
			((uint64_t *)sum)[i] += word[i];
	}
}

/* Members of an object: the counters of a part of a record, and no maxima, of which a difference says nothing. */
static void print_members(const void *record, const struct stat_field *field, unsigned fields)
{
	const char *comma = "";
	for (; fields; field++, fields--)
		if (field->count == 1 && (field->kind == STAT_KIND_COUNT || field->kind == STAT_KIND_CYCLES)) {
			printf("%s\"%s\":%llu", comma, field->name, (number)((const uint64_t *)record)[field->word]);
			comma = ",";
		}
}

void counted_print(const struct counted *counted)
{
	struct core_stat of;
	for (unsigned i = 0; i < sizeof(of) / 8; i++)
		((uint64_t *)&of)[i] = ((const uint64_t *)&counted->after)[i] - ((const uint64_t *)&counted->before)[i];
	if (!of.entries)
		return;
	printf(",\"counted\":{");
	print_members(&of, stat_core_fields, STAT_LENGTH(stat_core_fields));
	printf(",\"locks\":{");
	for (unsigned i = 0, shown = 0; i < LOCK_CLASSES; i++) {
		if (!of.lock[i].acquisitions)
			continue;
		printf("%s\"%s\":{", shown++ ? "," : "", stat_class_names[i]);
		print_members(&of.lock[i], stat_lock_fields, STAT_LENGTH(stat_lock_fields));
		printf("}");
	}
	printf("},\"transactions\":{");
	print_members(&of.transactions, stat_transaction_fields, STAT_LENGTH(stat_transaction_fields));
	printf(",\"aborted\":{");
	for (unsigned i = 0; i < ABORT_CAUSES; i++)
		printf("%s\"%s\":%llu", i ? "," : "", stat_cause_names[i], (number)of.transactions.aborted[i]);
	printf("}}}");
}
