/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that a program sends to itself; those of other processes of a family, which interrupt its first thread, come
 * by family-signals.c. A handler runs inside the call that sends the signal, or the one that unblocks it, on the stack
 * of the thread that makes this call. A signal to another thread waits until that thread unblocks it. One that this
 * thread does not block interrupts it (interrupt.c).
 *
 * A handler may do what it likes, even leave by siglongjmp(). So the layer's lock is free while it runs, and these
 * calls take it themselves. musl blocks signals around raise(): its signals run their handlers when the mask is
 * restored.
 */
#include <errno.h>
#include <string.h>
#include <ucontext.h>
#include "family.h"
#include "signals.h"

enum { SIGCANCEL = 33, SIGSYNCCALL = 34 }; /* musl's own, src/internal/pthread_impl.h */
#ifdef LAYER_FAMILY
#define PROCESS process_id
#else
enum { PROCESS = 1 };
#endif

_Noreturn long sys_exit_group(const long *);
long sys_getuid(const long *);

struct signal_action signal_actions[SIGNALS + 1];
static struct signal_state states[THREADS_MAX];

struct signal_state *signal_state_of(const struct thread *thread)
{
	require(thread->index < THREADS_MAX);
	return &states[thread->index];
}

void signal_thread_start(const struct thread *thread, const struct thread *parent)
{
	states[thread->index] = (struct signal_state){ .blocked = states[parent->index].blocked };
}

#ifdef LAYER_FAMILY
void signal_forked(unsigned index)
{
	states[0] = states[index];
	states[0].waits = false;
	signal_drop_all();
}
#endif

static bool has_handler(int number)
{
	return signal_actions[number].handler != (void *)SIG_DFL && signal_actions[number].handler != (void *)SIG_IGN;
}

bool signal_is_ignored(int number)
{
	const uint64_t by_default = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) |
	                            SIGNAL_BIT(SIGWINCH);

	if (signal_actions[number].handler == (void *)SIG_DFL)
		return by_default & SIGNAL_BIT(number);
	return signal_actions[number].handler == (void *)SIG_IGN;
}

bool signal_is_due(const struct signal_state *s)
{
	const uint64_t set = signal_pending(s) & ~s->blocked;

	for (int number = 1; number <= SIGNALS; number++)
		if (set & SIGNAL_BIT(number) && !signal_is_ignored(number))
			return true;
	return false;
}

/* Returns whether the signal stops the process if nobody blocks it. In a program of one process it ends it. */
#ifdef LAYER_FAMILY
#define STOPS (SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))

static bool is_stop(int number)
{
	return STOPS & SIGNAL_BIT(number) && signal_actions[number].handler == (void *)SIG_DFL;
}

/* SIGCONT takes away signals that stop the process, and these take it away, whatever is done with them. */
static void clear_pending(int number)
{
	for (int other = 1; number == SIGCONT && other <= SIGNALS; other++)
		if (STOPS & SIGNAL_BIT(other))
			signal_drop(other);
	if (STOPS & SIGNAL_BIT(number))
		signal_drop(SIGCONT);
}
#else
static void clear_pending(int number) { (void)number; }
#endif

/* --- handlers --- */

static _Noreturn void end_by(int number);

/* The action of a signal without a handler. */
static void act_by_default(int number)
{
#ifdef LAYER_FAMILY
	if (is_stop(number)) {
		family_stop(number);
		return;
	}
#endif
	end_by(number);
}

static _Noreturn void end_by(int number)
{
	console_log("posix: ends by signal %d", number);
#ifdef LAYER_FAMILY
	family_ends_by(number);
#endif
	sys_exit_group((const long[]){ 128 + number });
}

void signal_fill(siginfo_t *info, const struct pending_signal *p)
{
	require(p->number >= 1 && p->number <= SIGNALS);
	memset(info, 0, sizeof(*info));
	info->si_signo = p->number;
	info->si_code = p->code;
	info->si_value = p->value;
	if (p->timer) {
		info->si_timerid = p->timer - 1;
		info->si_overrun = p->overrun;
	} else {
		info->si_pid = p->sender;
		info->si_uid = p->user;
	}
}

bool signal_is_on_alternate(const struct signal_state *s, uintptr_t address)
{
	return address - s->alternate < s->alternate_size;
}

