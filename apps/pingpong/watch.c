/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "pingpong.h"
#include "shared.h"

enum { WATCH_PRIORITY = MAIN_PRIORITY + 10, MARGIN = 64 };

struct watch {
	_Atomic uint64_t active;  /* what comes now counts */
	_Atomic uint64_t delay;   /* from the clock reading before the wait to its deadline */
	_Atomic uint64_t longest; /* from that reading to the one after the wait */
	_Atomic uint64_t wakes;
	_Atomic uint64_t before;
};
_Static_assert(offsetof(struct watch, delay) == WATCH_DELAY && offsetof(struct watch, longest) == WATCH_LONGEST &&
               offsetof(struct watch, wakes) == WATCH_WAKES && offsetof(struct watch, before) == WATCH_BEFORE,
               "as watch.S has it");

static struct watch watch;
static uint64_t watcher;
static uint64_t away; /* from the watching thread's clock reading to the main thread's next instruction */
static uint64_t back; /* from a deadline that finds the main thread at user level to the clock reading */

extern const char watch_thread[];

static void next_wake(void)
{
	for (uint64_t seen = watch.wakes; watch.wakes == seen;)
		;
}

static void watch_begin(uint64_t delay)
{
	watch.delay = delay;
	watch.longest = 0;
	check_ok(tcb_resume(watcher)); /* it goes on with the wait it was stopped in, which does not count */
	next_wake();
	watch.wakes = 0;
	watch.active = 1;
}

static void watch_end(void)
{
	next_wake(); /* for what is pending */
	watch.active = 0;
	check_ok(tcb_suspend(watcher));
}

/*
 * While the main thread only reads the clock. The way back to it is not always as long (a time slice ends, a deadline
 * is another's, the core beats): with a delay that is shorter than the longest, the watching thread would leave it no
 * instruction for ever.
 */
static void watch_calibrate(void)
{
	enum { LONG = 20000, WAKES = 16 };
	watch_begin(LONG);
	next_wake();
	away = 0;
	for (unsigned i = 0; i < WAKES; i++) {
		uint64_t seen = watch.wakes, now;
		do
			now = read_tsc();
		while (watch.wakes == seen || now < watch.before);
		if (now - watch.before > away)
			away = now - watch.before;
	}
	watch_end();
	back = watch.longest - LONG;
	check(away < LONG / 2 && back < LONG);
}

void watch_init(void)
{
	struct thread_registers registers = {
		.rip = (uint64_t)watch_thread, .rbx = (uint64_t)&watch, .r13 = SYS_WAIT,
		.r15 = object(OBJECT_NOTIFICATION, 0),
	};
	watcher = object(OBJECT_TCB, 0);
	check_ok(tcb_configure(IPC, watcher, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	check_ok(tcb_schedule(IPC, watcher, ROOT_SLOT_TCB, WATCH_PRIORITY, 0));
	check_ok(tcb_write_registers(IPC, watcher, 0, &registers));
	watch_calibrate();
}

struct stretch watch_run(void (*run)(void))
{
	watch_begin(away + MARGIN);
	run();
	watch_end();
	return (struct stretch){
		.delay = watch.longest > away + back ? watch.longest - away - back : 0,
		.response = watch.longest > away ? watch.longest - away : 0,
		.wakes = watch.wakes,
	};
}

static void report_stretch(const char *name, const struct stretch *s)
{
	struct text line = LINE;
	text_format(&line, "{\"event\":\"latency\",\"name\":");
	text_json_string(&line, name);
	text_format(&line, ",\"delay\":%lu,\"response\":%lu,\"entries\":%lu}\n", (uint64_t)s->delay,
	            (uint64_t)s->response, (uint64_t)s->wakes);
	output_results(&line);
}

/* Returns the longest hold of a lock of the kernel as a whole, whichever the regime has. */
static uint64_t held_longest(void)
{
	uint64_t longest = 0;
	for (unsigned i = LOCK_CLASS_KERNEL; i <= LOCK_CLASS_WRITE; i++)
		if (STAT->lock[i].hold_max > longest)
			longest = STAT->lock[i].hold_max;
	return longest;
}

void latency_measure(void)
{
	for (unsigned i = 0; i < operation_count; i++) {
		watch_init();
		operations[i].prepare();
		struct stretch s = watch_run(operations[i].run);
		report_stretch(operations[i].name, &s);
		memory_reset();
	}
	/* a +stat kernel's own opinion, of everything up to now */
	struct text line = LINE;
	text_format(&line, "{\"event\":\"latency-held\",\"longest\":%lu}\n", held_longest());
	output_results(&line);
}
