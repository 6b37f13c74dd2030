/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

static struct message first_fault(const struct trial *p)
{
	check_ok(tcb_resume(p->worker->tcb));
	return trial_fault(p);
}

static void touch(struct worker *self)
{
	self->out[0] = program_load(WINDOW);
	self->count++;
}

static void undefined(struct worker *self) { program_undefined(); }
static void divide(struct worker *self) { __asm__ volatile("xor %%ecx, %%ecx; div %%ecx" ::: "eax", "ecx", "edx"); }
static void privileged(struct worker *self) { __asm__ volatile("hlt"); }
static void breakpoint(struct worker *self) { program_break(); self->count++; }
static void software_interrupt(struct worker *self) { __asm__ volatile("int $0x80"); }
static void step(struct worker *self) { __asm__ volatile("pushf; orl $0x100, (%rsp); popf; nop"); }
static void port(struct worker *self) { __asm__ volatile("outb %%al, $0x80" ::"a"(0)); }
static void non_canonical(struct worker *self) { *(volatile uint64_t *)0x8000000000000000 = 1; }

static void check_exception(void (*run)(struct worker *), unsigned vector, uint64_t error)
{
	for (unsigned core = 0; core < cores(); core++) {
		struct trial p = trial_make(run, 50, core);
		struct message m = first_fault(&p);
		check_eq(m.info, message_info(FAULT_EXCEPTION, 0, 5));
		check_eq(m.badge, TRIAL_BADGE);
		check(program_in(run, m.word[0]));
		check(m.word[1]);
		check_eq(m.word[2] & 0x200, 0x200);
		check_eq(m.word[3], vector);
		check_eq(IPC->words[4], error);
		check_eq(p.worker->done, false);
	}
}

TEST(ud, 1, 0, "fault: an undefined instruction is exception 6") { check_exception(undefined, 6, 0); }
TEST(de, 1, NEEDS_PROCESSOR, "fault: a division by zero is exception 0") { check_exception(divide, 0, 0); }
TEST(gp, 1, NEEDS_PROCESSOR, "fault: a privileged instruction is exception 13") { check_exception(privileged, 13, 0); }
TEST(bp, 1, 0, "fault: a breakpoint is exception 3") { check_exception(breakpoint, 3, 0); }
TEST(db, 1, NEEDS_PROCESSOR, "fault: a single step is exception 1") { check_exception(step, 1, 0); }
TEST(soft, 1, NEEDS_PROCESSOR, "fault: a software interrupt is exception 13 with its vector")
{
	check_exception(software_interrupt, 13, 0x80 * 8 + 2);
}
TEST(io, 1, NEEDS_PROCESSOR, "fault: a port instruction is exception 13") { check_exception(port, 13, 0); }
TEST(wild, 1, NEEDS_PROCESSOR, "fault: a non-canonical address is exception 13")
{
	check_exception(non_canonical, 13, 0);
}

TEST(page, 1, 0, "fault: a page fault tells instruction, stack, address and error code")
{
	struct trial p = trial_make(touch, 50, 0);
	struct message m = first_fault(&p);
	check_eq(m.info, message_info(FAULT_PAGE, 0, 4));
	check_eq(m.badge, TRIAL_BADGE);
	check(program_in(touch, m.word[0]));
	check_eq(m.word[2], WINDOW);
	check_eq(m.word[3], 4); /* a read, by user mode, of what is not there */
}

static void repaired(unsigned core)
{
	struct trial p = trial_make(touch, 50, core);
	first_fault(&p);
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	*(volatile uint64_t *)place(WINDOW) = 4711;
	trial_answer(&p, 0);
	until(p.worker->done);
	check_eq(p.worker->out[0], 4711);
}

TEST(repair, 1, 0, "fault: a repaired thread goes on where it was") { repaired(0); }
TEST(repair_remote, 2, 0, "fault: a thread repaired from another core goes on where it was") { repaired(last_core()); }

