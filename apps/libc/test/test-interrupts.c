/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers, and signals that interrupt a thread, without a program: the helper's decisions, by a clock of the test's. */
#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "check.h"
#include "../posix/platform.h"
#include "../posix/signals.h"

#define CALL(name, ...) sys_##name((const long[]){ __VA_ARGS__, 0, 0, 0, 0 })
#define P(pointer) ((long)(pointer))
#define B(number) (1ull << ((number) - 1))

enum { HELPER = 2, HELPER_TID = 9, AGAIN = 1000000, OFFSET = 5000 };

long sys_tkill(const long *), sys_kill(const long *), sys_rt_sigaction(const long *), sys_rt_sigprocmask(const long *);
long sys_timer_create(const long *), sys_timer_settime(const long *), sys_timer_gettime(const long *);
long sys_timer_getoverrun(const long *), sys_timer_delete(const long *), sys_clock_gettime(const long *);
long sys_getuid(const long *);
_Noreturn long sys_exit_group(const long *);

struct thread threads[THREADS_MAX] = { { .tid = 1, .index = 0 }, { .tid = 7, .index = 1 },
                                       { .tid = 0, .index = HELPER } };
unsigned thread_places = 2;
_Atomic int layer_held;
intptr_t cancel_offset = 64;
static struct thread *current = threads;
static const struct thread *poller;
static struct process_info info = { .core_count = 2 };
static uint64_t now = 1000000000, cpu_time, sleep_until;
static int (*help)(void *);
static jmp_buf slept;
static unsigned diverted, interrupted; /* sets of threads */
static int handled, signalled;
static siginfo_t seen;

struct thread *thread_self(void) { return current; }
const struct thread *event_poller(void) { return poller; }
const struct process_info *platform_info(void) { return &info; }
bool thread_cancelled(const struct thread *t) { return t->cancel && *t->cancel; }
uint64_t deadline_after(uint64_t ns) { return now + ns; }
uint64_t deadline_after_timespec(const struct timespec *t) { return t ? now : 0; }
bool timespec_valid(const struct timespec *t) { return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < 1000000000; }
int64_t timespec_nanoseconds(const struct timespec *t) { return t->tv_sec * 1000000000 + t->tv_nsec; }
struct file *descriptor_file(int fd) { (void)fd; return 0; }
long call_not_provided(unsigned long number) { (void)number; return -ENOSYS; }
long sys_getuid(const long *a) { (void)a; return 0; }
void console_log(const char *format, ...) { (void)format; }
void event_settle(void) { CHECK(layer_held); }
void event_notify(void) {}
int event_sleep(uint64_t deadline) { (void)deadline; return -EAGAIN; }
_Noreturn long sys_exit_group(const long *a) { exit((int)a[0]); }

void layer_lock(void)
{
	CHECK(!layer_held);
	layer_held = true;
}

void layer_unlock(void)
{
	CHECK(layer_held);
	layer_held = false;
}

void *heap_map(size_t pages)
{
	static char stack[4 * PAGE];

	CHECK(pages == 4);
	return stack;
}

int thread_create_own(int (*function)(void *), void *stack, void *tls)
{
	CHECK(layer_held && !help && *(void **)tls == tls && (uintptr_t)stack % 16 == 0);
	help = function;
	threads[HELPER].tid = HELPER_TID;
	thread_places = HELPER + 1;
	return HELPER_TID;
}

void thread_signal(struct thread *t) { signalled += t == &threads[HELPER]; }

void thread_sleep(struct thread *self, uint64_t deadline)
{
	CHECK(self == &threads[HELPER] && current == self);
	layer_unlock();
	sleep_until = deadline;
	longjmp(slept, 1);
}

long thread_interrupt(int tid)
{
	for (struct thread *t = threads; t < threads + thread_places; t++)
		interrupted |= t->tid == tid ? 1u << t->index : 0;
	return 0;
}

bool platform_interrupt(unsigned index, const volatile unsigned *depth, void (*entry)(void))
{
	CHECK(layer_held && entry && index != HELPER);
	if (*depth)
		return false;
	diverted |= 1u << index;
	return true;
}

long sys_clock_gettime(const long *a)
{
	const uint64_t ns = a[0] == CLOCK_PROCESS_CPUTIME_ID ? cpu_time : a[0] == CLOCK_REALTIME ? now + OFFSET : now;

	if (a[0] > CLOCK_PROCESS_CPUTIME_ID)
		return -EINVAL;
	*(struct timespec *)a[1] = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	return 0;
}

/* The helper looks around once, and sleeps. */
static void look(void)
{
	struct thread *before = current;

	diverted = interrupted = 0;
	current = &threads[HELPER];
	if (!setjmp(slept))
		help(0);
	current = before;
}

