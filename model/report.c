/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 64, STEPS = 4096, TEXT = 160 };

static struct {
	uint64_t address, size;
	const char *name;
} names[NAMES];
static unsigned name_count;

static struct step {
	struct op op;
	unsigned thread;
	write_name choice;
	const void *code;
} steps[STEPS];
static unsigned step_count;

static char texts[4][TEXT];
static char *next_text(void)
{
	static unsigned next;
	return texts[next++ % 4];
}

void explore_name(const void *object, uint64_t size, const char *name)
{
	unsigned i = 0;
	while (i < name_count && names[i].address != (uint64_t)object)
		i++;
	if (i == NAMES)
		return;
	names[i].address = (uint64_t)object;
	names[i].size = size;
	names[i].name = name;
	if (i == name_count)
		name_count++;
}

const char *report_place(uint64_t address)
{
	char *text = next_text();
	for (unsigned i = 0; i < name_count; i++)
		if (address - names[i].address < names[i].size) {
			snprintf(text, TEXT, address == names[i].address ? "%s" : "%s+%llu", names[i].name,
			         (unsigned long long)(address - names[i].address));
			return text;
		}
	snprintf(text, TEXT, "%#llx", (unsigned long long)address);
	return text;
}

const char *report_code(const void *code)
{
	char *text = next_text(), command[128];
	snprintf(text, TEXT, "%p", code);
	snprintf(command, sizeof(command), "addr2line -s -f -p -e /proc/%d/exe %p 2>&1", (int)getpid(),
	         (const char *)code - 1);
	FILE *pipe = popen(command, "r");
	if (pipe) {
		if (fgets(text, TEXT, pipe))
			text[strcspn(text, "\n")] = 0;
		pclose(pipe);
	}
	return text;
}

void report_start(void) { step_count = 0; }

void report_step(unsigned thread, const struct op *op, write_name choice, const void *code)
{
	if (step_count < STEPS)
		steps[step_count++] = (struct step){ *op, thread, choice, code };
}

static const char *order_of(const struct op *op)
{
	if (op->sequential)
		return "seq_cst";
	if (op->acquire)
		return op->release ? "acq_rel" : "acquire";
	return op->release ? "release" : "relaxed";
}

void report_print(void)
{
	static const char *const kind[] = { "load", "store", "rmw", "cas" };
	for (unsigned i = 0; i < step_count; i++) {
		const struct step *s = &steps[i];
		printf("  %4u  thread %u  %-5s %-7s %-22s", i, s->thread, kind[s->op.kind], order_of(&s->op),
		       report_place(s->op.address));
		if (s->op.kind == OP_STORE)
			printf(" := %#llx", (unsigned long long)s->op.operand);
		else
			printf(" =  %#llx", (unsigned long long)s->op.value);
		if (s->op.kind != OP_STORE && s->choice)
			printf(" (of thread %u)", (s->choice >> 16) - 1);
		printf("  %s\n", report_code(s->code));
	}
}