TEST(not_repaired, 1, 0, "fault: a thread that was not repaired faults again")
{
	struct trial p = trial_make(touch, 50, 0);
	struct message a = first_fault(&p);
	for (unsigned i = 0; i < 10; i++) {
		trial_answer(&p, 0);
		struct message b = trial_fault(&p);
		check_eq(a.word[0], b.word[0]);
		check_eq(a.word[1], b.word[1]);
	}
}

TEST(refused, 1, 0, "fault: an answer with another label leaves the thread suspended")
{
	struct trial p = trial_make(breakpoint, 50, 0);
	first_fault(&p);
	trial_answer(&p, 1);
	sleep_ms(2);
	check_eq(p.worker->count, 0);
	struct thread_registers r;
	check_ok(tcb_read_registers(IPC, p.worker->tcb, &r));
	check_ok(tcb_resume(p.worker->tcb));
	until(p.worker->done);
}

TEST(stopped_trap, 1, 0, "fault: a breakpoint that nobody has received is raised again, a received one is not")
{
	struct trial p = trial_make(breakpoint, 50, last_core());
	check_ok(tcb_resume(p.worker->tcb));
	until(waits(p.worker));
	check_ok(tcb_suspend(p.worker->tcb));
	check_eq(p.worker->count, 0);
	struct message m = first_fault(&p);
	check_eq(m.word[3], 3);
	check_ok(tcb_suspend(p.worker->tcb));
	check_ok(tcb_resume(p.worker->tcb));
	until(p.worker->done);
	check_eq(p.worker->count, 1);
}

enum { BREAKPOINTS = 2000 };
static void breakpoints(struct worker *self)
{
	for (unsigned i = 0; i < BREAKPOINTS; i++)
		breakpoint(self);
}

/* A trap that is lost shows as an instruction passed without a message. */
TEST(stops_in_traps, 2, 0, "fault: of breakpoints in a thread that is suspended at any moment each is reported once")
{
	struct trial p = trial_make(breakpoints, 50, last_core());
	uint64_t received = 0;
	struct message m;
	check_ok(tcb_resume(p.worker->tcb));
	for (unsigned round = 0; !p.worker->done; round++) {
		check_ok(tcb_suspend(p.worker->tcb));
		check(p.worker->count <= received);
		check_ok(tcb_resume(p.worker->tcb));
		for (volatile unsigned spin = round % 128 * 8; spin; spin--)
			;
		m = (struct message){ 0 };
		if (round % 4 ? ipc_nb_receive(p.endpoint, p.reply, &m) != 0 : !trial_faults(&p, &m))
			continue;
		check_eq(p.worker->count, received);
		received++;
		trial_answer(&p, 0);
	}
	check_eq(received, BREAKPOINTS);
}

static __attribute__((naked)) void all_registers(struct worker *self)
{
	__asm__ volatile("mov $1, %eax; mov $2, %ebx; mov $3, %ecx; mov $4, %edx; mov $5, %esi; mov $6, %ebp; mov $8, "
	                 "%r8d\n\t"
			 "mov $9, %r9d; mov $10, %r10d; mov $11, %r11d; mov $12, %r12d; mov $13, %r13d; mov $14, "
			 "%r14d\n\t"
			 "mov $15, %r15d; int3\n\t"
			 "xor %r15, %r14; xor %r13, %r12; xor %r11, %r10; xor %r9, %r8; xor %rsi, %rbp; xor %rdx, "
			 "%rcx; xor %rbx, %rax\n\t"
			 "mov %rax, %fs:0; mov %rcx, %fs:8; mov %rbp, %fs:16; mov %r8, %fs:24; mov %r10, %fs:32; mov "
			 "%r12, %fs:40\n\t"
			 "mov %r14, %fs:48; 1: pause; jmp 1b");
}

