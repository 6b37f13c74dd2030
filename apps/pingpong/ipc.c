/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "pingpong.h"

enum { WARM_UP = 96 }; /* rounds before those that count: page tables, TLB tags, caches, a core's bias (lock/bias.h) */

/* One kind of system call, or two that belong together. */
struct measure {
	const char *name[2]; /* what log A and log B hold; the second may be null */
	void (*run)(const struct measure *measure); /* starts the threads */
	uint64_t call;       /* enum skerry_syscall */
	uint64_t info;       /* of the message, both ways */
	unsigned spaces;     /* IPC: 2, or 1 where client and server share theirs */
};

static uint64_t new_notification(void) { return badged(object_of(0, OBJECT_NOTIFICATION), 1, RIGHT_ALL); }

static void run_alone(const char *entry, uint64_t call, uint64_t cap, uint64_t info)
{
	struct thread_registers registers = { .r13 = call, .r15 = cap, .rbp = info };
	check_ok(tcb_resume(thread_new(space_new(), 0, entry, registers)));
}

static void run_empty(const struct measure *m) { run_alone(thread_empty, 0, 0, 0); }
static void run_yield(const struct measure *m) { run_alone(thread_single, m->call, 0, 0); }
static void run_notification(const struct measure *m) { run_alone(thread_single, m->call, new_notification(), 0); }
static void run_endpoint(const struct measure *m)
{
	run_alone(thread_single, m->call, object_of(0, OBJECT_ENDPOINT), m->info);
}

/* The word is empty before each Signal: a Poll has taken it. */
static void run_signal(const struct measure *m)
{
	uint64_t cap = new_notification();
	shared->prepare_call = SYS_POLL;
	shared->prepare_cap = cap;
	run_alone(thread_prepared, m->call, cap, 0);
}

/* The word is set before each Wait: a Signal has. */
static void run_wait(const struct measure *m)
{
	uint64_t cap = new_notification();
	shared->prepare_call = SYS_SIGNAL;
	shared->prepare_cap = cap;
	run_alone(thread_prepared, m->call, cap, 0);
}

static void run_yield_switch(const struct measure *m)
{
	struct thread_registers registers = { .r13 = m->call };
	uint64_t a = thread_new(space_new(), 0, thread_switch, registers);
	uint64_t b = thread_new(space_new(), 0, thread_switch, registers);
	check_ok(tcb_resume(a));
	check_ok(tcb_resume(b));
}

/* Each wakes the other and sleeps. */
static void run_signal_wait(const struct measure *m)
{
	uint64_t one = new_notification(), other = new_notification();
	struct thread_registers waits = { .r13 = m->call, .r15 = other, .r12 = one, .rax = SYS_WAIT, .rdi = other };
	struct thread_registers begins = { .r13 = m->call, .r15 = one, .r12 = other };
	check_ok(tcb_resume(thread_new(space_new(), 0, thread_switch_begun, waits)));
	others_run();
	check_ok(tcb_resume(thread_new(space_new(), 0, thread_switch, begins)));
}

static void run_ipc(const struct measure *m)
{
	uint64_t endpoint = object_of(0, OBJECT_ENDPOINT), reply = object_of(0, OBJECT_REPLY);
	uint64_t send = badged(endpoint, 1, RIGHT_WRITE);
	uint64_t there = space_new(), here = m->spaces == 1 ? there : space_new();
	struct thread_registers client = { .r13 = m->call, .r15 = send, .rbp = m->info };
	struct thread_registers server = { .r13 = SYS_REPLY_RECV, .r15 = endpoint, .rbp = m->info,
	                                   .rax = SYS_RECV, .rdi = endpoint, .r12 = reply };
	check_ok(tcb_resume(thread_new(there, 0, thread_server, server)));
	others_run(); /* it receives before the client is ready, so that no time slice is ever begun */
	check_ok(tcb_resume(thread_new(here, 1, thread_client, client)));
}

/* One capability is to be sent, so the fast path declines; the client's may not grant, so none is. */
enum { CAPABILITY = 1 << 7 };

static const struct measure measures[] = {
	{ { "empty" }, .run = run_empty },
	{ { "call", "reply_recv" }, .run = run_ipc, .call = SYS_CALL, .info = 0, .spaces = 2 },
	{ { "call_1", "reply_recv_1" }, .run = run_ipc, .call = SYS_CALL, .info = 1, .spaces = 2 },
	{ { "call_2", "reply_recv_2" }, .run = run_ipc, .call = SYS_CALL, .info = 2, .spaces = 2 },
	{ { "call_3", "reply_recv_3" }, .run = run_ipc, .call = SYS_CALL, .info = 3, .spaces = 2 },
	{ { "call_4", "reply_recv_4" }, .run = run_ipc, .call = SYS_CALL, .info = 4, .spaces = 2 },
	{ { "call_same_vspace", "reply_recv_same_vspace" }, .run = run_ipc, .call = SYS_CALL, .info = 0, .spaces = 1 },
	{ { "slow_call_0", "slow_reply_recv_0" }, .run = run_ipc, .call = SYS_CALL, .info = CAPABILITY, .spaces = 2 },
	{ { "slow_call", "slow_reply_recv" }, .run = run_ipc, .call = SYS_CALL, .info = 5, .spaces = 2 },
	{ { "slow_call_10", "slow_reply_recv_10" }, .run = run_ipc, .call = SYS_CALL, .info = 10, .spaces = 2 },
	{ { "slow_call_120", "slow_reply_recv_120" }, .run = run_ipc, .call = SYS_CALL, .info = 120, .spaces = 2 },
	{ { "signal" }, .run = run_signal, .call = SYS_SIGNAL },
	{ { "wait" }, .run = run_wait, .call = SYS_WAIT },
	{ { "poll" }, .run = run_notification, .call = SYS_POLL },
	{ { "nb_send" }, .run = run_endpoint, .call = SYS_NB_SEND },
	{ { "yield" }, .run = run_yield, .call = SYS_YIELD },
	{ { "yield_switch" }, .run = run_yield_switch, .call = SYS_YIELD },
	{ { "signal_wait" }, .run = run_signal_wait, .call = SYS_SIGNAL_WAIT },
};

static void sort_log(uint32_t *a, unsigned count)
{
	for (unsigned gap = count / 2; gap; gap /= 2)
		for (unsigned i = gap; i < count; i++)
			for (unsigned j = i; j >= gap && a[j - gap] > a[j]; j -= gap) {
				uint32_t swapped = a[j];
				a[j] = a[j - gap];
				a[j - gap] = swapped;
			}
}

static void report_log(const char *name, uint32_t *log, unsigned count)
{
	struct text line = LINE;
	sort_log(log, count);
	text_format(&line, "{\"event\":\"pingpong\",\"name\":");
	text_json_string(&line, name);
	text_format(&line, ",\"rounds\":%u,\"min\":%u,\"median\":%u,\"max\":%u}\n", count, log[0], log[count / 2],
	            log[count - 1]);
	output_results(&line);
}

static void measure_one(const struct measure *m, unsigned rounds)
{
	shared_make(WARM_UP + rounds);
	m->run(m);
	shared_wait();
	check_eq(shared->errors, 0);
	report_log(m->name[0], (uint32_t *)((char *)shared + SHARED_LOG_A) + WARM_UP, rounds);
	if (m->name[1])
		report_log(m->name[1], (uint32_t *)((char *)shared + SHARED_LOG_B) + WARM_UP, rounds);
	memory_reset();
}

void ipc_measure(unsigned rounds)
{
	for (unsigned i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		measure_one(&measures[i], rounds);
}
