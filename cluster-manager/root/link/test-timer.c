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
static uint64_t arrives; /* a signal that ends a wait earlier; 0: none */
static void wait_until(uint64_t deadline)
{
	now = arrives && arrives < deadline ? arrives : deadline > now ? deadline : now;
	if (now == arrives)
		arrives = 0;
}
enum { OF_TIMER = 1, OF_ALARM = 2 };
static unsigned alarms;
#define notification_wait(slot, deadline, word) ((void)(slot), wait_until(deadline))
#define notification_signal(slot) ((slot) == OF_ALARM ? (void)alarms++ : (void)signals++)
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

/* Alarms come between ticks, at their time and once, and no tick comes earlier or later for them. */
static void alarm_ends_no_wait(void)
{
	atomic_store(&hurries, false);
	now = 1000;
	signals = 0;
	wait_for_tick(2000);
	CHECK(now == 2000 && !alarms);
	timer_alarm(2500);
	CHECK(signals == 1); /* the thread looks at it */
	timer_alarm(2600);
	CHECK(signals == 1); /* it wakes before that, and looks */
	arrives = 2100;
	wait_for_tick(3000);
	CHECK(now == 3000 && alarms == 1 && !alarm_at);
	timer_alarm(3500);
	timer_alarm(0);
	wait_for_tick(4000);
	CHECK(now == 4000 && alarms == 1);
	timer_hurry();
	arrives = 4100;
	wait_for_tick(5000);
	CHECK(now == 4100); /* the next tick is due at once */
	timer_alarm(4000);
	wait_for_tick(5000);
	CHECK(now == 5000 && alarms == 2);
}

int main(void)
{
	timer_init(OF_TIMER, OF_ALARM);
	timer_soon();
	timer_soon(); /* the tick after the next one is to come soon already */
	CHECK(signals == 1 && is_soon);
	CHECK(timer_priority > main_priority && main_priority == MANAGER_PRIORITY);
	alarm_ends_no_wait();
	return failures != 0;
}