/* A thread that was put at its handlers runs them. */
static void handle(unsigned index)
{
	struct thread *before = current;

	current = &threads[index];
	layer_lock();
	signal_leave(0);
	current = before;
}

static void note(int number, siginfo_t *information, void *context)
{
	(void)number, (void)context;
	CHECK(!layer_held && !signal_state_of(current)->depth && !current->cancel);
	handled++;
	seen = *information;
}

static void install(int number, unsigned long flags)
{
	const struct signal_action action = { .handler = note, .flags = flags };

	handled = 0;
	CHECK(CALL(rt_sigaction, number, P(&action), 0, 8) == 0);
}

static void block(uint64_t set) { CHECK(CALL(rt_sigprocmask, SIG_SETMASK, P(&set), 0, 8) == 0); }

static long arm(long timer, uint64_t ns, uint64_t interval, int flags)
{
	const struct itimerspec when = { { (time_t)(interval / 1000000000), (long)(interval % 1000000000) },
	                                 { (time_t)(ns / 1000000000), (long)(ns % 1000000000) } };

	layer_lock();
	const long result = CALL(timer_settime, timer, flags, P(&when), 0);
	layer_unlock();
	return result;
}

static long create(clockid_t clock, int notify, int number, int tid)
{
	const struct { union sigval value; int number, notify, tid; } event = {
		{ .sival_int = 5 }, number, notify, tid };
	int timer = -1;

	layer_lock();
	const long error = CALL(timer_create, clock, P(&event), P(&timer));
	layer_unlock();
	return error ? error : timer;
}

static void delete(long timer)
{
	layer_lock();
	CHECK(CALL(timer_delete, timer) == 0 && CALL(timer_delete, timer) == -EINVAL);
	layer_unlock();
}

static void expirations(void)
{
	CHECK(!signals_interrupt && cancel_offset);
	calls_plain = true;
	const long timer = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0);
	CHECK(timer == 0 && signals_interrupt && !cancel_offset && !calls_plain && !signalled);
	install(SIGUSR1, 0);
	CHECK(arm(timer, 100, 50, 0) == 0 && signalled == 1);
	look();
	CHECK(!diverted && !interrupted && sleep_until == now + 100);
	now += 100;
	look();
	CHECK(diverted == 1 && !interrupted && sleep_until == now + 50); /* one thread, and no more */
	handle(0);
	CHECK(handled == 1 && seen.si_code == SI_TIMER && seen.si_value.sival_int == 5 && seen.si_overrun == 0);
	now += 175; /* three and a half intervals */
	look();
	CHECK(diverted == 1 && sleep_until == now + 25);
	now += 30;
	look();
	handle(0);
	CHECK(handled == 2 && seen.si_overrun == 3 && CALL(timer_getoverrun, timer) == 3);
	CHECK(arm(timer, 0, 0, 0) == 0);
	look();
	CHECK(!diverted && !sleep_until);
	CHECK(arm(timer, now - 5, 0, TIMER_ABSTIME) == 0);
	look();
	CHECK(diverted == 1 && sleep_until == now + AGAIN); /* until somebody takes it */
	handle(0);
	look();
	CHECK(handled == 3 && !sleep_until);
	delete(timer);
}

static int turns;
static long answers[4];

static long fake_call(long number, const long *arguments)
{
	(void)number, (void)arguments;
	CHECK(signal_state_of(current)->depth == 1 && !thread_cancelled(current));
	return answers[turns++];
}

static long made(long number, long first, long second)
{
	const long arguments[6] = { 0 };

	turns = 0;
	answers[0] = first;
	answers[1] = second;
	return signal_call(number, arguments, fake_call);
}

/* A thread in the layer is never put elsewhere; its sleep ends, and its handlers run at the end of its call. */
static void sleepers(void)
{
	static uint32_t word;

	install(SIGUSR1, 0);
	current = &threads[1];
	CHECK(CALL(tkill, 1, SIGUSR1) == 0);
	current = threads;
	threads[0].futex = &word;
	look();
	CHECK(!diverted && interrupted == 1 && threads[0].cancel == &signal_interrupted && sleep_until == now + AGAIN);
	threads[0].futex = 0;
	CHECK(made(SYS_nanosleep, -EINTR, 7) == -EINTR && handled == 1 && !threads[0].cancel);
	poller = threads;
	install(SIGUSR1, SA_RESTART);
	current = &threads[1];
	CHECK(CALL(tkill, 1, SIGUSR1) == 0);
	current = threads;
	look();
	CHECK(!diverted && interrupted == 1);
	poller = 0;
	CHECK(made(SYS_read, -EINTR, 7) == 7 && handled == 1 && turns == 2 && !signal_state_of(current)->depth);
	signal_state_of(&threads[0])->restarts = false;
	current = &threads[1];
	CHECK(CALL(tkill, 1, SIGUSR1) == 0);
	current = threads;
	CHECK(made(SYS_nanosleep, -EINTR, 7) == -EINTR && handled == 2); /* never made again, but with what is left */
	threads[0].cancel = &signal_interrupted; /* it had just left its last call */
	CHECK(made(SYS_read, 7, 0) == 7 && !threads[0].cancel);
	install(SIGUSR1, 0);
	signal_state_of(threads)->depth = 1;
	CHECK(CALL(tkill, 7, 0) == 0);
	current = &threads[1];
	CHECK(CALL(tkill, 1, SIGUSR1) == 0);
	look();
	CHECK(!diverted && interrupted == 1);
	current = threads;
	signal_state_of(threads)->depth = 0;
	look();
	CHECK(diverted == 1);
	handle(0);
	CHECK(handled == 1);
}

