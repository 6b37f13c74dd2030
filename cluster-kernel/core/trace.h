/* SPDX-License-Identifier: BSD-2-Clause */
/* The last events of a core, for the report of a panic; written by "+stat" images. */
#pragma once

#include <stdint.h>

enum { TRACE_EVENTS = 32 };
enum trace_kind { TRACE_NOTHING, TRACE_SYSCALL, TRACE_INTERRUPT, TRACE_FAULT, TRACE_SWITCH };

struct trace_event {
	uint64_t time; /* TSC */
	uint32_t kind;
	uint32_t number;   /* system call, vector, fault */
	uint64_t argument; /* capability pointer, thread */
};

struct trace {
	uint64_t count;
	struct trace_event event[TRACE_EVENTS];
};

static inline const char *trace_name(uint32_t kind)
{
	static const char *const names[] = { "nothing", "syscall", "interrupt", "fault", "switch" };
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}
