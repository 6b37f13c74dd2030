/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals of the layer without a program: which thread gets one, when its handler runs, and which lock is held
 * meanwhile. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include "check.h"
#include "../posix/signals.h"

#define CALL(name, ...) sys_##name((const long[]){ __VA_ARGS__, 0, 0, 0, 0 })
#define P(pointer) ((long)(pointer))

long sys_kill(const long *), sys_tkill(const long *), sys_tgkill(const long *), sys_rt_sigaction(const long *),
sys_rt_sigprocmask(const long *);
long sys_rt_sigpending(const long *), sys_sigaltstack(const long *), sys_rt_sigsuspend(const long *),
sys_pause(const long *);
long sys_rt_sigtimedwait(const long *), sys_rt_sigqueueinfo(const long *), sys_setitimer(const long *),
sys_alarm(const long *);
_Noreturn long sys_exit_group(const long *);
long sys_getuid(const long *);

struct thread threads[THREADS_MAX] = { { .tid = 1, .index = 0 }, { .tid = 7, .index = 1 }, { .tid = 0, .index = 2 } };
unsigned thread_places = 3;
static struct thread *current = threads;
_Atomic int layer_held;
static bool unsettled; /* unsettled: the network has run since event_settle(), or since the last sleep began */
static int notified, interrupted, sleeps;
static int (*on_sleep)(void);
static jmp_buf ended;

struct thread *thread_self(void) { return current; }
void event_settle(void)
{
	CHECK(layer_held);
	unsettled = false;
}

void event_notify(void) { notified++; }
void console_log(const char *format, ...) { (void)format; }
long sys_getuid(const long *a) { (void)a; return 1000; }
long thread_interrupt(int tid) { interrupted += tid; return 0; }
bool signals_interrupt;
static long no_helper; /* the answer of interrupts_start() */
static int looked;
long interrupts_start(void) { return no_helper; }
void interrupts_look(void) { looked++; }
long call_not_provided(unsigned long number) { (void)number; return -ENOSYS; }
uint64_t deadline_after_timespec(const struct timespec *t) { return t ? 5 : 0; }
bool timespec_valid(const struct timespec *t) { return t->tv_nsec >= 0; }

void layer_lock(void)
{
	CHECK(!layer_held);
	layer_held = true;
}

void layer_unlock(void)
{
	CHECK(layer_held && !unsettled);
	layer_held = false;
}

_Noreturn long sys_exit_group(const long *a)
{
	CHECK(layer_held);
	layer_held = false;
	longjmp(ended, (int)a[0]);
}

/* With the lock, as the real one; what the others do meanwhile is on_sleep()'s. */
int event_sleep(uint64_t deadline)
{
	CHECK(layer_held && ++sleeps < 10);
	layer_unlock();
	const int error = on_sleep ? on_sleep() : 0;
	layer_lock();
	unsettled = !error && deadline; /* it is late, and has looked once more */
	return error ? error : deadline ? -EAGAIN : 0;
}

/* --- what handlers saw --- */

static int order[128], count;
static uint64_t blocked, of_context;
static siginfo_t seen;
static ucontext_t *context_seen;
static const volatile int *cancel_seen;

static uint64_t mask(void)
{
	uint64_t now;

	CHECK(CALL(rt_sigprocmask, SIG_BLOCK, 0, P(&now), 8) == 0);
	return now;
}

static void note(int number, siginfo_t *info, void *context)
{
	CHECK(!layer_held && number == info->si_signo);
	order[count++] = number;
	seen = *info;
	context_seen = context;
	cancel_seen = current->cancel;
	memcpy(&of_context, &context_seen->uc_sigmask, 8);
	blocked = mask();
}

static long install(int number, unsigned long flags, uint64_t also)
{
	const struct signal_action action = { .handler = note, .flags = flags, .mask = also };

	return CALL(rt_sigaction, number, P(&action), 0, 8);
}

/* As a handler that forks in the second thread: in the child that one is the first. */
static void fork_child(int number, siginfo_t *info, void *context)
{
	note(number, info, context);
	*signal_state_of(&threads[0]) = *signal_state_of(current);
	current = threads;
}

static long set_handler(int number, void (*handler)(int))
{
	struct signal_action action = { 0 };

	memcpy(&action.handler, &handler, sizeof(handler));
	return CALL(rt_sigaction, number, P(&action), 0, 8);
}

static long change(int how, uint64_t set) { return CALL(rt_sigprocmask, how, P(&set), 0, 8); }

