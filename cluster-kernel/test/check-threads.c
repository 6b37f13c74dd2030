/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "endpoint.h"
#include "frame.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"
#include "timer.h"
#include "vspace.h"

static bool in_queue(const struct thread_queue *queue, const struct thread *thread)
{
	const struct thread *t = queue->head;
	while (t && t != thread)
		t = t->next;
	return t != 0;
}

static void check_queue(const struct thread_queue *queue)
{
	const struct thread *previous = 0;
	for (const struct thread *t = queue->head; t; previous = t, t = t->next)
		CHECK(t->previous == previous, "a queue is not doubly linked", t, t->previous);
	CHECK(queue->tail == previous, "a queue's tail is not its last thread", queue->tail, previous);
}

static void check_timer(const struct world *world, const struct thread *thread)
{
	const struct thread *top = thread;
	if (!thread->in_timers && !thread->timer.kept)
		return;
	while (top->timer.parent)
		top = top->timer.parent;
	CHECK(top == world->kernel->cpu[thread->core]->shared.timers.heap[thread->timer.level],
	      "a thread's deadline is not where it says", thread, top);
	CHECK(thread->timer.level == (thread->moves ? PRIORITIES - 1u : thread->priority),
	      "a thread's deadline is in the wrong heap", thread, thread->timer.level);
	/* where its core has not looked for it yet, the deadline is still there (core/schedule.h) */
	CHECK(thread->state == THREAD_WAITING || thread->timer.kept || thread->queued == THREAD_REQUEUED,
	      "a thread has a deadline and waits for nothing", thread, thread->state);
}

/* At rest a core's thread has raised it; a waiting thread has been reported, or waits for something else. */
static void check_trap(const struct thread *thread)
{
	CHECK(!thread->context.raise || thread->state == THREAD_INACTIVE || thread->queued,
	      "a thread goes on, or waits, with a trap to raise", thread, thread->state);
	CHECK(!thread->context.raise || !thread->faulting, "a trap is reported, and to be raised again", thread,
	      thread->state);
	CHECK(!thread->context.raise || !thread->context.again, "a thread has both a call and a trap to make again",
	      thread, 0);
}

static void check_ready(const struct world *world, const struct thread *thread)
{
	unsigned runs = 0;
	for (unsigned c = 0; c < world->kernel->cpu_count; c++)
		runs += world->kernel->cpu[c]->shared.current == thread;
	if (thread->state == THREAD_READY) {
		CHECK(runs + (thread->queued != 0) == 1, "a ready thread is not in exactly one place", runs,
		      thread->queued);
		CHECK(!runs || world->kernel->cpu[thread->core]->shared.current == thread,
		      "a thread runs on a core not its own",
		      thread, thread->core);
	} else {
		CHECK(!runs && !thread->queued, "a thread that is not ready runs, or is queued to", thread->state,
		      thread->queued);
	}
}

static void check_waiting(const struct world *world, const struct thread *t)
{
	bool in_endpoint = t->state == THREAD_SENDING || t->state == THREAD_RECEIVING;
	bool has_reply = t->state == THREAD_REPLY;
	CHECK((t->notification != 0) == (t->state == THREAD_WAITING), "a thread's notification and its state disagree",
	      t->state, t->notification);
	CHECK(t->state != THREAD_AWAY, "a thread's call is away at rest", t, t->away_at);
	if (in_endpoint) {
		CHECK(world_find(world, OBJECT_ENDPOINT, (uint64_t)t->endpoint), "a thread waits for a dead endpoint",
		      t, 0);
		CHECK(in_queue(t->state == THREAD_SENDING ? &t->endpoint->senders : &t->endpoint->receivers, t),
		      "a thread is not in its endpoint's queue", t, t->endpoint);
	}
	if (t->state == THREAD_WAITING) {
		CHECK(world_find(world, OBJECT_NOTIFICATION, (uint64_t)t->notification),
		      "a thread waits for a dead notification",
		      t, 0);
		CHECK(in_queue(&t->notification->waiters, t), "a thread is not in its notification's queue", t,
		      t->notification);
	}
	if (has_reply || (t->state == THREAD_RECEIVING && t->reply)) {
		CHECK(world_find(world, OBJECT_REPLY, (uint64_t)t->reply), "a thread hangs on a dead reply object", t,
		      t->reply);
		CHECK(t->reply->thread == t, "a thread's reply object does not know it", t, t->reply);
	}
	CHECK(!t->faulting || has_reply || (t->state == THREAD_SENDING && t->calling), "a fault outlives its message",
	      t->state, t->calling);
}

