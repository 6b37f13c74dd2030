/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer's platform on Linux, so that it can be tested without booting:
 * notifications are futexes, threads are Linux threads, the heap is mapped
 * where Skerry has it. Linux's own system calls appear here only.
 */
#include <errno.h>
#include <sys/mman.h>
#include <skerry/errors.h>
#include "layer.h"
#include "linux-call.h"
#include "platform.h"

/* net-host.c, when linked: false as long as there are no sockets. */
__attribute__((weak)) bool net_host_sleep(const struct timespec *timeout) { (void)timeout; return false; }
__attribute__((weak)) bool net_host_wake(void) { return false; }

enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, HEAP = 256 << 20 };
enum { HOST_CORES = 4 }; /* of the program; Linux places its threads */

static struct process_info info = { .magic = PROCESS_INFO_MAGIC, .size = sizeof(info), .heap_size = HEAP,
                                    .core_count = HOST_CORES, .name = "host@0" };
/* 1: signalled. Behind those of threads and network are the second ones of threads, for locks. */
enum { LOCKS = PLATFORM_NET + 1 };
static _Atomic int word[LOCKS + THREADS_MAX];
static uint64_t started;

const struct process_info *platform_info(void) { return &info; }
const void *platform_files(void) { return 0; }
/* No volumes. */
struct file_port *platform_volume(unsigned volume) { (void)volume; return 0; }
void platform_volume_ask(unsigned volume) { (void)volume; }
void platform_volume_wait(unsigned volume) { (void)volume; }
bool platform_is_touched(uintptr_t address) { (void)address; return true; }

/* As the manager: a few steps at a time, and only of so many ranges. */
int64_t platform_protect(uintptr_t address, size_t size, unsigned rights)
{
	static struct page_rights list;
	const size_t some = size < 4 * PROCESS_HEAP_STEP ? size : 4 * PROCESS_HEAP_STEP;
	const int prot = (rights & RIGHT_READ ? PROT_READ : 0) | (rights & RIGHT_WRITE ? PROT_WRITE : 0) |
	                 (rights & RIGHT_EXECUTE ? PROT_EXEC : 0);

	if (!page_rights_set(&list, address / PAGE, some / PAGE, rights))
		return -SKERRY_NO_RESOURCE;
	return linux_call(SYS_mprotect, (long)address, (long)some, prot, 0, 0, 0) ? -SKERRY_NO_MEMORY : (int64_t)some;
}

/* The cycle counter's rate, measured against Linux's clock for 20 ms. */
static uint64_t measure_tsc(void)
{
	struct timespec start, now;
	uint64_t cycles = clock_cycles();
	int64_t ns;

	linux_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&start, 0, 0, 0, 0);
	do {
		linux_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
		ns = (now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec;
	} while (ns < 20000000);
	return (uint64_t)((unsigned __int128)(clock_cycles() - cycles) * 1000000000 / (uint64_t)ns);
}

