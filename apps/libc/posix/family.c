/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() and what belongs to it. The manager copies the process (skerry/process.h); this gives it the place where the
 * child begins, and sets right what in the layer is not true of a copy (family.h).
 *
 * A child has its parent's descriptors. Pipes and socket pairs are shared (family-stream.h), and files of volumes, with
 * their offsets and locks (family-volume.c, family-lock.c). Files in memory are copied with the rest: what one process
 * writes the others do not see, and offsets are not shared from the fork on. The same holds for event counters and
 * memory that is mapped with MAP_SHARED.
 *
 * The network is the first process's alone: a child runs none of it, and cannot reach the sockets that it inherits.
 *
 * Signals between processes are in family-signals.c.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "family.h"
#include "platform.h"

/* An executable that has this note may be several processes (deploy/base/elf.py reads it). */
__asm__(".pushsection .note.skerry, \"a\", @note\n\t"
        ".balign 4\n\t"
        ".long 7, 0, 2\n\t" /* size of the name, size of the content, type */
        ".asciz \"Skerry\"\n\t"
        ".balign 4\n\t"
        ".popsection");

enum { FIRST = 1 };

int process_id = FIRST;
static int parent_id;  /* 0: the first process has none */
static int ended_by;   /* signal */

/* Leaves one thread of all, whatever the others were about to do; they held nothing of the layer's. */
static void child_begin(const struct thread *self)
{
	const unsigned index = self->index;

	require(layer_is_locked());
	platform_forked();
	malloc_forked(index == 0);
	event_forked();
	family_locks_forked();
	descriptors_forked();
	signal_forked(index);
	random_forked();
	thread_forked(self);
	interrupts_forked();
	timers_forked();
	family_signals_forked();
}

static long error_of(int error)
{
	return error == -SKERRY_NOT_FOUND ? -ENOSYS : error == -SKERRY_BUSY ? -EAGAIN : -ENOMEM;
}

/* Asks the manager for a child that begins at `rip`. Returns its pid or an error. */
static long fork_ask(uintptr_t rip, uintptr_t rsp)
{
	uint32_t pid;
	const int error = platform_fork(rip, rsp, thread_self()->tls, &pid);

	return error ? error_of(error) : (long)pid;
}

/*
 * Returns twice: in the child 0, with `ids` its pid and its parent's. All registers that a call keeps count as changed,
 * so that what the compiler has in them is on the stack when the manager copies it; the vector registers are nobody's
 * during a call. The stack's red zone is left alone.
 */
static __attribute__((noinline)) long fork_here(int ids[2])
{
	const unsigned mxcsr = __builtin_ia32_stmxcsr();
	uint16_t control;
	uint64_t pid, parent;
	long result;

	__asm__ volatile("fnstcw %0" : "=m"(control));
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
	                 "push %%rbp\n\t"
	                 "mov %%rsp, %%rbx\n\t"
	                 "and $-16, %%rsp\n\t"
	                 "mov %%rbx, %%rsi\n\t"
	                 "lea 1f(%%rip), %%rdi\n\t"
	                 "call *%%rax\n\t"
	                 "mov %%rbx, %%rsp\n\t"
	                 "jmp 2f\n"
	                 "1:\n\t" /* the child begins here */
	                 "xor %%eax, %%eax\n"
	                 "2:\n\t"
	                 "pop %%rbp\n\t"
	                 "lea 128(%%rsp), %%rsp"
	                 : "=a"(result), "=D"(pid), "=S"(parent)
	                 : "0"(fork_ask)
	                 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
	                   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
	                   "xmm13", "xmm14", "xmm15", "cc", "memory");
	if (result)
		return result;
	__builtin_ia32_ldmxcsr(mxcsr);
	__asm__ volatile("fldcw %0" : : "m"(control));
	ids[0] = (int)pid;
	ids[1] = (int)parent;
	return 0;
}

long sys_fork(const long *a)
{
	int ids[2];

	(void)a;
	layer_lock();
	family_signals_start();
	event_leave();
	volumes_fork();
	const long result = fork_here(ids);
	if (!result) {
		process_id = ids[0];
		parent_id = ids[1];
		child_begin(thread_self());
	}
	layer_unlock();
	return result;
}

long sys_vfork(const long *a) { return sys_fork(a); }

void family_born(int pid, int parent)
{
	process_id = pid;
	parent_id = parent;
	thread_born(pid);
}

int family_parent(void) { return parent_id; }

long sys_getpid(const long *a) { (void)a; return process_id; }

/* A process without its parent becomes a child of the first, as on Linux, but none waits for it. */
long sys_getppid(const long *a)
{
	bool self;

	(void)a;
	if (parent_id > FIRST && platform_kill(parent_id, 0, 0, 0, &self) == -SKERRY_NOT_FOUND)
		parent_id = FIRST;
	return parent_id;
}

long family_kill(long process, const struct pending_signal *p)
{
	bool self = false;

	const int error = platform_kill(process, (unsigned)p->number, p->code, (uint64_t)p->value.sival_ptr, &self);
	return error ? error == -SKERRY_NOT_FOUND ? -ESRCH : error == -SKERRY_BUSY ? -EAGAIN : -EPERM : self;
}

void family_ends_by(int number) { ended_by = number; }

/* The first process's end is the program's: its status is an exit status, as that of other programs. */
int family_status(int code) { return process_id == FIRST ? code & 0xff : ended_by ? ended_by : (code & 0xff) << 8; }

