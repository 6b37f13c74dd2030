/* SPDX-License-Identifier: BSD-2-Clause */
/* The tests' set-up and objects in either port. */
#include "ktest.h"

static uint64_t never; /* a notification that nobody signals */

void tests_init(void)
{
	memory_init();
	gigabyte_init();
	worker_init();
	never = slot();
	check_ok(untyped_retype(IPC, test_memory(), OBJECT_NOTIFICATION, 0, ROOT_SLOT_CNODE, never, 1));
}

void tests_reset(void)
{
	worker_reset();
	memory_reset();
	gigabyte_reset();
}

static bool has_neighbour(void) { return ROOT->memory_control && ROOT->controlled_count; }

bool test_possible(const struct test *test)
{
	static bool (*const has[])(void) = { has_devices, has_peer, has_gigabyte, has_msi, has_processor,
	                                     has_neighbour };
	for (unsigned i = 0; i < sizeof(has) / sizeof(has[0]); i++)
		if ((test->needs >> i & 1) && !has[i]())
			return false;
	return cores() >= test->cores;
}

bool kernel_is(const char *regime)
{
	const char *kernel = ROOT->kernel_name;
	while (*regime && *kernel == *regime)
		kernel++, regime++;
	/* "fine+stat"; in the hosted port, "fine.h" */
	return !*regime && (!*kernel || *kernel == '+' || *kernel == '.');
}

bool passed(uint64_t deadline) { return read_tsc() >= deadline; }

bool timeout_over(struct timeout *timeout)
{
	test_progress(); /* it is for the caller to give up, not for the watchdog */
	return ++timeout->looks > LOOKS && passed(timeout->deadline);
}

void pause_main(void)
{
	test_pause();
	notification_wait(never, read_tsc() + ROOT->tsc_hz / 10000, 0);
}

void sleep_ms(unsigned ms)
{
	uint64_t deadline = deadline_ms(ms);
	while (!passed(deadline))
		notification_wait(never, deadline, 0);
}

void spin_ms(unsigned ms)
{
	uint64_t deadline = deadline_ms(ms);
	while (!passed(deadline))
		pause_turn();
}

enum { GIGABYTE_BITS = 30 };

static uint64_t gigabyte;

uint64_t gigabyte_memory(void) { return gigabyte; }

/* Takes it from the first untyped that has room. */
void gigabyte_init(void)
{
	uint64_t cap = slot();
	for (unsigned i = 0; i < ROOT->untyped_count && !gigabyte; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_ORDINARY &&
		    untyped_retype(IPC, ROOT_SLOT_UNTYPED + i, OBJECT_UNTYPED, GIGABYTE_BITS, ROOT_SLOT_CNODE, cap,
		                   1) == 0)
			gigabyte = cap;
}

void gigabyte_reset(void)
{
	if (gigabyte)
		cnode_revoke(ROOT_SLOT_CNODE, gigabyte);
}

uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}