/* On another stack; `top` is aligned as before a call. */
static void call_on(uintptr_t top, const struct signal_action *action, int number, siginfo_t *info, void *context)
{
	require(top % 16 == 0);
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
	                 "mov %3, %%rsp\n\t"
	                 "call *%4\n\t"
	                 "mov %%rbx, %%rsp"
	                 : "+D"(number), "+S"(info), "+d"(context)
	                 : "r"(top), "r"(action->handler)
	                 : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
	                 "xmm5", "xmm6", "xmm7",
	                   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}

/* While a handler runs the thread is not in the layer. open: returns what close() takes. */
static unsigned calls_open(void)
{
#ifdef LAYER_FAMILY
	return family_open();
#else
	struct signal_state *s = signal_state_of(thread_self());
	const unsigned depth = s->depth;

	s->depth = 0;
	return depth;
#endif
}

static void calls_close(unsigned depth)
{
#ifdef LAYER_FAMILY
	family_close(depth);
#else
	signal_state_of(thread_self())->depth = depth;
#endif
}

/* The context's registers are those of the caller, roughly; what the handler writes there goes nowhere. */
static void call_handler(const struct signal_state *s, const struct signal_action *action, siginfo_t *info,
			 ucontext_t *context)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const unsigned depth = calls_open();

	context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)__builtin_return_address(0);
	context->uc_mcontext.gregs[REG_RSP] = context->uc_mcontext.gregs[REG_RBP] = (greg_t)here;
	if (action->flags & SA_ONSTACK && s->alternate_size && !signal_is_on_alternate(s, here))
		call_on((s->alternate + s->alternate_size) & -16ul, action, info->si_signo, info, context);
	else
		action->handler(info->si_signo, info, context);
	calls_close(depth);
}

/* Afterwards the thread blocks `after`, unless the handler has changed that in its context. It may be another one then:
 * the only one of a child that the handler has forked. */
static void run_handler(struct thread *self, const struct pending_signal *p, uint64_t after)
{
	struct signal_state *s = signal_state_of(self);
	const volatile int *cancel = self->cancel;
	const struct signal_action action = signal_actions[p->number];
	ucontext_t context;
	siginfo_t info;

	require(layer_is_locked() && has_handler(p->number) && !(s->blocked & SIGNAL_BIT(p->number)));
	signal_fill(&info, p);
	memset(&context, 0, sizeof(context));
	context.uc_stack.ss_flags = s->alternate_size ? 0 : SS_DISABLE;
	context.uc_stack.ss_sp = (void *)s->alternate;
	context.uc_stack.ss_size = s->alternate_size;
	memcpy(&context.uc_sigmask, &after, sizeof(after));
	if (action.flags & SA_RESETHAND)
		signal_actions[p->number].handler = (void *)SIG_DFL;
	s->blocked |= (action.mask | (action.flags & SA_NODEFER ? 0 : SIGNAL_BIT(p->number))) & ~SIGNALS_NEVER_BLOCKED;
	/* as on Linux a second signal interrupts the handler of the first before it begins */
	signal_deliver(self, s->blocked);
	self->cancel = 0;                 /* the handler is in no cancellation point */
	/* Without event_settle(): signals come while the thread sleeps, and beside a poller it has not run the network
	 * since then. */
	layer_unlock();
	call_handler(s, &action, &info, &context);
	layer_lock();
	self->cancel = cancel;
	s = signal_state_of(thread_self());
	s->restarts &= (action.flags & SA_RESTART) != 0;
	memcpy(&s->blocked, &context.uc_sigmask, sizeof(s->blocked));
	s->blocked &= ~SIGNALS_NEVER_BLOCKED;
}

bool signal_deliver(struct thread *self, uint64_t after)
{
	const struct signal_state *s = signal_state_of(self);
	struct pending_signal p;
	bool ran = false;

	for (; signal_take(s, ~s->blocked, &p); s = signal_state_of(self = thread_self())) {
		if (signal_is_ignored(p.number))
			continue;
		if (!has_handler(p.number)) {
			act_by_default(p.number);
			continue;
		}
		run_handler(self, &p, after);
		ran = true;
	}
	return ran;
}

long signal_leave(long result)
{
	struct thread *self = thread_self();

	require(layer_is_locked());
	signal_deliver(self, signal_state_of(self)->blocked);
	event_settle();
	layer_unlock();
	return result;
}

/* --- sending --- */

