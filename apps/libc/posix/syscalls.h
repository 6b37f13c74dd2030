/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of Linux that the layer implements. A handler gets the six
 * arguments and returns what Linux would. LOCKED ones run under the layer's
 * lock; UNLOCKED ones touch nothing that threads share, or lock themselves.
 */
#pragma once

enum { CALLS_MAX = 512 }; /* numbers of system calls are less */

#ifdef LAYER_CORES
#define LOCKED_BUT_CORES(X)
#define UNLOCKED_CORES(X) X(futex)
#else
#define LOCKED_BUT_CORES(X) X(futex)
#define UNLOCKED_CORES(X)
#endif

#define UNLOCKED_CALLS(X) \
	UNLOCKED_CORES(X) \
	X(clock_gettime) X(clock_getres) X(gettimeofday) X(time) X(getpid) X(getppid) X(gettid) \
	X(getpgid) X(getsid) X(setsid) X(uname) X(getrusage) X(times) \
	X(getrlimit) X(setrlimit) X(prlimit64) X(sched_yield) X(sched_getaffinity) X(sched_setaffinity) \
	X(sched_getparam) X(sched_setparam) X(sched_rr_get_interval) X(sched_getscheduler) X(sched_setscheduler) \
	X(sched_get_priority_max) X(sched_get_priority_min) X(getpriority) X(setpriority) X(getcpu) \
	X(rt_sigaction) X(rt_sigprocmask) X(rt_sigpending) X(rt_sigsuspend) X(rt_sigtimedwait) X(rt_sigqueueinfo) \
	X(sigaltstack) \
	X(kill) X(tkill) X(tgkill) X(pause) \
	X(prctl) X(arch_prctl) X(set_tid_address) X(set_robust_list) X(get_robust_list) X(membarrier) X(umask) \
	X(mlockall) X(munlockall) X(alarm) X(setitimer) X(getitimer)

/* The form for several processes has these (family.h). */
#define FAMILY_CALLS(X) X(fork) X(vfork) X(execve) X(execveat) X(wait4) X(waitid) X(setpgid) X(getpgrp)

#define LOCKED_CALLS(X) \
	X(read) X(write) X(readv) X(writev) X(pread64) X(pwrite64) X(preadv) X(pwritev) X(sendfile) \
	X(lseek) X(close) X(ioctl) \
	X(open) X(openat) X(creat) X(stat) X(lstat) X(fstat) X(newfstatat) X(statfs) X(fstatfs) X(access) X(faccessat) \
	X(readlink) X(readlinkat) X(mkdir) X(mkdirat) X(rmdir) X(unlink) X(unlinkat) X(rename) X(renameat) \
	X(renameat2) X(link) X(linkat) \
	X(truncate) X(ftruncate) X(fsync) X(fdatasync) X(sync) X(sync_file_range) X(fallocate) X(fadvise64) X(flock) \
	X(chmod) X(fchmod) X(fchmodat) X(chown) X(lchown) X(fchown) X(fchownat) X(chdir) X(fchdir) X(getcwd) X(getdents64) \
	X(utimensat) \
	X(dup) X(dup2) X(dup3) X(fcntl) X(pipe) X(pipe2) X(eventfd) X(eventfd2) \
	X(getuid) X(geteuid) X(getgid) X(getegid) X(setuid) X(setgid) X(setreuid) X(setregid) X(setresuid) \
	X(setresgid) \
	X(getresuid) X(getresgid) X(getgroups) X(setgroups) \
	X(poll) X(ppoll) X(select) X(pselect6) \
	X(epoll_create) X(epoll_create1) X(epoll_ctl) X(epoll_wait) X(epoll_pwait) \
	X(socket) X(socketpair) X(bind) X(listen) X(accept) X(accept4) X(connect) X(getsockname) X(getpeername) \
	X(setsockopt) X(getsockopt) X(shutdown) X(sendto) X(recvfrom) X(sendmsg) X(recvmsg) \
	X(mmap) X(munmap) X(mprotect) X(mremap) X(msync) X(madvise) X(mlock) X(munlock) X(brk) \
	X(timer_create) X(timer_settime) X(timer_gettime) X(timer_getoverrun) X(timer_delete) \
	LOCKED_BUT_CORES(X) X(exit) X(exit_group) X(nanosleep) X(clock_nanosleep) X(getrandom) X(sysinfo)
