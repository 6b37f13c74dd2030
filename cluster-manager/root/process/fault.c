/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/format.h>
#include "console.h"
#include "fault.h"
#include "map.h"
#include "process.h"
#include "results.h"
#include "root.h"

/* Page-fault error code bits (Intel SDM volume 3, 4.7) */
enum { PAGE_PRESENT = 1, PAGE_WRITE = 2, PAGE_FETCH = 16 };

struct report_fault fault_of(uint32_t application, const struct message *m)
{
	struct report_fault body = { .application = application, .fault = (uint32_t)message_label(m->info) };
	for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
		body.word[i] = m->word[i];
	if (message_words(m->info) > MESSAGE_REGISTERS)
		body.word[4] = IPC->words[4];
	if (body.fault == FAULT_PAGE)
		body.place = process_place(application, m->word[2], m->word[1]);
	/* only the first thread's registers can be read: others belong to the program itself */
	body.registers_known = !tcb_read_registers(IPC, (uint64_t)process_tcb(application), &body.registers) &&
			       body.registers.rip == body.word[0];
	return body;
}

static const char *exception_name(uint64_t vector)
{
	static const char *const name[] = {
		"divide error", "debug", "nmi", "breakpoint", "overflow", "bound range", "invalid opcode",
		"device not available", "double fault", "coprocessor overrun", "invalid tss", "segment not present",
		"stack fault", "general protection", "page fault", "reserved", "x87 error", "alignment check",
		"machine check", "simd error", "virtualization", "control protection",
	};
	return vector < sizeof(name) / sizeof(name[0]) ? name[vector] : "exception";
}

/* "page fault at 0x10, write" */
static void fault_describe(const struct report_fault *f, struct text *t)
{
	switch (f->fault) {
	case FAULT_PAGE:
		text_format(t, "page fault at 0x%lx, %s%s%s", f->word[2],
			    f->word[3] & PAGE_FETCH ? "execute" : f->word[3] & PAGE_WRITE ? "write" : "read",
			    f->word[3] & PAGE_PRESENT ? " (not allowed there)" : "",
			    f->place == PLACE_GUARD ? ": guard page of a stack" : f->place == PLACE_PROTECTED
			    ? ": protected" : "");
		break;
	case FAULT_EXCEPTION:
		text_format(t, "%s (vector %lu, error code 0x%lx)", exception_name(f->word[3]), f->word[3], f->word[4]);
		break;
	case FAULT_SYSCALL:
		text_format(t, "unknown system call %lu", f->word[2]);
		break;
	default:
		text_format(t, "fault %u", f->fault);
	}
}

static void print_registers(uint32_t cluster, uint32_t application, const struct thread_registers *r)
{
	static const char *const name[] = {
		"rip", "rsp", "rflags", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "fs", "gs",
	};
	const uint64_t *value = (const uint64_t *)r;
	for (unsigned i = 0; i < THREAD_REGISTER_WORDS; i += 4) {
		char buffer[160];
		struct text t = TEXT(buffer);
		for (unsigned j = i; j < i + 4; j++)
			text_format(&t, "%s%s 0x%lx", j == i ? "  " : "  ", name[j], value[j]);
		console_line(cluster, application, buffer, t.length);
	}
}

void fault_publish(const struct report_fault *f)
{
	char cause[128], buffer[256];
	struct text what = { .data = cause, .size = sizeof(cause) - 1 };
	struct text line = TEXT(buffer);
	uint32_t cluster = map->application[f->application].cluster;
	fault_describe(f, &what);
	cause[what.length] = 0;
	text_format(&line, "killed: %s, rip 0x%lx, rsp 0x%lx", cause, f->word[0], f->word[1]);
	console_line(cluster, f->application, buffer, line.length);
	if (f->registers_known)
		print_registers(cluster, f->application, &f->registers);

	struct text *t = results_begin("fault");
	results_application(t, f->application);
	text_format(t, ",\"cause\":");
	text_json_string(t, cause);
	text_format(t, ",\"rip\":%lu,\"rsp\":%lu", f->word[0], f->word[1]);
	if (f->fault == FAULT_PAGE)
		text_format(t, ",\"address\":%lu", f->word[2]);
	results_end(t);
}

uint32_t fault_signal(uint64_t fault, uint64_t vector)
{
	enum { ILLEGAL = 4, TRAP = 5, BUS = 7, ARITHMETIC = 8, SEGMENT = 11, BAD_CALL = 31 };
	if (fault == FAULT_SYSCALL)
		return BAD_CALL;
	if (fault == FAULT_PAGE)
		return SEGMENT;
	switch (vector) {
	case 0:
	case 16:
	case 19:
		return ARITHMETIC;
	case 1:
	case 3:
		return TRAP;
	case 6:
		return ILLEGAL;
	case 17:
		return BUS;
	default:
		return SEGMENT;
	}
}