/* --- waiting --- */

/* Returns whether a signal ends the wait. */
static bool is_interrupted(void)
{
	layer_lock();
	family_receive();
	const bool due = signal_is_due(signal_state_of(thread_self()));
	layer_unlock();
	return due;
}

static uint32_t own_group(void)
{
	uint32_t group, session;

	return platform_group(GROUP_GET, 0, 0, &group, &session) ? 0 /* the map gives it one process */ : group;
}

/* Waits for a child that has ended, or what else `how` asks for (ASK_*), with this pid and in this group; 0: any.
 * Returns its pid, 0: there is none yet, or an error. */
static long wait_for(uint32_t pid, uint32_t group, unsigned how, uint64_t *status)
{
	const bool wait = !(how & ASK_NO_WAIT);
	struct child_end end = { 0 };
	int error = 0;

	layer_lock();
	event_leave();
	layer_unlock();
	while (!error && !end.pid) {
		error = platform_child(pid, group, how, &end);
		if (!wait)
			break;
		if (!error && !end.pid && is_interrupted())
			return -EINTR;
		if (error == -SKERRY_NO_RESOURCE) { /* as many of the family wait as can */
			platform_yield();
			error = 0;
		}
	}
	*status = end.status;
	return error == -SKERRY_NOT_FOUND ? -ECHILD : error ? -EAGAIN : (long)end.pid;
}

/* WUNTRACED is WSTOPPED. */
static unsigned asks(long options)
{
	return (options & WNOHANG ? ASK_NO_WAIT : 0) | (options & WSTOPPED ? ASK_STOPPED : 0) |
	       (options & WCONTINUED ? ASK_CONTINUED : 0);
}

long sys_wait4(const long *a)
{
	const int process = (int)a[0];
	uint64_t status;

	if ((int)a[2] & ~(WNOHANG | WUNTRACED | WCONTINUED))
		return -EINVAL;
	const long pid = wait_for(process > 0 ? (uint32_t)process : 0,
	                          process == 0 ? own_group() : process < -1 ? -(uint32_t)process : 0,
	                          asks(a[2]), &status);
	if (pid > 0 && a[1])
		*(int *)a[1] = (int)status;
	if (pid > 0 && a[3])
		memset((void *)a[3], 0, sizeof(struct rusage));
	return pid;
}

long sys_waitid(const long *a)
{
	siginfo_t *info = (siginfo_t *)a[2];
	uint64_t status;

	if (!(a[3] & (WEXITED | WSTOPPED | WCONTINUED)) || a[3] & ~(WNOHANG | WEXITED | WSTOPPED | WCONTINUED) ||
	    (a[0] != P_ALL && a[0] != P_PGID && (a[0] != P_PID || (int)a[1] <= 0)) || (a[0] == P_PGID && (int)a[1] < 0))
		return -EINVAL;
	const uint32_t its = (uint32_t)a[1];
	const long pid = wait_for(a[0] == P_PID ? its : 0, a[0] != P_PGID ? 0 : its ? its : own_group(),
	                          asks(a[3]) | (a[3] & WEXITED ? 0 : ASK_NOT_ENDED), &status);
	if (pid >= 0 && info) {
		memset(info, 0, sizeof(*info));
		info->si_signo = pid ? SIGCHLD : 0;
		info->si_code = !pid ? 0 : WIFEXITED(status) ? CLD_EXITED : WIFSTOPPED(status) ? CLD_STOPPED :
		                WIFCONTINUED(status) ? CLD_CONTINUED : CLD_KILLED;
		info->si_pid = (int)pid;
		info->si_status = !pid ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : WIFSTOPPED(status)
		                  ? WSTOPSIG(status) : WIFCONTINUED(status) ? SIGCONT : WTERMSIG(status);
	}
	return pid < 0 ? pid : 0;
}

/* --- process groups --- */

static long group_error(int error)
{
	return error == -SKERRY_NOT_FOUND ? -ESRCH : error == -SKERRY_NO_RIGHTS ? -EPERM : error ? -EINVAL : 0;
}

/* Returns the group, or the session, that the process has at the manager; alone it has its own. */
static long group_of(long pid, bool session)
{
	uint32_t its[2];
	const int error = platform_group(GROUP_GET, (uint64_t)pid, 0, &its[0], &its[1]);

	if (error == -SKERRY_NOT_FOUND && (pid == 0 || pid == process_id))
		return FIRST;
	return error ? group_error(error) : (long)its[session];
}

long sys_getpgid(const long *a) { return (int)a[0] < 0 ? -ESRCH : group_of((int)a[0], false); }
long sys_getsid(const long *a) { return (int)a[0] < 0 ? -ESRCH : group_of((int)a[0], true); }
long sys_getpgrp(const long *a) { return (void)a, group_of(0, false); }

long sys_setpgid(const long *a)
{
	uint32_t group, session;

	if ((int)a[1] < 0)
		return -EINVAL;
	return (int)a[0] < 0 ? -ESRCH
	       : group_error(platform_group(GROUP_SET, (uint64_t)(int)a[0], (uint64_t)(int)a[1], &group, &session));
}

long sys_setsid(const long *a)
{
	uint32_t group, session;

	(void)a;
	const int error = platform_group(GROUP_SESSION, 0, 0, &group, &session);
	return error ? -EPERM : (long)session;
}