static void check_thread(const struct world *world, const struct thread *t)
{
	const struct slot *buffer = &t->slot[THREAD_IPC_BUFFER];
	CHECK(t->core < world->kernel->cpu_count && t->next_core < world->kernel->cpu_count &&
	      t->moves == (t->core != t->next_core), "a thread has no core, or two", t,
	      t->core);
	CHECK(t->scheduled || t->state == THREAD_INACTIVE, "a thread runs, or waits, that nobody has given a core", t,
	      t->state);
	for (unsigned core = world->kernel->cpu_count; core < CORE_SET_WORDS * CORE_SET_BITS; core++)
		CHECK(!core_set_has(&t->cores, core), "a thread may use a core that its kernel cannot have", t, core);
	check_ready(world, t);
	check_timer(world, t);
	check_trap(t);
	check_waiting(world, t);
	if (t->bound) {
		CHECK(world_find(world, OBJECT_NOTIFICATION, (uint64_t)t->bound),
		      "a thread is bound to a dead notification", t, 0);
		CHECK(t->bound->bound == t, "a binding is one-sided", t, t->bound);
	}
	bool held = false;
	for (unsigned c = 0; c < world->kernel->cpu_count; c++)
		held |= world->kernel->cpu[c]->own.loaded_thread == t;
	CHECK(held == t->loaded, "a thread's state is not where it says", t, t->loaded);
	if (!slot_empty(buffer)) {
		uint64_t offset = physical(t->ipc_buffer_address) - buffer->cap.object;
		CHECK(offset + sizeof(struct ipc_buffer) <= 1ull << frame_bits(buffer->cap.type),
		      "an IPC buffer is outside its frame", t, offset);
		CHECK(buffer->cap.rights & RIGHT_WRITE, "an IPC buffer is in a frame that may only be read", t,
		      buffer->cap.rights);
		CHECK(!(buffer->cap.flags & CAP_DEVICE), "an IPC buffer is in memory that is not the kernel's to touch",
		      t, 0);
	}
}

static void check_run_queue(const struct cpu *cpu)
{
	const struct run_queue *queue = &cpu->shared.ready;
	for (unsigned p = 0; p < PRIORITIES; p++) {
		const struct thread *previous = 0;
		for (const struct thread *t = queue->level[p].head; t; previous = t, t = t->next) {
			CHECK(t->queued == THREAD_QUEUED && t->state == THREAD_READY && t->priority == p &&
			      t->core == cpu->own.index, "a thread is in the wrong run queue", t, p);
			CHECK(t->previous == previous, "a run queue is not doubly linked", t, p);
		}
		CHECK(queue->level[p].tail == previous, "a run queue's tail is not its last thread", p, previous);
		CHECK((queue->bitmap[p / 64] >> p % 64 & 1) == (previous != 0), "the bitmap of a run queue is wrong", p,
		      previous);
	}
}

/* Deadlines grow downwards, the right spine is the shortest way. Returns its length. */
static unsigned check_heap(const struct cpu *cpu, const struct thread *t, const struct thread *parent)
{
	if (!t)
		return 0;
	CHECK(t->timer.parent == parent && !t->in_timers == t->timer.kept && t->core == cpu->own.index,
	      "a heap of deadlines has a stranger", t, parent);
	CHECK(!parent || parent->deadline <= t->deadline, "a heap of deadlines is out of order", t, t->deadline);
	unsigned left = check_heap(cpu, t->timer.left, t), right = check_heap(cpu, t->timer.right, t);
	CHECK(left >= right && t->timer.rank == right + 1, "a heap of deadlines leans to the wrong side", left, right);
	return right + 1;
}