static uint64_t pending(void)
{
	uint64_t set;

	CHECK(CALL(rt_sigpending, P(&set), 8) == 0);
	return set;
}

/* The status with which the call ends the program, or -1. */
static int ends(long (*call)(const long *), long a, long b)
{
	const int status = setjmp(ended);

	if (status)
		return status;
	call((const long[]){ a, b });
	return -1;
}

static void start(void)
{
	for (int number = 1; number <= SIGNALS; number++)
		if (number != SIGKILL && number != SIGSTOP)
			CHECK(set_handler(number, SIG_DFL) == 0);
	for (int i = 0; i < 3; i++) {
		current = &threads[i];
		signal_thread_end(current);
		CHECK(change(SIG_SETMASK, SIGNAL_BIT(SIGCHLD)) == 0 && change(SIG_SETMASK, 0) == 0);
	}
	current = threads;
	count = notified = sleeps = 0;
	on_sleep = 0;
}

#define B(number) SIGNAL_BIT(number)

static void at_once(void)
{
	static const volatile int word;

	start();
	current->cancel = &word;
	CHECK(install(SIGUSR1, SA_SIGINFO, B(SIGHUP) | B(SIGKILL)) == 0 && CALL(tkill, 1, SIGUSR1) == 0 && count == 1 &&
	      !layer_held);
	CHECK(blocked == (B(SIGUSR1) | B(SIGHUP)) && of_context == 0 && mask() == 0 && !cancel_seen &&
	      current->cancel == &word);
	CHECK(seen.si_code == SI_TKILL && seen.si_pid == 1 && seen.si_uid == 1000);
	CHECK(CALL(kill, 1, SIGUSR1) == 0 && CALL(kill, 0, SIGUSR1) == 0 && CALL(kill, -1, SIGUSR1) == 0 &&
	      count == 4 && seen.si_code == SI_USER);
	CHECK(CALL(tgkill, 1, 1, SIGUSR1) == 0 && count == 5 && CALL(tgkill, 2, 1, SIGUSR1) == -ESRCH &&
	      CALL(tgkill, 1, 0, SIGUSR1) == -EINVAL);
	CHECK(install(SIGUSR1, SA_NODEFER, 0) == 0 && CALL(tkill, 1, SIGUSR1) == 0 && blocked == 0);
	CHECK(install(SIGUSR1, SA_RESETHAND, 0) == 0 && CALL(tkill, 1, SIGUSR1) == 0 && count == 7);
	CHECK(ends(sys_tkill, 1, SIGUSR1) == 128 + SIGUSR1 && notified == 0);
	current->cancel = 0;
}

static void defaults(void)
{
	start();
	for (int number = 1; number <= SIGNALS; number++) {
		const bool harmless = number == SIGCHLD || number == SIGCONT || number == SIGURG ||
		                      number == SIGWINCH || number == 33;
		CHECK(ends(sys_kill, 1, number) == (harmless && number != 33 ? -1 : 128 + number));
		CHECK(ends(sys_tkill, 1, number) == (harmless ? -1 : 128 + number));
	}
	CHECK(interrupted == 1 && set_handler(SIGTERM, SIG_IGN) == 0 && ends(sys_kill, 1, SIGTERM) == -1);
	CHECK(change(SIG_BLOCK, ~0ull) == 0 && mask() == ~(B(SIGKILL) | B(SIGSTOP)) &&
	      ends(sys_tkill, 1, SIGKILL) == 128 + SIGKILL);
	CHECK(ends(sys_tkill, 7, SIGQUIT) == 128 + SIGQUIT); /* to another thread, which does not block it */
	CHECK(ends(sys_kill, 1, SIGQUIT) == 128 + SIGQUIT);  /* by a thread that does: the other one takes it */
	current = &threads[1];
	/* all that live block it */
	CHECK(change(SIG_BLOCK, B(SIGQUIT)) == 0 && ends(sys_kill, 1, SIGQUIT) == -1 && pending() == B(SIGQUIT));
	CHECK(set_handler(SIGQUIT, SIG_IGN) == 0);
}