void platform_start(void)
{
	struct timespec now;

	started = clock_cycles();
	linux_call(SYS_mmap, (long)PROCESS_HEAP_VADDR, HEAP, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	info.tsc_hz = measure_tsc();
	linux_call(SYS_clock_gettime, CLOCK_REALTIME, (long)&now, 0, 0, 0, 0);
	info.epoch = (uint64_t)now.tv_sec;
	info.epoch_tsc =
		clock_cycles() - (uint64_t)((unsigned __int128)(uint64_t)now.tv_nsec * info.tsc_hz / 1000000000);
	linux_call(SYS_getrandom, (long)info.random, sizeof(info.random), 0, 0, 0, 0);
}

void platform_wait(unsigned notification, uint64_t deadline)
{
	struct timespec timeout = { 0 };

	while (!__atomic_exchange_n(&word[notification], 0, __ATOMIC_ACQ_REL)) {
		if (deadline) {
			uint64_t now = clock_cycles();
			if (now >= deadline)
				return;
			uint64_t ns = (uint64_t)((unsigned __int128)(deadline - now) * 1000000000 / info.tsc_hz) + 1000;
			timeout = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
		}
		const struct timespec *limit = deadline ? &timeout : 0;
		if (notification == PLATFORM_NET && net_host_sleep(limit))
			return;
		linux_call(SYS_futex, (long)&word[notification], FUTEX_WAIT_PRIVATE, 0, (long)limit, 0, 0);
	}
}

void platform_signal(unsigned notification)
{
	__atomic_store_n(&word[notification], 1, __ATOMIC_RELEASE);
	if (notification == PLATFORM_NET && net_host_wake())
		return;
	linux_call(SYS_futex, (long)&word[notification], FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* Nothing here has a peer. */
void platform_signal_peer(uint64_t slot) { (void)slot; }
void platform_signal_wait(uint64_t slot, unsigned notification, uint64_t deadline)
{
	(void)slot;
	platform_wait(notification, deadline);
}

void platform_yield(void) { linux_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0); }
int platform_set_tls(uintptr_t tls) { return (int)linux_call(SYS_arch_prctl, 0x1002, (long)tls, 0, 0, 0, 0); }
uint64_t platform_thread_time(unsigned index) { return index ? 0 : clock_cycles() - started; }

/* The child pops its entry and arguments off its new stack. */
__asm__(".text\n"
        "host_clone:\n"
        "	mov %rcx, -8(%rsi)\n"
        "	mov %r8, -16(%rsi)\n"
        "	mov %r9, -24(%rsi)\n"
        "	sub $24, %rsi\n"
        "	mov %rdx, %r8\n" /* tls */
        "	xor %edx, %edx\n"
        "	xor %r10d, %r10d\n"
        "	mov $56, %eax\n"
        "	syscall\n"
        "	test %rax, %rax\n"
        "	jnz 1f\n"
        "	pop %rsi\n"
        "	pop %rdi\n"
        "	pop %rax\n"
        "	xor %ebp, %ebp\n"
        "	call *%rax\n"
        "	hlt\n"
        "1:	ret\n");
long host_clone(unsigned long flags, uintptr_t stack, uintptr_t tls, void (*entry)(void *, void *), void *, void *);

/* A thread that runs is interrupted at the end of its next call. */
bool platform_interrupt(unsigned index, const volatile unsigned *depth, void (*entry)(void))
{
	(void)index, (void)depth, (void)entry;
	return false;
}

#ifdef LAYER_CORES

/* As on Skerry: a place has one stack for the last steps of its thread, and is used again when that has taken them. */
static _Atomic int ending[THREADS_MAX];
static _Alignas(16) char last_stack[THREADS_MAX][4096];

static void await_end(unsigned index)
{
	while (atomic_load_explicit(&ending[index], memory_order_acquire))
		platform_yield();
	atomic_store_explicit(&ending[index], 1, memory_order_relaxed);
}

static _Noreturn void end_on_other_stack(unsigned index)
{
	thread_leave(index);
	for (;;)
		__asm__ volatile("movl $0, (%0)\n\tsyscall"
		                 : : "r"(&ending[index]), "a"((long)SYS_exit), "D"(0L) : "rcx", "r11", "memory");
}

_Noreturn void platform_thread_end(unsigned index)
{
	__asm__ volatile("mov %0, %%rsp\n\tcall *%1"
	                 : : "r"(last_stack[index] + sizeof(last_stack[index])), "r"(end_on_other_stack), "D"(index)
	                 : "memory");
	__builtin_unreachable();
}

void platform_signal_set(uint64_t set)
{
	for (; set; set &= set - 1)
		platform_signal((unsigned)__builtin_ctzll(set));
}

void platform_lock_sleep(unsigned self) { platform_wait(LOCKS + self, 0); }
void platform_lock_wake(unsigned thread) { platform_signal(LOCKS + thread); }
int platform_move(unsigned index, unsigned core) { (void)index, (void)core; return 0; }
void platform_fence(void) { linux_call(SYS_membarrier, 1 /* MEMBARRIER_CMD_GLOBAL */, 0, 0, 0, 0, 0); }

#else

static void await_end(unsigned index) { (void)index; }

_Noreturn void platform_thread_end(unsigned index, _Atomic int *lock)
{
	(void)index;
	for (;;)
		__asm__ volatile("movl $0, (%0)\n\tsyscall" : : "r"(lock), "a"((long)SYS_exit), "D"(0L) : "rcx", "r11",
		                 "memory");
}

#endif

int platform_thread_start(unsigned index, uintptr_t stack, uintptr_t tls,
                          void (*entry)(void *, void *), void *argument, void *argument2)
{
	await_end(index);
	/* VM FS FILES SIGHAND THREAD SYSVSEM SETTLS */
	long result = host_clone(0x00010f00 | 0x00040000 | 0x00080000, stack, tls, entry, argument, argument2);
	return result < 0 ? (int)result : 0;
}

void platform_write(const char *text, size_t size) { linux_call(SYS_write, 1, (long)text, (long)size, 0, 0, 0); }
_Noreturn void platform_exit(int status)
{
	for (;;)
		linux_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

/* Results appear as lines that begin with "result "; there is nobody to wait for. */
int platform_manager_text(enum manager_request request, const char *text, size_t size, uint64_t *answer)
{
	if (answer)
		*answer = 0;
	if (request != MANAGER_RESULT)
		return -SKERRY_NOT_FOUND;
	platform_write("result ", 7);
	platform_write(text, size);
	platform_write("\n", 1);
	return 0;
}

int platform_manager_word(enum manager_request request, uint64_t value)
{
	(void)request, (void)value;
	return 0;
}

int platform_manager_record(enum manager_request request, const uint64_t words[3], void *record, size_t size)
{
	(void)request, (void)words, (void)record, (void)size;
	return -SKERRY_NOT_FOUND;
}