/* Also the tournament tree above the heaps. */
static void check_timers(const struct cpu *cpu)
{
	const struct timers *timers = &cpu->shared.timers;
	for (unsigned p = 0; p < PRIORITIES; p++) {
		const struct thread *root = timers->heap[p];
		check_heap(cpu, root, 0);
		CHECK(!root || timers->first[PRIORITIES + p] - 1 < root->deadline,
		      "the first deadline of a priority is too late", p, root);
	}
	for (unsigned i = 1; i < PRIORITIES; i++)
		CHECK(timers->first[i] == timer_earlier(timers->first[2 * i], timers->first[2 * i + 1]),
		      "the earlier of two deadlines is wrong", i, timers->first[i]);
}

/* A core polls for those doorbells of other machines that are routed to it. */
static void check_polling(const struct world *world, const struct cpu *cpu)
{
	uint32_t bells = 0, all = 0;
	for (unsigned c = 0; c < world->kernel->channel_count; c++)
		for (unsigned number = 0; number < DOORBELL_COUNT; number++) {
			const struct channel_end *end = &world->kernel->channel[c];
			bool bound = !slot_empty(&end->listener[number].notification);
			CHECK(bound == (end->route[number] != DOORBELL_UNBOUND),
			      "a doorbell's route does not fit its listener", number, end->route[number]);
			bells += end->remote && end->route[number] == cpu->own.index;
			all += end->route[number] == cpu->own.index;
		}
	CHECK(all == world->kernel->doorbells[cpu->own.index], "doorbells of a core are counted wrongly", all,
	      world->kernel->doorbells[cpu->own.index]);
	CHECK(bells == cpu->shared.remote_bells, "a core polls for other doorbells than are routed to it", bells,
	      cpu->shared.remote_bells);
	CHECK(!bells || (cpu->own.poll_at && !core_set_has(&world->kernel->unpolled, cpu->own.index)),
	      "a core does not poll for its doorbells", bells,
	      cpu->own.poll_at);
}

/* Threads that others have woken change nothing of what the core does: it need not look. */
static void check_requeued(const struct cpu *cpu)
{
	const uint64_t word = thread_stack_word(&cpu->shared.requeue);
	const unsigned level = schedule_core_level(cpu);
	unsigned count = 0;
	for (const struct thread *t = stack_last(word); t; t = t->next, count++) {
		CHECK(t->queued == THREAD_REQUEUED && t->state == THREAD_READY && t->core == cpu->own.index,
		      "a thread is in the wrong requeue list", t, cpu->own.index);
		CHECK(t->core == t->next_core && schedule_level(t->priority) < level,
		      "a core has not looked for threads that others have woken", t, level);
	}
	CHECK(count == stack_count(word) && count < STACK_LONG, "a requeue list is too long", count, stack_count(word));
	CHECK(!count || stack_level(word) <= level, "a core does not want to be told of what concerns it",
	      stack_level(word), level);
}