static void blocked_ones(void)
{
	const uint64_t set = B(SIGUSR1) | B(SIGUSR2) | B(40);

	start();
	CHECK(install(SIGUSR1, 0, 0) == 0 && install(SIGUSR2, 0, 0) == 0 && install(40, 0, 0) == 0 &&
	      change(SIG_BLOCK, set) == 0);
	CHECK(CALL(tkill, 1, SIGUSR1) == 0 && CALL(tkill, 1, SIGUSR1) == 0 && CALL(kill, 1, SIGUSR2) == 0);
	CHECK(CALL(tkill, 1, 40) == 0 && CALL(tkill, 1, 40) == 0);
	CHECK(change(SIG_BLOCK, B(SIGHUP)) == 0 && mask() == (set | B(SIGHUP)) && change(SIG_UNBLOCK, B(SIGHUP)) == 0);
	CHECK(count == 0 && pending() == set && CALL(kill, 1, SIGURG) == 0 && pending() == set);
	CHECK(change(SIG_SETMASK, B(40)) == 0 && count == 2 && pending() == B(40));
	CHECK(order[0] == SIGUSR2 && order[1] == SIGUSR1); /* the first one's frame lies below that of the second */
	CHECK(of_context == B(40) && mask() == B(40) && change(SIG_UNBLOCK, B(40)) == 0 && count == 4 &&
	      pending() == 0);
	CHECK(change(SIG_BLOCK, set) == 0 && CALL(tkill, 1, SIGUSR1) == 0 && set_handler(SIGUSR1, SIG_IGN) == 0 &&
	      pending() == 0);
	CHECK(CALL(tkill, 1, SIGUSR1) == 0 && pending() == B(SIGUSR1) && change(SIG_SETMASK, 0) == 0 && count == 4 &&
	      pending() == 0);
	CHECK(change(SIG_BLOCK, set) == 0 && CALL(tkill, 1, SIGUSR2) == 0 && CALL(tkill, 1, SIGUSR1) == 0 &&
	      install(SIGUSR1, 0, 0) == 0);
	CHECK(set_handler(SIGCHLD, SIG_DFL) == 0 && pending() == (B(SIGUSR1) | B(SIGUSR2)));
	for (int i = 0; i < 62; i++)
		CHECK(CALL(tkill, 1, 40) == 0);
	CHECK(CALL(tkill, 1, 40) == -EAGAIN && change(SIG_SETMASK, 0) == 0 && count > 4);
}

static void others(void)
{
	start();
	no_helper = -EAGAIN;
	looked = 0;
	CHECK(install(SIGUSR1, 0, 0) == 0 && CALL(tkill, 7, SIGUSR1) == -ENOSYS && CALL(tkill, 7, SIGCHLD) == 0 &&
	      CALL(tkill, 7, 0) == 0 && !looked);
	no_helper = 0;
	CHECK(CALL(tkill, 8, SIGUSR1) == -ESRCH && CALL(tkill, 8, 0) == -ESRCH && CALL(tkill, 0, SIGUSR1) == -EINVAL &&
	      CALL(tkill, 1, 65) == -EINVAL);
	CHECK(CALL(kill, 2, SIGUSR1) == -ESRCH && CALL(kill, 1, 65) == -EINVAL && CALL(kill, 1, -1) == -EINVAL &&
	      CALL(kill, 1, 0) == 0);
	CHECK(notified == 0 && count == 0 && change(SIG_BLOCK, B(SIGUSR1)) == 0 && CALL(kill, 1, SIGUSR1) == 0 &&
	      notified == 1 && looked == 1); /* the other one does not block it: it is interrupted */
	current = &threads[1];
	CHECK(pending() == 0); /* the other one's call leaves it for this one, which does not block it */
	CHECK(change(SIG_BLOCK, 0) == 0 && count == 1 && change(SIG_BLOCK, ~0ull) == 0);
	count = notified = 0;
	current = threads;
	CHECK(change(SIG_SETMASK, 0) == 0 && CALL(tkill, 7, SIGUSR1) == 0 && notified == 1 && count == 0 &&
	      pending() == 0);
	CHECK(install(34, 0, 0) == 0);
	CHECK(CALL(tkill, 7, 34) == -ENOSYS); /* musl would wait for its answer */
	signal_thread_start(&threads[2], &threads[1]);
	current = &threads[1];
	CHECK(pending() == B(SIGUSR1) && change(SIG_UNBLOCK, B(SIGUSR1)) == 0 && count == 1);
	CHECK(change(SIG_BLOCK, B(SIGUSR1)) == 0 && CALL(tkill, 7, SIGUSR1) == 0);
	signal_thread_end(current);
	CHECK(pending() == 0);
	current = &threads[2];
	CHECK(mask() == ~(B(SIGKILL) | B(SIGSTOP)) && pending() == 0);
}

