/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer's platform on Skerry. Thread i's TCB, notification and IPC buffer
 * are made when index i is first used and kept. Their slots follow
 * PROCESS_SLOT_FREE: two for each thread.
 */
#include <errno.h>
#include <string.h>
#include <skerry/file_port.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "family.h"
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
	SLOT_LOCK = SLOT_IPC_FRAME + IPC_FRAMES, /* a second notification of each thread, for locks (LAYER_CORES) */
	SLOT_FENCE = SLOT_TCB,                   /* a frame for platform_fence(): thread 0's TCB is elsewhere */
};

_Static_assert(SLOT_LOCK + THREADS_MAX <= PROCESS_SLOT_VOLUME_ANSWER, "each thread has its slots");
#ifdef LAYER_FAMILY
_Static_assert((int)SLOT_LOCK <= (int)PROCESS_SLOT_VOLUME_TURN, "what processes share is not the threads'");
#endif
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

struct file_port *platform_volume(unsigned volume)
{
	require(volume < platform_info()->volume_count);
	return (struct file_port *)(PROCESS_VOLUMES_VADDR + (uint64_t)volume * FILE_PORT_SIZE);
}

void platform_volume_ask(unsigned volume)
{
	notification_signal_wait(PROCESS_SLOT_VOLUME_WAKE + volume, PROCESS_SLOT_VOLUME_ANSWER + volume, 0, 0);
}

void platform_volume_wait(unsigned volume) { notification_wait(PROCESS_SLOT_VOLUME_ANSWER + volume, 0, 0); }

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

#ifdef LAYER_CORES
static int make_lock_notifications(void)
{
	int error = untyped_retype(buffer_of(0), PROCESS_SLOT_UNTYPED, OBJECT_NOTIFICATION, 0, PROCESS_SLOT_CNODE,
	                           SLOT_LOCK, THREADS_MAX);
	for (unsigned i = 0; !error && platform_info()->locality && i < THREADS_MAX; i++)
		error = cnode_set_locality(PROCESS_SLOT_CNODE, SLOT_LOCK + i, platform_info()->locality);
	return error;
}
#endif