/* Returns whether no thread takes it now, of the process's; or the one that it is for does not. */
static bool is_blocked(const struct pending_signal *p)
{
	if (p->to)
		return p->to->blocked & SIGNAL_BIT(p->number);
	for (const struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid && !(signal_state_of(t)->blocked & SIGNAL_BIT(p->number)))
			return false;
	return true;
}

long signal_send(const struct pending_signal *p)
{
	const struct signal_state *own = signal_state_of(thread_self());
	const bool blocked = is_blocked(p), other = p->to && p->to != own;

	clear_pending(p->number);
	if (!blocked && signal_is_ignored(p->number))
		return 0;
	if (!blocked && !has_handler(p->number)) {
		act_by_default(p->number);
		return 0;
	}
	if (other && p->number == SIGSYNCCALL)
		return -ENOSYS;
	require(p->number >= 1 && p->number <= SIGNALS);
	const bool elsewhere = !blocked && (p->to ? other && !p->to->waits : own->blocked & SIGNAL_BIT(p->number));
	if (elsewhere && interrupts_start())
		return -ENOSYS;
	const long error = signal_put(p);
	if (!error && (other || own->blocked & SIGNAL_BIT(p->number)))
		event_notify();
	if (!error && elsewhere)
		interrupts_look();
	return error;
}

#ifdef LAYER_FAMILY
bool signal_receive(const struct pending_signal *p)
{
	clear_pending(p->number);
	if (is_stop(p->number) && !is_blocked(p)) {
		family_stop(p->number);
		return false;
	}
	if ((!is_blocked(p) && signal_is_ignored(p->number)) || signal_put(p))
		return false;
	event_notify();
	return true;
}
#endif

static bool is_valid(long number) { return number >= 0 && number <= SIGNALS; }

#ifndef LAYER_FAMILY
/* This process, by its number or as its group. */
static bool is_self(long process) { return process == PROCESS || process == 0 || process == -PROCESS; }
#endif

static struct pending_signal signal_of_self(long number, int code)
{
	return (struct pending_signal){ .number = (int)number, .code = code, .sender = PROCESS,
	                                .user = (unsigned)sys_getuid(0) };
}

long sys_kill(const long *a)
{
	const struct pending_signal p = signal_of_self(a[1], SI_USER);

	if (!is_valid(a[1]))
		return -EINVAL;
#ifdef LAYER_FAMILY
	if (a[0] != process_id) {
		const long result = family_kill((int)a[0], &p);
		if (result <= 0)
			return result;
	}
#else
	if (!is_self(a[0]))
		return -ESRCH;
#endif
	layer_lock();
	return signal_leave(p.number ? signal_send(&p) : 0);
}

static long send_to_thread(int tid, long number)
{
	struct pending_signal p = signal_of_self(number, SI_TKILL);

	for (const struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid == tid) {
			p.to = signal_state_of(t);
			return number ? signal_send(&p) : 0;
		}
	return -ESRCH;
}

long sys_tkill(const long *a)
{
	if (a[0] <= 0 || !is_valid(a[1]))
		return -EINVAL;
	layer_lock();
	return signal_leave(a[1] == SIGCANCEL ? thread_interrupt((int)a[0]) : send_to_thread((int)a[0], a[1]));
}

#ifdef LAYER_FAMILY
long written(long answer, int flags)
{
	if (answer == -EPIPE && !(flags & MSG_NOSIGNAL))
		sys_tkill((const long[]){ thread_self()->tid, SIGPIPE });
	return answer;
}
#endif

long sys_tgkill(const long *a) { return a[0] <= 0 ? -EINVAL : a[0] != PROCESS ? -ESRCH : sys_tkill(a + 1); }

long sys_rt_sigqueueinfo(const long *a)
{
	const siginfo_t *info = (const siginfo_t *)a[2];

	if (!is_valid(a[1]))
		return -EINVAL;
	const struct pending_signal p = { .number = (int)a[1], .code = info->si_code, .sender = info->si_pid,
	                                  .user = info->si_uid,
	                                  .value = info->si_value };
#ifdef LAYER_FAMILY
	if (a[0] != process_id)
		return a[0] > 0 ? family_kill(a[0], &p) : -ESRCH;
#else
	if (!is_self(a[0]))
		return -ESRCH;
#endif
	layer_lock();
	return signal_leave(p.number ? signal_send(&p) : 0);
}
