/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer's platform on Skerry. Thread i's TCB, notification and IPC buffer
 * are made when index i is first used and kept. Their slots follow
 * PROCESS_SLOT_FREE: two for each thread.
 */
#include <errno.h>
#include <string.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "layer.h"
#include "platform.h"

/*
 * Notification of thread i, then TCB of thread i, then frame i of IPC buffers: thread 0's TCB is PROCESS_SLOT_TCB, and
 * the first frame, for PROCESS_IPC_BUFFERS threads, PROCESS_SLOT_IPC_FRAME. The others are mapped behind it.
 */
enum {
	SLOT_NOTIFICATION = PROCESS_SLOT_FREE,
	SLOT_TCB = SLOT_NOTIFICATION + THREADS_MAX,
	SLOT_IPC_FRAME = SLOT_TCB + THREADS_MAX,
	IPC_FRAMES = THREADS_MAX / PROCESS_IPC_BUFFERS,
};

_Static_assert(SLOT_IPC_FRAME + IPC_FRAMES <= PROCESS_SLOT_CABLE_WAKE, "each thread has its slots");
_Static_assert(sizeof(struct ipc_buffer) * PROCESS_IPC_BUFFERS == PAGE && THREADS_MAX % PROCESS_IPC_BUFFERS == 0,
               "whole frames");

const struct process_info *platform_info(void) { return (const struct process_info *)PROCESS_INFO_VADDR; }

/* Returns whether the address is mapped. A bit that the manager sets meanwhile is missed: the answer is a moment old
 * then. */
bool platform_is_touched(uintptr_t address)
{
	const struct process_touched *touched = (const struct process_touched *)PROCESS_TOUCHED_VADDR;
	const uint64_t stack = address - (PROCESS_STACK_TOP - PROCESS_STACK_SIZE), heap = address - PROCESS_HEAP_VADDR;

	if (stack < PROCESS_STACK_SIZE)
		return __atomic_load_n(&touched->stack, __ATOMIC_ACQUIRE) >> stack / PROCESS_STACK_STEP & 1;
	const uint64_t step = heap / PROCESS_HEAP_STEP;
	if (!(__atomic_load_n(&touched->heap[step / 64], __ATOMIC_ACQUIRE) >> step % 64 & 1))
		return false;
	for (unsigned i = 0; i < PROCESS_SPLITS; i++) {
		const uint64_t split = __atomic_load_n(&touched->split[i].step, __ATOMIC_ACQUIRE);
		if (split == 0)
			return true;
		if (split == step + 1)
			return __atomic_load_n(&touched->split[i].parts,
			                       __ATOMIC_ACQUIRE) >> heap % PROCESS_HEAP_STEP / PROCESS_STACK_STEP & 1;
	}
	return true;
}

const void *platform_files(void) { return (const void *)PROCESS_FILES_VADDR; }

static struct ipc_buffer *buffer_of(unsigned index)
{
	require(index < THREADS_MAX);
	return (struct ipc_buffer *)PROCESS_IPC_VADDR + index;
}

static uint64_t tcb_of(unsigned index) { return index ? SLOT_TCB + index : PROCESS_SLOT_TCB; }

static uint64_t slot_of(unsigned notification)
{
	require(notification < THREADS_MAX || notification == PLATFORM_NET);
	return notification == PLATFORM_NET ? PROCESS_SLOT_WAKE : SLOT_NOTIFICATION + notification;
}

void platform_start(void)
{
	int error = untyped_retype(buffer_of(0), PROCESS_SLOT_UNTYPED, OBJECT_NOTIFICATION, 0, PROCESS_SLOT_CNODE,
	                           SLOT_NOTIFICATION, THREADS_MAX);
	for (unsigned i = 0; !error && platform_info()->locality && i < THREADS_MAX; i++)
		error = cnode_set_locality(PROCESS_SLOT_CNODE, SLOT_NOTIFICATION + i, platform_info()->locality);
	if (error)
		console_log("posix: no notifications (error %d): threads cannot wait", -error);
}

void platform_wait(unsigned notification, uint64_t deadline) { platform_signal_wait(0, notification, deadline); }

void platform_signal_peer(uint64_t slot) { notification_signal(slot); }

void platform_signal_wait(uint64_t slot, unsigned notification, uint64_t deadline)
{
	int error = slot ? notification_signal_wait(slot, slot_of(notification), deadline, 0)
			 : notification_wait(slot_of(notification), deadline, 0);

	if (error && error != -SKERRY_TIMED_OUT)
		thread_yield(); /* a missing notification: callers look again, which makes them poll */
}

void platform_signal(unsigned notification) { notification_signal(slot_of(notification)); }
/*
 * For loops that wait for a lock. Its holder may sleep, in a page fault or in a call to another node: then the loop
 * uses the whole core. PAUSE lets a hardware thread beside it run, and where emulated cores take turns the next core.
 */
void platform_yield(void)
{
	__builtin_ia32_pause();
	thread_yield();
}

int platform_set_tls(uintptr_t tls) { return tcb_set_tls(PROCESS_SLOT_TCB, tls) ? -EINVAL : 0; }

uint64_t platform_thread_time(unsigned index)
{
	uint64_t cycles;

	tcb_time(tcb_of(index), &cycles);
	return cycles;
}

static uint64_t ipc_frame_of(unsigned index)
{
	return index < PROCESS_IPC_BUFFERS ? PROCESS_SLOT_IPC_FRAME : SLOT_IPC_FRAME + index / PROCESS_IPC_BUFFERS;
}

