/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel.h"
#include "memory.h"
#include "root.h"
#include "timer.h"

static _Alignas(16) char stack[4096];
static uint64_t quiet; /* notification that nobody signals: the deadline ends the wait */
static uint64_t wake;

void timer_start(void); /* start.S */
_Noreturn void timer_main(void);

_Noreturn void timer_main(void)
{
	uint64_t period = milliseconds(TIMER_MS);
	for (;;) {
		notification_wait(quiet, read_tsc() + period, NULL);
		channels_heartbeat();
		notification_signal(wake);
	}
}

void timer_init(int wake_with_timer_badge)
{
	int tcb = memory_object(OBJECT_TCB, 0);
	int notification = memory_object(OBJECT_NOTIFICATION, 0);
	struct thread_registers registers = {
		.rip = (uint64_t)timer_start,
		.rsp = (uint64_t)(stack + sizeof(stack)),
		.rflags = 0x202,
	};
	if (tcb < 0 || notification < 0)
		manager_panic("no memory for the timer thread");
	quiet = (uint64_t)notification;
	wake = (uint64_t)wake_with_timer_badge;
	int error = tcb_configure(IPC, (uint64_t)tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0);
	if (!error)
		error = tcb_schedule(IPC, (uint64_t)tcb, ROOT_SLOT_TCB, MANAGER_PRIORITY, 0);
	if (!error)
		error = tcb_write_registers(IPC, (uint64_t)tcb, 1, &registers);
	if (error)
		manager_panic("the timer thread does not start (error %d)", -error);
}