void platform_start(void)
{
	int error = untyped_retype(buffer_of(0), PROCESS_SLOT_UNTYPED, OBJECT_NOTIFICATION, 0, PROCESS_SLOT_CNODE,
	                           SLOT_NOTIFICATION, THREADS_MAX);
	for (unsigned i = 0; !error && platform_info()->locality && i < THREADS_MAX; i++)
		error = cnode_set_locality(PROCESS_SLOT_CNODE, SLOT_NOTIFICATION + i, platform_info()->locality);
#ifdef LAYER_CORES
	if (!error)
		error = make_lock_notifications();
#endif
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

#ifdef LAYER_FAMILY
static bool frame_made[IPC_FRAMES] = { true };
#endif

/* The frame with the thread's IPC buffer: made for the first thread that needs it. */
static int make_ipc_frame(struct ipc_buffer *ipc, unsigned index)
{
#ifdef LAYER_FAMILY
	bool *const made = frame_made;
#else
	static bool made[IPC_FRAMES] = { true };
#endif
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

#ifdef LAYER_CORES

static _Atomic bool gone[THREADS_MAX]; /* the thread that had the index has nothing left to do but to end */

static int schedule_on(struct ipc_buffer *ipc, unsigned index, unsigned core)
{
	require(core < platform_info()->core_count);
	return tcb_schedule(ipc, tcb_of(index), PROCESS_SLOT_TCB, PROCESS_PRIORITY, platform_info()->cores[core].core);
}

static int schedule(struct ipc_buffer *ipc, unsigned index) { return schedule_on(ipc, index, core_of_thread(index)); }

/*
 * Makes the TCB of a thread that has ended usable again. On another core it may be between the release of the layer's
 * lock and its last system call, and may have a sleeper to wake. It needs no lock for that, so the caller may hold one.
 */
static int reuse_tcb(struct ipc_buffer *ipc, unsigned index)
{
	while (!atomic_load_explicit(&gone[index], memory_order_acquire))
		platform_yield();
	atomic_store_explicit(&gone[index], false, memory_order_relaxed);
	const int error = tcb_suspend(tcb_of(index)); /* returns when no core runs it */
	return error ? error : schedule(ipc, index);
}

#else

static int schedule(struct ipc_buffer *ipc, unsigned index)
{
	return tcb_schedule(ipc, tcb_of(index), PROCESS_SLOT_TCB, PROCESS_PRIORITY, platform_info()->core);
}

static int reuse_tcb(struct ipc_buffer *ipc, unsigned index)
{
	(void)ipc;
	return tcb_suspend(tcb_of(index)); /* it may be about to do so itself */
}

#endif

static int make_tcb(struct ipc_buffer *ipc, unsigned index)
{
	int error = make_ipc_frame(ipc, index);

	if (!error)
		error = untyped_retype(ipc, PROCESS_SLOT_UNTYPED, OBJECT_TCB, 0, PROCESS_SLOT_CNODE, tcb_of(index), 1);
	if (!error)
		error = tcb_configure(ipc, tcb_of(index), PROCESS_SLOT_CNODE, PROCESS_SLOT_VSPACE,
		                      ipc_frame_of(index), (uint64_t)buffer_of(index), PROCESS_SLOT_FAULT);
	if (!error)
		error = schedule(ipc, index);
	return error;
}

#ifdef LAYER_FAMILY
static bool tcb_made[THREADS_MAX];

/* Forgets what the parent made in its CNode: the child makes its own where it needs it. */
void platform_forked(void)
{
	memset(tcb_made, 0, sizeof(tcb_made));
	memset(frame_made, 0, sizeof(frame_made));
	frame_made[0] = true;
	platform_start();
}
#endif

int platform_thread_start(unsigned index, uintptr_t stack, uintptr_t tls,
                          void (*entry)(void *, void *), void *argument, void *argument2)
{
#ifdef LAYER_FAMILY
	bool *const made = tcb_made;
#else
	static bool made[THREADS_MAX];
#endif
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	int error = 0;

	require(index && index < THREADS_MAX && stack % 16 == 0);
	if (made[index])
		error = reuse_tcb(ipc, index);
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
#ifdef LAYER_CORES
	if (error)
		atomic_store_explicit(&gone[index], true, memory_order_relaxed); /* nobody runs there */
#endif
	if (error)
		console_log("posix: cannot start thread %u (error %d)", index, -error);
	return error ? -EAGAIN : 0;
}

#ifdef LAYER_CORES

void platform_lock_sleep(unsigned self)
{
	if (notification_wait(SLOT_LOCK + self, 0, 0))
		thread_yield(); /* there is no notification: platform_start() has said so */
}

void platform_signal_set(uint64_t set)
{
	if (!(set & (set - 1))) { /* one, or none */
		if (set)
			platform_signal((unsigned)__builtin_ctzll(set));
		return;
	}
	while (notification_signal_set(SLOT_NOTIFICATION, &set)) /* platform_start() has told of what is missing */
		set &= set - 1;
}

void platform_lock_wake(unsigned thread) { notification_signal(SLOT_LOCK + thread); }

int platform_move(unsigned index, unsigned core) { return schedule_on(buffer_of(thread_self()->index), index, core); }

/*
 * Removing a mapping makes every core on which the address space is loaded flush its TLB: the call returns when all of
 * them have taken that interrupt, which is a full barrier, as its return is (Intel SDM volume 3A, 8.3).
 */
void platform_fence(void)
{
	static bool made;
	const uint64_t address = PROCESS_IPC_VADDR + (uint64_t)IPC_FRAMES * PAGE;
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	int error = made ? 0 : untyped_retype(ipc, PROCESS_SLOT_UNTYPED, OBJECT_FRAME_4K, 0, PROCESS_SLOT_CNODE,
	                                      SLOT_FENCE, 1);

	require(layer_is_locked());
	made |= !error;
	if (!error)
		error = frame_map(ipc, SLOT_FENCE, PROCESS_SLOT_VSPACE, address, RIGHT_READ, CACHE_WRITE_BACK);
	if (!error)
		error = frame_unmap(SLOT_FENCE);
	if (error) {
		console_log("posix: no memory barrier (error %d)", -error);
		__builtin_trap(); /* the caller relies on it */
	}
}

static _Noreturn void end_on_other_stack(unsigned index)
{
	const uint64_t info = message_info(TCB_SUSPEND, 0, 0);

	thread_leave(index); /* the thread's own stack may be another's from here on */
	atomic_store_explicit(&gone[index], true, memory_order_release);
	for (;;)
		__asm__ volatile("syscall" : : "a"((uint64_t)SYS_CALL), "D"(tcb_of(index)), "S"(info)
		                 : "rcx", "r11", "memory");
}

/* The thread's last stack is its IPC buffer, of which it needs nothing more: the calls that it makes use registers. */
_Noreturn void platform_thread_end(unsigned index)
{
	struct ipc_buffer *ipc = buffer_of(index);

	_Static_assert(sizeof(ipc->words) >= 896 && sizeof(ipc->words) % 16 == 0, "room for a few frames");
	__asm__ volatile("mov %0, %%rsp\n\t"
	                 "xor %%ebp, %%ebp\n\t"
	                 "call *%1"
	                 : : "r"(ipc->words + MESSAGE_WORDS_MAX), "r"(end_on_other_stack), "D"(index) : "memory");
	__builtin_unreachable();
}

#else

_Noreturn void platform_thread_end(unsigned index, _Atomic int *lock)
{
	const uint64_t info = message_info(TCB_SUSPEND, 0, 0);

	for (;;)
		__asm__ volatile("movl $0, (%0)\n\t"
		                 "syscall"
		                 : : "r"(lock), "a"((uint64_t)SYS_CALL), "D"(tcb_of(index)), "S"(info)
		                 : "rcx", "r11", "memory");
}

#endif

bool platform_interrupt(unsigned index, const volatile unsigned *depth, void (*entry)(void))
{
	enum { RED_ZONE = 128 };
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	struct thread_registers registers;
	bool done = false;

	if (tcb_suspend(tcb_of(index))) /* returns when no core runs it */
		return false;
	if (!*depth && !tcb_read_registers(ipc, tcb_of(index), &registers)) {
		registers.rsp -= RED_ZONE + sizeof(registers.rip);
		memcpy((void *)registers.rsp, &registers.rip, sizeof(registers.rip));
		registers.rip = (uint64_t)entry;
		done = !tcb_write_registers(ipc, tcb_of(index), 0, &registers);
	}
	tcb_resume(tcb_of(index));
	return done;
}

/* One request to the manager; `text` from word 1 on, its length in word 0. No handler runs before its answer, for what
 * that one asks the manager would be in the same buffer. */
static int manager_call(enum manager_request request, const char *text, size_t size, uint64_t *answer)
{
	struct ipc_buffer *ipc = buffer_of(thread_self()->index);
	uint64_t words[MESSAGE_REGISTERS] = { size };
	const size_t head = sizeof(words) - sizeof(words[0]);
	size_t first = size < head ? size : head;

	require(size <= MANAGER_BYTES);
	family_enter();
	memcpy(words + 1, text, first);
	memcpy(ipc->words + MESSAGE_REGISTERS, text + first, size - first);
	struct message m = { .info = message_info(request, 0, 1 + (unsigned)(size + 7) / 8) };
	memcpy(m.word, words, sizeof(words));
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);
	if (answer)
		*answer = m.word[1];
	family_leave();
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

static int take_record(enum manager_request request, const uint64_t words[3], void *record, size_t size)
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

int platform_manager_record(enum manager_request request, const uint64_t words[3], void *record, size_t size)
{
	family_enter();
	const int error = take_record(request, words, record, size);
	family_leave();
	return error;
}

int64_t platform_protect(uintptr_t address, size_t size, unsigned rights)
{
	struct message m = { .info = message_info(MANAGER_PROTECT, 0, 3), .word = { address, size, rights } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	return error ? error : message_label(m.info) ? -(int64_t)message_label(m.info) : (int64_t)m.word[0];
}

#ifdef LAYER_FAMILY

int platform_fork(uintptr_t rip, uintptr_t rsp, uintptr_t tls, uint32_t *pid)
{
	struct message m = { .info = message_info(MANAGER_FORK, 0, 3), .word = { rip, rsp, tls } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	*pid = (uint32_t)m.word[0];
	return error ? error : -(int)message_label(m.info);
}

int platform_exec(uint64_t file, uint64_t file_size, uintptr_t stack, size_t stack_size)
{
	struct message m = { .info = message_info(MANAGER_EXEC, 0, MESSAGE_REGISTERS),
	                     .word = { file, file_size, stack, stack_size } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	return error ? error : -(int)message_label(m.info);
}

int platform_child(uint64_t pid, uint64_t group, unsigned how, struct child_end *end)
{
	struct message m = { .info = message_info(MANAGER_WAIT, 0, 3), .word = { pid, how, group } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	if (error || message_label(m.info))
		return error ? error : -(int)message_label(m.info);
	*end = message_words(m.info) == 2 ? (struct child_end){ (uint32_t)m.word[0], (uint32_t)m.word[1] }
	       : (struct child_end){ 0 };
	return 0;
}

void platform_signal_member(uint32_t place)
{
	require(place < platform_info()->places);
	notification_signal(PROCESS_SLOT_MEMBER_WAKE + place);
}

void platform_volume_turn(unsigned volume) { notification_signal(PROCESS_SLOT_VOLUME_TURN + volume); }
void platform_volume_turn_wait(unsigned volume) { notification_wait(PROCESS_SLOT_VOLUME_TURN + volume, 0, 0); }

int platform_kill(int64_t target, unsigned number, int code, uint64_t value, bool *self)
{
	struct message m = { .info = message_info(MANAGER_KILL, 0, MESSAGE_REGISTERS),
	                     .word = { (uint64_t)target, number, (uint64_t)(int64_t)code, value } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	*self = !error && !message_label(m.info) && m.word[0];
	return error ? error : -(int)message_label(m.info);
}

int platform_signals(uintptr_t entry, size_t size, bool drops_children, bool drops_stops)
{
	struct message m = { .info = message_info(MANAGER_SIGNALS, 0, 3),
	                     .word = { entry, size, drops_children | drops_stops << 1 } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	return error ? error : message_label(m.info) ? -(int)message_label(m.info) : (int)m.word[0];
}

int platform_stop(unsigned number)
{
	struct message m = { .info = message_info(MANAGER_STOP, 0, 1), .word = { number } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	return error ? error : -(int)message_label(m.info);
}

int platform_alarm(uint64_t at, uint64_t each, uint64_t *left, uint64_t *each_before)
{
	struct message m = { .info = message_info(MANAGER_ALARM, 0, 2), .word = { at, each } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	*left = m.word[0];
	*each_before = m.word[1];
	return error ? error : -(int)message_label(m.info);
}

void platform_others_stop(bool stop)
{
	require(layer_is_locked());
	for (unsigned i = 0; i < thread_places; i++) {
		const uint64_t tcb = i ? tcb_of(i) : PROCESS_SLOT_TCB;

		if (&threads[i] == thread_self() || !threads[i].tid || (i && !tcb_made[i]))
			continue;
		if (stop)
			tcb_suspend(tcb);
		else
			tcb_resume(tcb);
	}
}

void platform_take_signal(struct sent *signal)
{
	struct message m = { .info = message_info(MANAGER_SIGNAL, 0, 0) };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	*signal = error || message_label(m.info) ? (struct sent){ 0 }
	          : (struct sent){ (unsigned)m.word[0], (unsigned)m.word[2], (int)m.word[1], m.word[3] };
}

int platform_group(enum manager_group what, uint64_t pid, uint64_t group, uint32_t *its_group, uint32_t *session)
{
	struct message m = { .info = message_info(MANAGER_GROUP, 0, 3), .word = { what, pid, group } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);

	*its_group = (uint32_t)m.word[0];
	*session = (uint32_t)m.word[1];
	return error ? error : -(int)message_label(m.info);
}

#endif

/* Again where the manager keeps as many texts of the program as it can. */
void platform_write(const char *text, size_t size)
{
	while (manager_call(MANAGER_WRITE, text, size, 0) == -SKERRY_NO_RESOURCE)
		platform_yield();
}

_Noreturn void platform_exit(int status)
{
	for (;;)
		platform_manager_word(MANAGER_EXIT, (uint64_t)status);
}