/* The frame with the thread's IPC buffer: made for the first thread that needs it. */
static int make_ipc_frame(struct ipc_buffer *ipc, unsigned index)
{
	static bool made[IPC_FRAMES] = { true };
	const unsigned frame = index / PROCESS_IPC_BUFFERS;
	int error;

	require(frame < IPC_FRAMES);
	if (made[frame])
		return 0;
	error = untyped_retype(ipc, PROCESS_SLOT_UNTYPED, OBJECT_FRAME_4K, 0, PROCESS_SLOT_CNODE, ipc_frame_of(index),
	                       1);
	if (!error)
		error = frame_map(ipc, ipc_frame_of(index), PROCESS_SLOT_VSPACE,
		                  PROCESS_IPC_VADDR + (uint64_t)frame * PAGE,
		                  RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
	made[frame] = !error;
	return error;
}

static int make_tcb(struct ipc_buffer *ipc, unsigned index)
{
	int error = make_ipc_frame(ipc, index);

	if (!error)
		error = untyped_retype(ipc, PROCESS_SLOT_UNTYPED, OBJECT_TCB, 0, PROCESS_SLOT_CNODE, tcb_of(index), 1);
	if (!error)
		error = tcb_configure(ipc, tcb_of(index), PROCESS_SLOT_CNODE, PROCESS_SLOT_VSPACE,
		                      ipc_frame_of(index), (uint64_t)buffer_of(index), PROCESS_SLOT_FAULT);
	if (!error)
		error = tcb_schedule(ipc, tcb_of(index), PROCESS_SLOT_TCB, PROCESS_PRIORITY, platform_info()->core);
	return error;
}

int platform_thread_start(unsigned index, uintptr_t stack, uintptr_t tls,
                          void (*entry)(void *, void *), void *argument, void *argument2)
{
	static bool made[THREADS_MAX];
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	int error = 0;

	require(index && index < THREADS_MAX && stack % 16 == 0);
	if (made[index])
		error = tcb_suspend(tcb_of(index)); /* it may be about to do so itself */
	else if (!(error = make_tcb(ipc, index)))
		made[index] = true;
	struct thread_registers registers = {
		.rip = (uint64_t)entry,
		.rsp = stack - 8, /* as after a call */
		.rflags = 0x202,
		.rdi = (uint64_t)argument,
		.rsi = (uint64_t)argument2,
		.fs_base = tls,
	};
	*(uint64_t *)registers.rsp = 0;
	if (!error)
		error = tcb_write_registers(ipc, tcb_of(index), 1, &registers);
	if (error)
		console_log("posix: cannot start thread %u (error %d)", index, -error);
	return error ? -EAGAIN : 0;
}

_Noreturn void platform_thread_end(unsigned index, _Atomic int *lock)
{
	const uint64_t info = message_info(TCB_SUSPEND, 0, 0);

	for (;;)
		__asm__ volatile("movl $0, (%0)\n\t"
		                 "syscall"
		                 : : "r"(lock), "a"((uint64_t)SYS_CALL), "D"(tcb_of(index)), "S"(info)
		                 : "rcx", "r11", "memory");
}

/* One request to the manager; `text` from word 1 on, its length in word 0. */
static int manager_call(enum manager_request request, const char *text, size_t size, uint64_t *answer)
{
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	uint64_t words[MESSAGE_REGISTERS] = { size };
	const size_t head = sizeof(words) - sizeof(words[0]);
	size_t first = size < head ? size : head;

	require(size <= MANAGER_BYTES);
	memcpy(words + 1, text, first);
	memcpy(ipc->words + MESSAGE_REGISTERS, text + first, size - first);
	struct message m = { .info = message_info(request, 0, 1 + (unsigned)(size + 7) / 8) };
	memcpy(m.word, words, sizeof(words));
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);
	if (answer)
		*answer = m.word[1];
	return error ? error : -(int)message_label(m.info);
}

int platform_manager_text(enum manager_request request, const char *text, size_t size, uint64_t *answer)
{
	return size <= MANAGER_BYTES ? manager_call(request, text, size, answer) : -SKERRY_BAD_ARGUMENT;
}

int platform_manager_word(enum manager_request request, uint64_t word)
{
	struct message m = { .info = message_info(request, 0, 1), .word = { word } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	return error ? error : -(int)message_label(m.info);
}

int platform_manager_record(enum manager_request request, const uint64_t words[3], void *record, size_t size)
{
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	struct message m = { .info = message_info(request, 0, 3), .word = { words[0], words[1], words[2] } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	if (error || message_label(m.info))
		return error ? error : -(int)message_label(m.info);
	if (message_words(m.info) * 8 != size || size < sizeof(m.word))
		return -SKERRY_PROTOCOL;
	memcpy(record, m.word, sizeof(m.word));
	memcpy((char *)record + sizeof(m.word), ipc->words + MESSAGE_REGISTERS, size - sizeof(m.word));
	return 0;
}

int64_t platform_protect(uintptr_t address, size_t size, unsigned rights)
{
	struct message m = { .info = message_info(MANAGER_PROTECT, 0, 3), .word = { address, size, rights } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	return error ? error : message_label(m.info) ? -(int64_t)message_label(m.info) : (int64_t)m.word[0];
}

void platform_write(const char *text, size_t size) { manager_call(MANAGER_WRITE, text, size, 0); }

_Noreturn void platform_exit(int status)
{
	for (;;)
		platform_manager_word(MANAGER_EXIT, (uint64_t)status);
}