TEST(registers, 1, NEEDS_PROCESSOR, "fault: no register changes between the fault and the answer")
{
	static volatile uint64_t seen[8];
	struct trial p = trial_make(all_registers, 50, last_core());
	seen[6] = 0;
	check_ok(tcb_set_tls(p.worker->tcb, (uint64_t)seen));
	first_fault(&p);
	trial_answer(&p, 0);
	until(seen[6]);
	check_eq(seen[0], 1 ^ 2);
	check_eq(seen[1], 3 ^ 4);
	check_eq(seen[2], 5 ^ 6);
	check_eq(seen[3], 8 ^ 9);
	check_eq(seen[4], 10 ^ 11);
	check_eq(seen[5], 12 ^ 13);
	check_eq(seen[6], 14 ^ 15);
}

TEST(skipped, 1, 0, "fault: a handler may change the registers before it answers")
{
	struct trial p = trial_make(undefined, 50, 0);
	struct thread_registers r;
	first_fault(&p);
	check_ok(tcb_read_registers(IPC, p.worker->tcb, &r));
	r.rip += 2; /* behind UD2 */
	check_ok(tcb_write_registers(IPC, p.worker->tcb, 0, &r));
	trial_answer(&p, 0);
	until(p.worker->done);
}

static uint64_t raw_system_call(uint64_t number, uint64_t cap)
{
	struct registers r = { .rax = number, .rdi = cap };
	system_call_raw(&r);
	return r.rax;
}

static void unknown_call(struct worker *self)
{
	self->out[0] = raw_system_call(self->arg[0], self->arg[1]);
	self->count++;
}

TEST(unknown, 1, 0, "fault: an unknown system call is a fault with its whole number")
{
	static const uint64_t number[] = { 0, SYS_SIGNAL_SET + 1, 255, 1ull << 31, 1ull << 32, ~0ull,
	                                   1ull << 32 | SYS_SIGNAL };
	for (unsigned i = 0; i < 7; i++) {
		struct trial p = trial_make(unknown_call, 50, 0);
		p.worker->arg[0] = number[i];
		p.worker->arg[1] = object(OBJECT_NOTIFICATION, 0);
		struct message m = first_fault(&p);
		check_eq(m.info, message_info(FAULT_SYSCALL, 0, 3));
		check_eq(m.word[2], number[i]);
		struct thread_registers r;
		check_ok(tcb_read_registers(IPC, p.worker->tcb, &r));
		check_eq(r.rax, number[i]);
		trial_answer(&p, 0);
		until(p.worker->done);
		check_eq(p.worker->out[0], number[i]);
	}
}

TEST(no_handler, 1, 0, "fault: without a handler the thread stops, and no other")
{
	struct worker *w = worker_start(undefined, 50, last_core(), 0, 0);
	struct thread_registers r;
	until(waits(w));
	check_ok(tcb_read_registers(IPC, w->tcb, &r));
	check(!w->done);
	r.rip += 2;
	check_ok(tcb_write_registers(IPC, w->tcb, 1, &r));
	until(w->done);
}

/* The kernel reports some of these on the console, and counts the rest. */
TEST(no_handler_often, 1, 0, "fault: a thread that faults again and again without a handler stops each time")
{
	struct worker *w = worker_start(undefined, 50, last_core(), 0, 0);
	for (unsigned i = 0; i < 40; i++) {
		struct thread_registers r;
		until(waits(w));
		check_ok(tcb_read_registers(IPC, w->tcb, &r));
		check(program_in(undefined, r.rip));
		check_ok(tcb_resume(w->tcb));
	}
	until(waits(w));
}

TEST(no_right, 1, 0, "fault: a handler's endpoint that may not be sent to is none")
{
	struct trial p = trial_make(undefined, 50, 0);
	worker_fault_to(p.worker, copy_of(p.endpoint, RIGHT_READ));
	check_ok(tcb_resume(p.worker->tcb));
	until(waits(p.worker));
	struct message m = { 0 };
	check_error(ipc_nb_receive(p.endpoint, p.reply, &m), WOULD_BLOCK);
}

