/* SPDX-License-Identifier: BSD-2-Clause */
/* The heartbeat waits for no other thread of the manager, whatever that does. */
#define _GNU_SOURCE
#include "channel.h"
#include "memory.h"
#include "root.h"
#include "test-check.h"
#include "thread.h"

static unsigned main_priority = 255, timer_priority; /* the kernel starts the root task with 255 */

static int schedule_main(uint64_t tcb, uint64_t authority, unsigned priority, unsigned core)
{
	CHECK(tcb == ROOT_SLOT_TCB && authority == ROOT_SLOT_TCB && core == 0);
	main_priority = priority;
	return 0;
}

#define tcb_schedule(ipc, tcb, authority, priority, core) schedule_main(tcb, authority, priority, core)
static uint64_t now;
static unsigned signals;
#define read_tsc() (now)
#define notification_wait(slot, deadline, word) ((void)(slot), (void)(deadline))
#define notification_signal(slot) ((void)(slot), signals++)
#include "timer.c"

void channels_heartbeat(void) {}
void sign_tick(void) {}
void watch_tick(void) {}
int memory_object(enum skerry_object type, unsigned size_bits)
{
	return type == OBJECT_NOTIFICATION && !size_bits ? 7 : -1;
}

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	__builtin_exit(1);
}

int thread_make(const char *name, void (*entry)(void), char *stack_top, unsigned priority)
{
	CHECK(name && entry == timer_main && stack_top > stack);
	timer_priority = priority;
	return 1;
}

int main(void)
{
	timer_init(1);
	timer_soon();
	timer_soon(); /* the tick after the next one is to come soon already */
	CHECK(signals == 1 && is_soon);
	CHECK(timer_priority > main_priority && main_priority == MANAGER_PRIORITY);
	return failures != 0;
}
