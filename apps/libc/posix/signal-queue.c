/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that are pending, of all threads and of the process, in the order of their arrival. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "signals.h"

enum { FIRST_QUEUED = 32 /* those below are pending once at most */, QUEUE = 64 };

static struct pending_signal queue[QUEUE];
static unsigned queued;
int timer_overruns[TIMERS];

static void remove_at(unsigned i)
{
	require(i < queued && queued <= QUEUE);
	queued--;
	memmove(&queue[i], &queue[i + 1], (queued - i) * sizeof(queue[0]));
}

void signal_drop(int number)
{
	for (unsigned i = queued; i-- > 0;)
		if (queue[i].number == number)
			remove_at(i);
}

#ifdef LAYER_FAMILY
void signal_drop_all(void) { queued = 0; }

unsigned signal_list(const struct signal_state *s, struct pending_signal *list, unsigned most)
{
	unsigned count = 0;

	for (unsigned i = 0; i < queued && count < most; i++)
		if (!queue[i].to || queue[i].to == s)
			list[count++] = queue[i];
	return count;
}
#endif

void signal_thread_end(const struct thread *thread)
{
	for (unsigned i = queued; i-- > 0;)
		if (queue[i].to == signal_state_of(thread))
			remove_at(i);
}

static bool is_for(const struct pending_signal *p, const struct signal_state *s) { return !p->to || p->to == s; }

uint64_t signal_pending(const struct signal_state *s)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < queued; i++)
		if (is_for(&queue[i], s))
			set |= SIGNAL_BIT(queue[i].number);
	return set;
}

uint64_t signal_pending_to(const struct signal_state *s)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < queued; i++)
		if (queue[i].to == s)
			set |= SIGNAL_BIT(queue[i].number);
	return set;
}

bool signal_any(void) { return __atomic_load_n(&queued, __ATOMIC_RELAXED); }

bool signal_overrun(int timer, int times)
{
	for (unsigned i = 0; i < queued; i++)
		if (queue[i].timer == timer) {
			if (__builtin_add_overflow(queue[i].overrun, times, &queue[i].overrun))
				queue[i].overrun = INT_MAX; /* DELAYTIMER_MAX */
			return true;
		}
	return false;
}

long signal_put(const struct pending_signal *p)
{
	for (unsigned i = 0; i < queued && p->number < FIRST_QUEUED; i++)
		if (queue[i].to == p->to && queue[i].number == p->number)
			return 0;
	if (queued == QUEUE)
		return -EAGAIN;
	require(p->number >= 1 && p->number <= SIGNALS && queued < QUEUE);
	queue[queued++] = *p;
	return 0;
}

/* The thread's own come before the process's, low numbers before high ones, and then the one that came first. */
bool signal_take(const struct signal_state *s, uint64_t set, struct pending_signal *out)
{
	int best = 2 * SIGNALS + 1;
	unsigned found = 0;

	for (unsigned i = 0; i < queued; i++) {
		const int rank = queue[i].number + (queue[i].to ? 0 : SIGNALS);

		if (is_for(&queue[i], s) && set & SIGNAL_BIT(queue[i].number) && rank < best) {
			best = rank;
			found = i;
		}
	}
	if (best > 2 * SIGNALS)
		return false;
	*out = queue[found];
	if (out->timer)
		timer_overruns[out->timer - 1] = out->overrun; /* also of one that is ignored */
	remove_at(found);
	return true;
}