static void then_call(struct worker *self)
{
	program_break();
	struct message m = { .info = message_info(33, 0, 1), .word = { 44 } };
	self->out[0] = (uint64_t)(int64_t)ipc_call(self->arg[0], &m);
	self->out[1] = m.word[0];
}

/* It stopped in a fault that was never answered; afterwards its messages must be its own again. */
static void check_sane(struct trial *p)
{
	check_ok(tcb_resume(p->worker->tcb));
	uint64_t reply = object(OBJECT_REPLY, 0);
	struct message m = { 0 };
	int error;
	struct timeout timeout = timeout_begin();
	while ((error = ipc_nb_receive(p->worker->arg[0], reply, &m)) && !timeout_over(&timeout))
		pause_main();
	check_ok(error);
	check_eq(m.info, message_info(33, 0, 1));
	check_eq(m.word[0], 44);
	m.word[0] = 55;
	check_ok(ipc_reply(reply, &m));
	until(p->worker->done);
	check_eq(p->worker->out[1], 55);
}

TEST(reply_gone, 1, 0, "fault: a thread whose fault's reply object ends is suspended, and sane when resumed")
{
	struct trial p = trial_make(then_call, 50, 0);
	p.worker->arg[0] = object(OBJECT_ENDPOINT, 0);
	first_fault(&p);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, p.reply));
	check_sane(&p);
}

/* The thread has faulted; the endpoint where its message waits is deleted, and it is given another. */
static void change_handler(struct trial *p)
{
	check_ok(tcb_resume(p->worker->tcb));
	until(waits(p->worker));
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, p->endpoint));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, p->endpoint));
	p->endpoint = object(OBJECT_ENDPOINT, 0);
	worker_fault_to(p->worker, badged(p->endpoint, TRIAL_BADGE, RIGHT_WRITE));
}

TEST(endpoint_gone, 1, 0, "fault: the end of the endpoint where a fault waits suspends the thread; resumed, it raises "
                          "the fault again, and is sane")
{
	struct trial p = trial_make(then_call, 50, 0);
	p.worker->arg[0] = object(OBJECT_ENDPOINT, 0);
	change_handler(&p);
	struct message m = first_fault(&p);
	check_eq(m.word[3], 3);
	check_ok(tcb_suspend(p.worker->tcb));
	check_sane(&p);
}

TEST(stopped_unknown, 1, 0,
     "fault: an unknown system call that nobody has received is made again, a received one is not")
{
	struct trial p = trial_make(unknown_call, 50, last_core());
	p.worker->arg[0] = 4711;
	check_ok(tcb_resume(p.worker->tcb));
	until(waits(p.worker));
	check_ok(tcb_suspend(p.worker->tcb));
	struct message m = first_fault(&p);
	check_eq(m.info, message_info(FAULT_SYSCALL, 0, 3));
	check_eq(m.word[2], 4711);
	check_ok(tcb_suspend(p.worker->tcb));
	check_ok(tcb_resume(p.worker->tcb));
	until(p.worker->done);
	check_eq(p.worker->out[0], 4711);
	check_eq(p.worker->count, 1);
}

TEST(unknown_endpoint_gone, 1, 0, "fault: the end of the endpoint where an unknown system call waits suspends the "
                                  "thread; resumed, it makes the call again")
{
	struct trial p = trial_make(unknown_call, 50, last_core());
	p.worker->arg[0] = 4711;
	change_handler(&p);
	struct message m = first_fault(&p);
	check_eq(m.info, message_info(FAULT_SYSCALL, 0, 3));
	check_eq(m.word[2], 4711);
	trial_answer(&p, 0);
	until(p.worker->done);
	check_eq(p.worker->out[0], 4711);
}

TEST(unanswerable, 1, 0, "fault: a thread whose fault nobody can answer is suspended, and sane when resumed")
{
	struct trial p = trial_make(then_call, 50, 0);
	p.worker->arg[0] = object(OBJECT_ENDPOINT, 0);
	uint64_t reply = p.reply;
	p.reply = 0;
	first_fault(&p);
	p.reply = reply;
	check_sane(&p);
}