static void forks(void)
{
	static const volatile int word;
	const struct signal_action action = { .handler = fork_child, .mask = B(SIGHUP) };

	start();
	CHECK(CALL(rt_sigaction, SIGUSR1, P(&action), 0, 8) == 0 && install(SIGUSR2, 0, 0) == 0);
	current = &threads[1];
	current->cancel = &word; /* the child's call is none that can be cancelled, which nobody would end */
	CHECK(change(SIG_SETMASK, B(SIGUSR1) | B(SIGUSR2)) == 0 && CALL(tkill, 7, SIGUSR1) == 0);
	CHECK(CALL(kill, 1, SIGUSR2) == 0 && change(SIG_SETMASK, B(SIGTERM)) == 0 && count == 2);
	CHECK(current == threads && mask() == B(SIGTERM) && !current->cancel && pending() == 0);
	threads[1].cancel = 0;
}

static int send_usr1(void)
{
	struct thread *waiter = current;

	current = waiter == threads ? &threads[1] : threads;
	CHECK(CALL(tkill, waiter->tid, SIGUSR1) == 0 && count == 0);
	current = waiter;
	return 0;
}

static int cancel(void) { return -EINTR; }
static int pass(void) { return sleeps == 2 ? send_usr1() : 0; }

static void waiting(void)
{
	const uint64_t none = 0, all = ~0ull, usr1 = B(SIGUSR1);
	siginfo_t info;

	start();
	on_sleep = send_usr1;
	CHECK(install(SIGUSR1, 0, 0) == 0 && change(SIG_BLOCK, usr1 | B(SIGHUP)) == 0);
	CHECK(CALL(rt_sigsuspend, P(&none), 8) == -EINTR && count == 1 && sleeps == 1 && mask() == (usr1 | B(SIGHUP)) &&
	      of_context == mask());
	CHECK(CALL(rt_sigsuspend, P(&none), 4) == -EINVAL);
	on_sleep = cancel;
	CHECK(CALL(rt_sigsuspend, P(&all), 8) == -EINTR && count == 1 && mask() == (usr1 | B(SIGHUP)));
	count = sleeps = 0;
	on_sleep = pass;
	CHECK(change(SIG_SETMASK, 0) == 0 && CALL(pause, 0) == -EINTR && count == 1 && sleeps == 2);
	count = sleeps = 0;
	CHECK(change(SIG_SETMASK, usr1) == 0 && CALL(rt_sigtimedwait, P(&usr1), P(&info), 0, 8) == SIGUSR1 &&
	      count == 0 && sleeps == 2);
	CHECK(info.si_signo == SIGUSR1 && info.si_code == SI_TKILL && pending() == 0 && mask() == usr1);
	on_sleep = 0;
	CHECK(CALL(rt_sigtimedwait, P(&usr1), 0, P(&(struct timespec){ 0 }), 8) == -EAGAIN);
	CHECK(CALL(rt_sigtimedwait, P(&usr1), 0, P(&(struct timespec){ .tv_nsec = -1 }), 8) == -EINVAL);
	sleeps = 0;
	on_sleep = send_usr1;
	CHECK(change(SIG_SETMASK, 0) == 0 && CALL(rt_sigtimedwait, P(&(uint64_t){ B(SIGHUP) }), 0, 0, 8) == -EINTR &&
	      count == 1 && sleeps == 1);
	current = &threads[1];
	looked = count = 0;
	CHECK(CALL(tkill, 1, SIGUSR1) == 0 && looked == 1 && count == 0); /* it waits no longer: it is interrupted */
	current = threads;
	CHECK(change(SIG_SETMASK, 0) == 0 && count == 1 && pending() == 0);
}

/* A timer's signal is pending once; what comes meanwhile is its overrun, which is told when it is delivered. */
static void overruns(void)
{
	struct pending_signal p = { .number = SIGUSR1, .code = SI_TIMER, .timer = 3, .value.sival_int = 8 };

	start();
	CHECK(install(SIGUSR1, 0, 0) == 0 && change(SIG_SETMASK, B(SIGUSR1)) == 0);
	layer_lock();
	CHECK(!signal_any() && !signal_overrun(3, 1) && signal_send(&p) == 0 && signal_any());
	CHECK(signal_overrun(3, 1) && signal_overrun(3, 4) && !signal_overrun(2, 1));
	CHECK(signal_pending_to(signal_state_of(threads)) == 0);
	layer_unlock();
	CHECK(timer_overruns[2] == 0 && change(SIG_SETMASK, 0) == 0 && count == 1 && timer_overruns[2] == 5);
	CHECK(seen.si_code == SI_TIMER && seen.si_timerid == 2 && seen.si_overrun == 5 && seen.si_value.sival_int == 8);
	p.to = signal_state_of(threads);
	layer_lock();
	CHECK(signal_put(&p) == 0 && signal_overrun(3, INT_MAX) && signal_overrun(3, 9));
	CHECK(signal_pending_to(signal_state_of(threads)) == B(SIGUSR1));
	layer_unlock();
	CHECK(change(SIG_SETMASK, 0) == 0 && timer_overruns[2] == INT_MAX);
}