static void choices(void)
{
	install(SIGUSR1, 0);
	install(SIGUSR2, 0);
	block(B(SIGUSR1));
	CHECK(CALL(kill, 1, SIGUSR1) == 0 && !handled); /* to the process: the other one does not block it */
	look();
	CHECK(diverted == 2);
	handle(1);
	look();
	CHECK(handled == 1 && !diverted && !sleep_until);
	current = &threads[1];
	block(B(SIGUSR1));
	CHECK(CALL(kill, 1, SIGUSR1) == 0 && CALL(tkill, 1, SIGUSR2) == 0);
	look();
	CHECK(diverted == 1); /* nobody takes the other one */
	handle(0);
	CHECK(seen.si_signo == SIGUSR2);
	block(0);
	CHECK(handled == 3 && seen.si_signo == SIGUSR1);
	current = threads;
	signal_state_of(&threads[1])->waits = true; /* in pause(), where it takes it by itself */
	CHECK(CALL(kill, 1, SIGUSR1) == 0);
	look();
	CHECK(handled == 3 && !diverted && !interrupted);
	signal_state_of(&threads[1])->waits = false;
	block(0);
	CHECK(handled == 4);
	const long timer = create(CLOCK_REALTIME, 4 /* SIGEV_THREAD_ID */, SIGUSR2, 7);
	CHECK(timer == 0 && arm(timer, now + OFFSET + 10, 0, TIMER_ABSTIME) == 0);
	look();
	CHECK(!diverted && sleep_until == now + 10);
	now += 10;
	CHECK(CALL(tkill, 7, SIGUSR1) == 0 && CALL(kill, 1, 0) == 0);
	look();
	CHECK(diverted == 2);
	handle(1);
	delete(timer);
}

static void refusals(void)
{
	long timer;
	struct itimerspec left;

	CHECK(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 65, 0) == -EINVAL && create(CLOCK_MONOTONIC, 77, 1, 0) == -EINVAL);
	CHECK(create(CLOCK_MONOTONIC, 4, SIGUSR1, 8) == -EINVAL && create(70, SIGEV_SIGNAL, SIGUSR1, 0) == -EINVAL);
	CHECK(create(CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL, SIGUSR1, 0) == -ENOTSUP);
	for (timer = 0; timer < TIMERS; timer++)
		CHECK(create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0) == timer);
	CHECK(create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0) == -EAGAIN && arm(TIMERS, 1, 0, 0) == -EINVAL);
	CHECK(arm(3, 2000000000, 7, 0) == 0 && CALL(timer_gettime, 3, P(&left)) == 0);
	CHECK(left.it_value.tv_sec == 2 && left.it_interval.tv_nsec == 7);
	now += 1000000000;
	CHECK(CALL(timer_gettime, 3, P(&left)) == 0 && left.it_value.tv_sec == 1);
	now += 1000000000;
	look();
	CHECK(!diverted && !interrupted && CALL(timer_gettime, 3, P(&left)) == 0 && left.it_value.tv_nsec == 7);
	for (timer = 0; timer < TIMERS; timer++)
		delete(timer);
}

/* By the time that threads have run: with two cores it takes half of that at least. */
static void cpu_timers(void)
{
	const long timer = create(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, SIGUSR1, 0);

	install(SIGUSR1, 0);
	CHECK(timer == 0 && arm(timer, 10000000, 0, 0) == 0);
	look();
	CHECK(!diverted && sleep_until == now + 5000000);
	cpu_time += 9500000;
	look();
	CHECK(!diverted && sleep_until == now + 1000000);
	cpu_time += 500000;
	look();
	CHECK(diverted == 1);
	handle(0);
	CHECK(handled == 1);
	delete(timer);
}

int main(void)
{
	expirations();
	sleepers();
	choices();
	refusals();
	cpu_timers();
	return 0;
}