TEST(suspended, 1, 0, "fault: a thread suspended in its fault is sane when resumed")
{
	struct trial p = trial_make(then_call, 50, 0);
	p.worker->arg[0] = object(OBJECT_ENDPOINT, 0);
	first_fault(&p);
	check_ok(tcb_suspend(p.worker->tcb));
	check_sane(&p);
}

TEST(deleted, 1, 0, "fault: a thread that ends in its fault leaves endpoint and reply object usable")
{
	struct trial p = trial_make(breakpoint, 50, 0), q = trial_make(breakpoint, 50, 0);
	first_fault(&p);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, p.worker->tcb));
	worker_fault_to(q.worker, badged(p.endpoint, TRIAL_BADGE, RIGHT_WRITE));
	q.endpoint = p.endpoint, q.reply = p.reply;
	first_fault(&q);
	trial_answer(&q, 0);
	until(q.worker->done);
}

TEST(no_space, 1, 0, "fault: a thread without a mapping at its instruction faults there")
{
	struct trial p = trial_make(breakpoint, 50, last_core());
	struct thread_registers r = { .rip = NO_TABLES, .rsp = NO_TABLES };
	check_ok(tcb_write_registers(IPC, p.worker->tcb, 0, &r));
	struct message m = first_fault(&p);
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[0], NO_TABLES);
	check_eq(m.word[2], NO_TABLES);
}

/* --- handlers that are none, or lack what a fault's message needs --- */

TEST(no_endpoint, 1, 0, "fault handler: what is no endpoint, or may not be sent to, is none: the thread stops")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	const uint64_t handler[] = { object(OBJECT_NOTIFICATION, 0), object(OBJECT_REPLY, 0), ROOT_SLOT_CNODE,
	                             ROOT_SLOT_TCB,
		                     copy_of(endpoint, RIGHT_ALL & ~RIGHT_WRITE), slot(), 0 };
	struct worker *w = worker_make(undefined, 50, last_core());
	for (unsigned i = 0; i < sizeof(handler) / sizeof(handler[0]); i++) {
		worker_fault_to(w, handler[i]);
		worker_restart(w, true);
		until(waits(w));
		check_ok(tcb_suspend(w->tcb));
		check(!w->done);
	}
}

static void handle(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	self->out[0] = m.info;
	self->out[1] = m.word[3];
	self->count = 1;
	m = (struct message){ 0 };
	self->out[2] = (uint64_t)-(int64_t)ipc_reply(self->arg[1], &m);
}

/* The message of an exception has five words. Returns what the handler's reply gave. */
static unsigned handled_without_buffer(uint64_t reply)
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	struct worker *handler = worker_make(handle, 60, 0), *faulty = worker_make(undefined, 50, last_core());
	check_ok(tcb_configure(IPC, handler->tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	handler->arg[0] = endpoint, handler->arg[1] = reply;
	check_ok(tcb_resume(handler->tcb));
	until(waits(handler));
	worker_fault_to(faulty, endpoint);
	check_ok(tcb_resume(faulty->tcb));
	until(handler->done);
	check_eq(handler->out[0], message_info(FAULT_EXCEPTION, 0, MESSAGE_REGISTERS));
	check_eq(handler->out[1], 6);
	until(waits(faulty)); /* it faults again, or stands still */
	return (unsigned)handler->out[2];
}

TEST(no_buffer, 1, 0, "fault handler: one without IPC buffer receives four words, and can answer")
{
	check_eq(handled_without_buffer(object(OBJECT_REPLY, 0)), 0);
}

TEST(no_buffer_or_reply, 1, 0,
     "fault handler: one without IPC buffer and reply object receives four words, and cannot answer")
{
	check_eq(handled_without_buffer(0), SKERRY_BAD_CAP);
}
