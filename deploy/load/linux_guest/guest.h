/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first process of the Linux guest: it starts what /plan says, on the
 * cores that it says, and reports on the second serial port in lines of JSON,
 * as the cluster-managers of Skerry do.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { MAX_ARGUMENTS = 64, MAX_PROCESSES = 256, PLAN_BYTES = 1 << 18 };

struct process {
	int cpu;
	char *name; /* "redis@1" */
	int port;   /* servers: TCP port on which they answer PING; 0: a client */
	char *argv[MAX_ARGUMENTS + 1];
	pid_t pid;
	bool running;
};

struct plan {
	struct process processes[MAX_PROCESSES];
	int count;
	int clients;
	const char *rendezvous; /* where the clients meet, or NULL */
	bool symbols;           /* a profile is wanted */
};

/* Every failure of these ends the guest with an event "error": nobody could use what would come. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
__attribute__((noreturn)) void power_off(void);
unsigned long long now_ns(void); /* since the kernel started */

/* One line on the second serial port. */
__attribute__((format(printf, 1, 2))) void event(const char *format, ...);

void set_up(void); /* file systems, event port, modules, network */
void read_plan(struct plan *plan, const char *path);

/* Memory of each server and of the whole; ticks that every core was busy and idle. */
void report_memory(const struct plan *plan, const char *when);
void report_cores(const char *when);

/* What names the code of servers and kernel (symbols.c). */
void report_symbols(const struct plan *plan);