static void values(void)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	struct itimerval timer = { .it_value.tv_usec = 1 }, old = timer;
	struct signal_action before;

	start();
	info.si_value.sival_int = 9;
	CHECK(install(40, 0, 0) == 0 && CALL(rt_sigqueueinfo, 1, 40, P(&info)) == 0 && count == 1 &&
	      seen.si_value.sival_int == 9 && seen.si_code == SI_QUEUE);
	CHECK(CALL(rt_sigqueueinfo, 2, 40, P(&info)) == -ESRCH && CALL(rt_sigqueueinfo, 1, 65, P(&info)) == -EINVAL);
	CHECK(CALL(rt_sigaction, 40, 0, P(&before), 8) == 0 && before.handler == note &&
	      CALL(rt_sigaction, 0, 0, 0, 8) == -EINVAL);
	CHECK(CALL(rt_sigaction, 65, 0, 0, 8) == -EINVAL && CALL(rt_sigaction, 40, 0, 0, 4) == -EINVAL &&
	      install(SIGKILL, 0, 0) == -EINVAL);
	CHECK(install(SIGSTOP, 0, 0) == -EINVAL && CALL(rt_sigaction, SIGSTOP, 0, P(&before), 8) == 0 &&
	      change(7, 0) == -EINVAL);
	CHECK(CALL(setitimer, ITIMER_REAL, P(&timer), P(&old)) == -ENOSYS && old.it_value.tv_usec == 1 &&
	      CALL(alarm, 1) == -ENOSYS);
	timer.it_value.tv_usec = 0;
	CHECK(CALL(setitimer, ITIMER_REAL, P(&timer), P(&old)) == 0 && old.it_value.tv_usec == 0 &&
	      CALL(alarm, 0) == 0);
	CHECK(CALL(setitimer, 3, P(&timer), 0) == -EINVAL);
}

static char room[65536];
static bool on_room;
static long while_on_it;

static void note_stack(int number, siginfo_t *info, void *context)
{
	char here;

	on_room = &here >= room && &here < room + sizeof(room) && ((ucontext_t *)context)->uc_stack.ss_sp == room;
	while_on_it = CALL(sigaltstack, P(&(stack_t){ .ss_flags = SS_DISABLE }), 0);
	note(number, info, context);
	if (count == 1)
		CHECK(CALL(tkill, 1, SIGUSR2) == 0 && on_room && count == 2); /* on the same, behind what is there */
}

static void stacks(void)
{
	struct signal_action action = { .handler = note_stack, .flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) }, old;

	start();
	CHECK(CALL(sigaltstack, P(&stack), P(&old)) == 0 && old.ss_flags == SS_DISABLE);
	CHECK(CALL(sigaltstack, 0, P(&old)) == 0 && old.ss_sp == room && !old.ss_flags);
	CHECK(CALL(rt_sigaction, SIGUSR1, P(&action), 0, 8) == 0 && CALL(rt_sigaction, SIGUSR2, P(&action), 0, 8) == 0);
	CHECK(CALL(tkill, 1, SIGUSR1) == 0 && count == 2 && while_on_it == -EPERM);
	action.flags = 0;
	CHECK(CALL(rt_sigaction, SIGUSR2, P(&action), 0, 8) == 0 && CALL(tkill, 1, SIGUSR2) == 0 && !on_room);
	stack.ss_size = 100;
	CHECK(CALL(sigaltstack, P(&stack), 0) == -ENOMEM);
	stack.ss_flags = 8;
	CHECK(CALL(sigaltstack, P(&stack), 0) == -EINVAL);
}

int main(void)
{
	at_once();
	defaults();
	blocked_ones();
	others();
	forks();
	waiting();
	overruns();
	values();
	stacks();
	return 0;
}
