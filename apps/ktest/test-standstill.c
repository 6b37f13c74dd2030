/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations on a thread that runs, waits, or stands still. */
#include "ktest.h"

static void waiter(struct worker *self)
{
	uint64_t word;
	self->out[0] = (uint64_t)-(int64_t)notification_wait(self->arg[0], 0, &word);
	self->out[1] = word;
}

TEST(resume_waiting, 1, 0, "standstill: RESUME of a thread that waits does not end its wait")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_start(waiter, 60, core, notification, 0);
		until(waits(w));
		for (unsigned i = 0; i < 5; i++)
			check_ok(tcb_resume(w->tcb));
		sleep_ms(1);
		check(!w->done);
		check_ok(notification_signal(notification));
		until(w->done);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], 1);
	}
}

static void breaker(struct worker *self)
{
	program_break();
	self->count++;
}

TEST(resume_faulted, 1, 0, "standstill: RESUME of a thread that waits for its fault handler does not answer the fault")
{
	struct trial t = trial_make(breaker, 50, last_core());
	check_ok(tcb_resume(t.worker->tcb));
	until(waits(t.worker));
	check_ok(tcb_resume(t.worker->tcb));
	trial_fault(&t);
	check_ok(tcb_resume(t.worker->tcb));
	sleep_ms(1);
	check(!t.worker->count);
	trial_answer(&t, 0);
	until(t.worker->done);
}

TEST(tls_running, 2, 0, "standstill: SET_TLS is BUSY for a thread that runs on another core")
{
	struct worker *w = worker_start(spinner, 50, last_core(), 0, 0);
	until(w->count);
	check_error(tcb_set_tls(w->tcb, 0x1000), BUSY);
	check_ok(tcb_suspend(w->tcb));
	check_ok(tcb_set_tls(w->tcb, 0x1000));
	struct thread_registers r;
	check_ok(tcb_read_registers(IPC, w->tcb, &r));
	check_eq(r.fs_base, 0x1000);
}

TEST(reply_receive_nobody, 1, 0, "standstill: ReplyRecv without a caller is NO_REPLY, and does not wait")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct message m = { .info = message_info(3, 0, 4), .word = { 1, 2, 3, 4 } };
	check_error(ipc_reply_receive(endpoint, reply, &m), NO_REPLY);
	check_eq(m.word[2], 3);
	check_error(ipc_nb_receive(endpoint, reply, &m), WOULD_BLOCK);
}

/* A reply object that its caller has left: suspended, deleted, or with its endpoint. */
TEST(reply_receive_left, 1, NEEDS_PROCESSOR, "standstill: ReplyRecv to a caller that was suspended is NO_REPLY")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), reply = object(OBJECT_REPLY, 0);
	struct worker *w = worker_make(waiter, 50, 0);
	struct thread_registers r;
	check_ok(tcb_read_registers(IPC, w->tcb, &r));
	static const uint8_t call[] = { 0x0f, 0x05 }; /* SYSCALL, in this program's own read-only data: mapped anew */
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_ALL, 0));
	((volatile uint8_t *)WINDOW)[0] = call[0];
	((volatile uint8_t *)WINDOW)[1] = call[1];
	r.rip = WINDOW, r.rax = SYS_CALL, r.rdi = endpoint, r.rsi = 0;
	check_ok(tcb_write_registers(IPC, w->tcb, 1, &r));
	until(waits(w));
	struct message m = { 0 };
	check_ok(ipc_nb_receive(endpoint, reply, &m));
	check_ok(tcb_suspend(w->tcb));
	check_error(ipc_reply_receive(endpoint, reply, &m), NO_REPLY);
}

TEST(write_faulted, 1, 0,
     "standstill: registers are written while the thread waits for its handler, which then resumes it there")
{
	struct trial t = trial_make(breaker, 50, last_core()), other = trial_make(breaker, 50, last_core());
	struct thread_registers r;
	check_ok(tcb_resume(t.worker->tcb));
	trial_fault(&t);
	check_ok(tcb_read_registers(IPC, other.worker->tcb, &r)); /* its entry, with other's stack and argument */
	check_ok(tcb_write_registers(IPC, t.worker->tcb, 0, &r));
	trial_answer(&t, 0);
	trial_fault(&t);
	trial_answer(&t, 0);
	until(other.worker->count == 1);
	check_eq(t.worker->count, 0);
}

TEST(write_resume_faulted, 1, 0, "standstill: WRITE_REGISTERS with resume takes a thread out of nobody's hands")
{
	struct trial t = trial_make(breaker, 50, last_core());
	struct thread_registers r;
	check_ok(tcb_resume(t.worker->tcb));
	trial_fault(&t);
	check_ok(tcb_read_registers(IPC, t.worker->tcb, &r));
	check_ok(tcb_write_registers(IPC, t.worker->tcb, 1, &r)); /* it waits: RESUME has no effect on it */
	sleep_ms(1);
	check(!t.worker->count);
	trial_answer(&t, 0);
	until(t.worker->done);
}

static void receiver(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-(int64_t)ipc_receive(self->arg[0], 0, &m);
}

static void caller(struct worker *self)
{
	struct message m = { 0 };
	self->out[0] = (uint64_t)-(int64_t)ipc_call(self->arg[0], &m);
}

TEST(write_waiting, 1, 0, "standstill: registers of a thread that waits are read, and BUSY to write")
{
	void (*const run[])(struct worker *) = { waiter, receiver, caller };
	for (unsigned i = 0; i < 3; i++) {
		uint64_t object_of[] = { object(OBJECT_NOTIFICATION, 0), object(OBJECT_ENDPOINT, 0),
		                         object(OBJECT_ENDPOINT, 0) };
		struct worker *w = worker_start(run[i], 50, last_core(), object_of[i], 0);
		struct thread_registers r;
		until(waits(w));
		check_ok(tcb_read_registers(IPC, w->tcb, &r));
		check_error(tcb_write_registers(IPC, w->tcb, 0, &r), BUSY);
		check_error(tcb_write_registers(IPC, w->tcb, 1, &r), BUSY);
		check(!w->done);
		check_ok(tcb_suspend(w->tcb));
		check_ok(tcb_write_registers(IPC, w->tcb, 0, &r));
	}
}
