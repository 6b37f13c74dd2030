/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All that the layer asks of what is below it: Skerry's kernel and manager
 * (platform-skerry.c) or, to test the layer without booting, Linux
 * (test/platform-host.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <skerry/process.h>

/* First of all calls; before thread-local storage exists. The heap is at PROCESS_HEAP_VADDR afterwards. */
void platform_start(void);
const struct process_info *platform_info(void);
/* of heap or stack: false, reading there would take memory, and find zeroes */
bool platform_is_touched(uintptr_t address);
/* MANAGER_PROTECT: the bytes that are done, or a negative error of skerry/errors.h. */
int64_t platform_protect(uintptr_t address, size_t size, unsigned rights);
const void *platform_files(void); /* skerry/file_tree.h, platform_info()->files_size bytes */

/*
 * The file port (skerry/file_port.h) of volume `volume`, from 0 on, below platform_info()->volume_count. The second
 * wakes its server, then both wait for a signal of it; they may return early.
 */
struct file_port *platform_volume(unsigned volume);
void platform_volume_ask(unsigned volume);
void platform_volume_wait(unsigned volume);

/*
 * Notifications: thread i has number i, and PLATFORM_NET is the one that the
 * network port raises. A signal before the wait ends the wait at once.
 */
enum { PLATFORM_NET = 64 };
void platform_wait(unsigned notification, uint64_t deadline_tsc); /* 0: no deadline */
void platform_signal(unsigned notification);
/* Another process's, by its slot (net_held_signal()); the second: in one system call with the wait, 0: none. */
void platform_signal_peer(uint64_t slot);
void platform_signal_wait(uint64_t slot, unsigned notification, uint64_t deadline_tsc);
void platform_yield(void);

/* %fs of the calling thread */
int platform_set_tls(uintptr_t tls);

/*
 * Thread `index` (1 ..) starts at entry(argument, argument2) on `stack` (16-byte
 * aligned). What the index had before must have ended by platform_thread_end().
 */
int platform_thread_start(unsigned index, uintptr_t stack, uintptr_t tls,
                          void (*entry)(void *, void *), void *argument, void *argument2);

/*
 * Makes another thread go on at `entry`, on its own stack, with the address where it was on it behind the red zone (128
 * bytes), and all other registers as they were; unless *depth is not 0 when it has stopped. Returns whether it does.
 */
bool platform_interrupt(unsigned index, const volatile unsigned *depth, void (*entry)(void));

#ifdef LAYER_CORES
/*
 * Leaves the calling thread's stack for good, calls thread_leave() and ends the thread. Its TCB and its IPC buffer are
 * not touched any more when platform_thread_start() has waited for it.
 */
_Noreturn void platform_thread_end(unsigned index);
/* Moves thread `index`, which may be the caller, to a core of process_info.cores. 0 or an error of skerry/errors.h. */
int platform_move(unsigned index, unsigned core);
/* Returns when each thread of the program that runs on another core has executed a full barrier. */
void platform_fence(void);
/* platform_signal() of each thread in a set, a bit for each, with one round of interrupts to their cores. */
void platform_signal_set(uint64_t threads);
#else
/* Store 0 to *lock and end the calling thread without touching its stack after that. */
_Noreturn void platform_thread_end(unsigned index, _Atomic int *lock);
#endif

/* Cycles that thread `index` has run; 0 when unknown. */
uint64_t platform_thread_time(unsigned index);

void platform_write(const char *text, size_t size); /* console */

/* Requests to the manager (process.h) that carry text, or one word; negative errors of skerry/errors.h. */
int platform_manager_text(enum manager_request, const char *text, size_t size, uint64_t *answer);
int platform_manager_word(enum manager_request, uint64_t word);

/* Three words there, a record of `size` bytes back. */
int platform_manager_record(enum manager_request, const uint64_t words[3], void *record, size_t size);

#ifdef LAYER_FAMILY
/* MANAGER_FORK, MANAGER_WAIT (0 with pid 0: none has ended yet) and MANAGER_KILL: 0 or an error of skerry/errors.h. */
struct child_end {
	uint32_t pid, status;
};
int platform_fork(uintptr_t rip, uintptr_t rsp, uintptr_t tls, uint32_t *pid);
/* MANAGER_EXEC: returns with an error only. */
int platform_exec(uint64_t file, uint64_t file_size, uintptr_t stack, size_t stack_size);
/* Signals PLATFORM_NET of the process at this place of the family; nothing happens where there is none. */
void platform_signal_member(uint32_t place);
/* Ends the sleep of one process that waits until it may use the volume, or the next one's; the sleep. */
void platform_volume_turn(unsigned volume);
void platform_volume_turn_wait(unsigned volume);
/* `how`: ASK_* (skerry/process.h). */
int platform_child(uint64_t pid, uint64_t group, unsigned how, struct child_end *end);
/* *self: the caller is one of those that are named, and was left out. */
int platform_kill(int64_t target, unsigned number, int code, uint64_t value, bool *self);
/* MANAGER_SIGNALS; returns how many there are, or an error. */
int platform_signals(uintptr_t entry, size_t size, bool drops_children, bool drops_stops);
/* MANAGER_STOP: returns when the process goes on: 0, or an error, at once. */
int platform_stop(unsigned number);
/* MANAGER_ALARM; all in cycles. Returns 0 or an error. */
int platform_alarm(uint64_t at, uint64_t each, uint64_t *left, uint64_t *each_before);
/* Suspends all other threads of the process, or lets them go on: what they wait in is made again. */
void platform_others_stop(bool stop);
/* MANAGER_SIGNAL: number 0: none. */
struct sent {
	unsigned number, sender;
	int code;
	uint64_t value;
};
void platform_take_signal(struct sent *signal);
/* MANAGER_GROUP: 0 or an error. */
int platform_group(enum manager_group what, uint64_t pid, uint64_t group, uint32_t *its_group, uint32_t *session);
#endif

_Noreturn void platform_exit(int status);