static void check_core(const struct world *world, const struct cpu *cpu)
{
	const struct thread *current = cpu->shared.current, *idle = &cpu->shared.idle;
	const struct hosted_core *core = &world->machine->core[cpu->own.index];
	check_run_queue(cpu);
	CHECK(current == idle || world_find(world, OBJECT_TCB, (uint64_t)current), "a core runs a dead thread",
	      cpu->own.index, current);
	CHECK(!cpu->own.pending && !cpu->own.group->asked, "work is left on a core at rest", cpu->own.pending,
	      cpu->own.group->asked);
	CHECK(cpu->shared.ready.highest <= (current == idle ? -1 : (int)current->priority),
	      "a core runs less than it could", cpu->own.index, cpu->shared.ready.highest);
	CHECK(current == idle ||
	      (current->state == THREAD_READY && !current->queued && current->core == current->next_core),
	      "a core runs a thread that must not", current, current->state);
	CHECK(idle->state == THREAD_IDLE, "the idle thread did something", cpu->own.index, idle->state);
	CHECK(cpu->own.loaded_thread == (current == idle ? 0 : current), "a core holds another thread's state", current,
	      cpu->own.loaded_thread);
	CHECK(current == idle || core->tls == current->context.registers.fs_base,
	      "a core runs a thread with another FS base", core->tls, current->context.registers.fs_base);
	CHECK((cpu->own.stat->idle_since != 0) == (current == idle), "idleness is accounted wrongly", cpu->own.index,
	      cpu->own.stat->idle_since);
	CHECK(cpu->own.stat->idle_cycles <= hosted_now(world->machine), "a core idled longer than it exists",
	      cpu->own.index, cpu->own.stat->idle_cycles);
	CHECK(!cpu->own.handoff, "a woken thread is in no queue", cpu->own.index, cpu->own.handoff);
	check_requeued(cpu);
	CHECK(!cpu->shared.visitors.word && !cpu->shared.visited, "a core has not made the calls of others' threads",
	      cpu->own.index, cpu->shared.visitors.word);
	check_timers(cpu);
	check_polling(world, cpu);
	uint64_t next = timer_next(cpu);
	CHECK(cpu->own.timer_armed == core->timer, "a timer is not set as the kernel thinks", cpu->own.timer_armed,
	      core->timer);
	if (kernel_has_core(world->kernel, cpu->own.index))
		CHECK(!next || (core->timer && core->timer <= next), "a timer is set too late", core->timer, next);
	else /* `next` may be a deadline that was cancelled (core/timer.h) */
		CHECK(!core->timer, "a timer is set for a core that has left", cpu->own.index, core->timer);
}

static void check_alive(const struct world *world, const struct thread *thread)
{
	CHECK(world_find(world, OBJECT_TCB, (uint64_t)thread), "an object knows a dead thread", thread, 0);
}

static void check_endpoint_queue(const struct world *world, const struct endpoint *endpoint,
                                 const struct thread_queue *queue, enum thread_state state)
{
	check_queue(queue);
	for (const struct thread *t = queue->head; t; t = t->next) {
		check_alive(world, t);
		CHECK(t->endpoint == endpoint && t->state == state, "a thread is in a foreign endpoint's queue", t,
		      endpoint);
	}
}

static void check_object(const struct world *world, const struct cap *cap)
{
	const struct endpoint *endpoint = (const struct endpoint *)cap->object;
	const struct notification *notification = (const struct notification *)cap->object;
	const struct reply *reply = (const struct reply *)cap->object;
	switch (cap->type) {
	case OBJECT_TCB: check_thread(world, (const struct thread *)cap->object); break;
	case OBJECT_ENDPOINT:
		CHECK(!endpoint->senders.head || !endpoint->receivers.head, "senders and receivers wait for each other",
		      endpoint, 0);
		check_endpoint_queue(world, endpoint, &endpoint->senders, THREAD_SENDING);
		check_endpoint_queue(world, endpoint, &endpoint->receivers, THREAD_RECEIVING);
		break;
	case OBJECT_NOTIFICATION:
		check_queue(&notification->waiters);
		for (const struct thread *t = notification->waiters.head; t; t = t->next) {
			check_alive(world, t);
			CHECK(t->notification == notification, "a thread is in a foreign notification's queue", t,
			      notification);
		}
		CHECK(!notification->word || !notification->waiters.head, "a thread waits for a word that is there",
		      notification, notification->word);
		if (notification->bound) {
			check_alive(world, notification->bound);
			CHECK(notification->bound->bound == notification, "a binding is one-sided", notification,
			      notification->bound);
		}
		break;
	case OBJECT_REPLY:
		if (!reply->thread)
			break;
		check_alive(world, reply->thread);
		CHECK(reply->thread->reply == reply &&
		          (reply->thread->state == THREAD_REPLY || reply->thread->state == THREAD_RECEIVING),
		      "a reply object holds a thread that is not its", reply, reply->thread);
		break;
	}
}

void check_threads(const struct world *world)
{
	for (size_t i = 0; i < world->founds; i++)
		check_object(world, &world->found[i].slot->cap);
	for (unsigned c = 0; c < world->kernel->cpu_count; c++)
		check_core(world, world->kernel->cpu[c]);
}
