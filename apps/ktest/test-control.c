/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own settings: which locks it takes, changed while it is used. */
#include "ktest.h"

enum { CHANGES = 40, AT_EACH = 20, CLIENTS = 4 };

static int order(enum granularity target)
{
	bool under_way;
	return control_granularity(ROOT_SLOT_CONTROL, target, &under_way);
}

static bool is_so(enum granularity target)
{
	bool under_way;
	check_ok(control_granularity(ROOT_SLOT_CONTROL, target, &under_way));
	return !under_way;
}

TEST(granularities, 1, 0, "control: a kernel has the granularities of its regime")
{
	int missing = -SKERRY_BAD_ARGUMENT;
	check_eq(order(GRANULARITY_COARSE), kernel_is("fine") ? missing : 0);
	check_eq(order(GRANULARITY_FINE), kernel_is("fine") || kernel_is("dynamic") ? 0 : missing);
	if (kernel_is("dynamic"))
		until(is_so(GRANULARITY_COARSE));
}

TEST(refused, 1, 0, "control: TRUNCATED, BAD_LABEL and BAD_ARGUMENT")
{
	struct message m = { .word = { GRANULARITY_FINE + 1 }, .info = message_info(CONTROL_GRANULARITY, 0, 1) };
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), BAD_ARGUMENT);
	m.info = message_info(CONTROL_GRANULARITY, 0, 0);
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), TRUNCATED);
	m.info = message_info(CONTROL_GRANULARITY + 1, 0, 1);
	check_error(ipc_call(ROOT_SLOT_CONTROL, &m), BAD_LABEL);
}

TEST(changed, 1, 0, "control: no message is lost while the granularity changes to and fro")
{
	struct traffic load;
	traffic_begin(&load);
	for (unsigned i = 0; i < CHANGES; i++) {
		enum granularity target = i % 2 ? GRANULARITY_COARSE : GRANULARITY_FINE;
		uint64_t before = traffic_least(&load);
		if (kernel_is("dynamic"))
			until(is_so(target));
		until(traffic_least(&load) >= before + AT_EACH);
	}
	traffic_end(&load);
}

/* Waits, each time for a moment only. */
static void sleeper(struct worker *self)
{
	while (!self->out[0]) {
		int ended = notification_wait(self->arg[0], read_tsc() + ROOT->tsc_hz / 5000, 0);
		if (ended != -SKERRY_TIMED_OUT)
			check_ok(ended);
		self->out[ended ? 2 : 1]++;
	}
}

TEST(woken, 2, 0, "control: no wake-up of another core is lost in a deadline, whatever the granularity")
{
	bool changes = kernel_is("dynamic");
	struct worker *s[CLIENTS];
	for (unsigned i = 0; i < CLIENTS; i++)
		s[i] = worker_start(sleeper, 50, 1 + i % last_core(), object(OBJECT_NOTIFICATION, 0), 0);
	for (unsigned round = 0; round < CHANGES; round++) {
		if (changes)
			until(is_so(round % 8 < 6 ? GRANULARITY_FINE : GRANULARITY_COARSE));
		for (unsigned i = 0; i < CLIENTS; i++)
			check_ok(notification_signal(s[i]->arg[0]));
		for (unsigned i = 0; i < CLIENTS; i++)
			until(s[i]->out[1] > round);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		s[i]->out[0] = 1;
		until(s[i]->done);
		check_eq(s[i]->out[1], CHANGES);
	}
	if (changes)
		until(is_so(GRANULARITY_COARSE));
}
