/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers, flags, addresses and messages that no compiler would make. */
#include "ktest.h"

enum { DB = 1, BP = 3, UD = 6, SS = 12, GP = 13, MF = 16 };
enum { TF = 1 << 8, IOPL = 3 << 12, NT = 1 << 14, RF = 1 << 16, VM = 1 << 17, AC = 1 << 18, VIF = 1 << 19,
       VIP = 1 << 20 };
#define USER_END 0x7ffffffff000ull /* the last page of the user half is never mapped */

static void nothing(struct worker *self) { self->count++; }

#define CODE(id, text) static __attribute__((naked)) void id(void) { __asm__ volatile(text); }

CODE(undefined, "ud2")
CODE(push, "push %rax; ud2")
CODE(jump, "jmp *%rax")
CODE(call, "call *%rax")
CODE(return_there, "push %rax; ret")
CODE(touch_read, "mov (%rax), %rcx; ud2")
CODE(touch_write, "mov %rcx, (%rax); ud2")

static uint64_t signalled(uint64_t notification)
{
	uint64_t word;
	check_ok(notification_poll(notification, &word));
	return word;
}

TEST(fault_stack, 1, 0, "abuse: a fault is delivered wherever the stack pointer points")
{
	static const uint64_t stack[] = { 0, 1, 8, USER_END, USER_END + 4088 };
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(nothing, 50, core);
		for (unsigned i = 0; i < sizeof(stack) / sizeof(stack[0]); i++) {
			struct thread_registers r = { .rip = (uint64_t)undefined, .rsp = stack[i] };
			struct message m = trial_run(&t, &r);
			check_eq(m.word[3], UD);
			check_eq(m.word[1], stack[i]);
			r.rip = (uint64_t)push;
			m = trial_run(&t, &r);
			check(message_label(m.info) == FAULT_PAGE || m.word[3] == SS || m.word[3] == GP);
			check_eq(m.word[0], (uint64_t)push);
		}
	}
}

CODE(set_stack, "mov %rax, %rsp; ud2")
CODE(set_stack_call, "mov %rax, %rsp; mov %rbx, %rax; syscall; int3")

TEST(wild_stack, 1, 0, "abuse: a stack pointer that is no address serves faults, system calls and interrupts")
{
	static const uint64_t stack[] = { 0x8000000000000000, 0x800000000000, 0xffff800000000000, 0xffffffff80000000,
	                                  ~0ull };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(nothing, 50, core);
		for (unsigned i = 0; i < sizeof(stack) / sizeof(stack[0]); i++) {
			struct thread_registers r = { .rip = (uint64_t)set_stack, .rax = stack[i] };
			struct message m = trial_run(&t, &r);
			check_eq(m.word[3], UD);
			check_eq(m.word[1], stack[i]);
			r = (struct thread_registers){ .rip = (uint64_t)set_stack_call, .rax = stack[i],
			                               .rbx = SYS_SIGNAL, .rdi = notification };
			m = trial_run(&t, &r);
			check_eq(m.word[3], BP);
			check_eq(m.word[1], stack[i]);
			check_eq(signalled(notification), 1);
		}
	}
}

static __attribute__((naked)) void spin_wild(void) { __asm__ volatile("mov %rax, %rsp; 1: incq (%rdi); jmp 1b"); }

TEST(wild_stack_switched, 1, 0, "abuse: a thread with such a stack pointer is interrupted and resumed like any other")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	volatile uint64_t *count = (volatile uint64_t *)WINDOW;
	for (unsigned core = 0; core < cores(); core++) {
		struct worker *w = worker_make(nothing, 50, core);
		struct thread_registers r = { .rip = (uint64_t)spin_wild, .rax = 0xffff800000000000, .rdi = WINDOW };
		check_ok(tcb_write_registers(IPC, w->tcb, 1, &r));
		for (unsigned i = 0; i < 5; i++) {
			uint64_t before = *count;
			until(*count != before);
			check_ok(tcb_suspend(w->tcb));
			check_ok(tcb_resume(w->tcb));
		}
		check_ok(tcb_suspend(w->tcb));
		check_ok(tcb_read_registers(IPC, w->tcb, &r));
		check_eq(r.rsp, 0xffff800000000000);
	}
}

CODE(flags_call, "push %rax; popf; mov %rbx, %rax; syscall; pushf; pop %rax; push $2; popf; int3")

TEST(flags, 1, 0, "abuse: SYSCALL with every flag that a program can set, and with those that it cannot")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct trial t = trial_make(nothing, 50, last_core());
	for (unsigned bit = 0; bit < 32; bit++) {
		if (1u << bit == TF)
			continue; /* below */
		struct thread_registers r = { .rip = (uint64_t)flags_call, .rsp = WINDOW + 2048, .rax = 1ull << bit | 2,
			                      .rbx = SYS_SIGNAL, .rdi = notification };
		struct message m = trial_run(&t, &r);
		check_eq(m.word[3], BP);
		check_eq(signalled(notification), 1);
		check_ok(tcb_read_registers(IPC, t.worker->tcb, &r));
		check_eq(r.rax & (IOPL | VM | VIF | VIP | RF | TF | 0x200), 0x200);
		if (1ull << bit & 0xcd5)
			check_eq(r.rax & 0xcd5, 1ull << bit);
	}
}

CODE(step_call, "push %rax; popf; syscall; nop; nop; ud2")

TEST(step, 1, 0, "abuse: a single step over SYSCALL is one system call and one exception")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct trial t = trial_make(nothing, 50, last_core());
	for (uint64_t number = SYS_SIGNAL; number <= SYS_YIELD; number++) {
		/* POPF leaves RAX as it is: flags 0x102 | number are those of the number's bits, and TF */
		struct thread_registers r = { .rip = (uint64_t)step_call, .rsp = WINDOW + 2048, .rax = number,
		                              .rdi = notification };
		((uint64_t *)r.rsp)[-1] = 0;
		r.rip += 1; /* behind PUSH: the flags are on the stack already */
		r.rsp -= 8;
		*(uint64_t *)r.rsp = TF | 2;
		if (number == SYS_WAIT)
			check_ok(notification_signal(notification));
		struct message m = trial_run(&t, &r);
		check_eq(message_label(m.info), FAULT_EXCEPTION);
		check_eq(m.word[3], DB);
		check(m.word[0] > (uint64_t)step_call + 2 && m.word[0] <= (uint64_t)step_call + 6);
		check_eq(signalled(notification), number == SYS_SIGNAL);
	}
}

CODE(call_and_break, "syscall; int3")

static void signal_later(struct worker *self)
{
	spin_ms(2);
	check_ok(notification_signal(self->arg[0]));
}

/* RCX and R11 may change, but only to what the program knows anyhow. */
TEST(lost_registers, 1, 0, "abuse: what is in RCX and R11 after a system call tells nothing of the kernel")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), frame = object(OBJECT_FRAME_4K, 0);
	struct trial t = trial_make(nothing, 50, last_core());
	struct { uint64_t number, cap, info; } call[] = {
		{ SYS_SIGNAL, notification, 0 }, { SYS_POLL, notification, 0 }, { SYS_WAIT, notification, 0 },
		{ SYS_YIELD, 0, 0 },
		{ SYS_CALL, frame, message_info(FRAME_ADDRESS, 0, 0) }, { SYS_SEND, 0, 0 },
		{ SYS_CALL, ROOT_SLOT_CNODE, message_info(CNODE_REVOKE, 0, 1) },
	};
	for (unsigned i = 0; i < sizeof(call) / sizeof(call[0]); i++) {
		struct thread_registers r = { .rip = (uint64_t)call_and_break, .rax = call[i].number,
		                              .rdi = call[i].cap,
			                      .rsi = call[i].info, .rcx = 0x1111, .r11 = 0x2222 };
		if (call[i].number == SYS_WAIT)
			worker_start(signal_later, 50, 0, notification, 0);
		else if (call[i].info)
			r.rdx = frame;
		check_eq(trial_run(&t, &r).word[3], BP);
		check_ok(tcb_read_registers(IPC, t.worker->tcb, &r));
		check(r.rcx == 0x1111 || r.rcx == (uint64_t)call_and_break + 2);
		check(r.r11 == 0x2222 || r.r11 == 0x202);
	}
}

static const uint64_t kernel_address[] = { 0xffff800000000000, 0xffff800000100000, 0xffff8000ffffffff,
                                           0xffffffff80000000,
	                                   0xffffffff80007000, 0xffffffffffe00000, 0xfffffffffffff000,
	                                   0xffffffffffffffff };
static const uint64_t no_address[] = { 0x800000000000, 0x8000000000000000, 0xffff7fffffffffff, 0x7fffffffffffffff };

TEST(kernel_memory, 1, 0, "abuse: no kernel address is read, written, jumped to, called or returned to")
{
	static void (*const code[])(void) = { touch_read, touch_write, jump, call, return_there };
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(nothing, 50, core);
		for (unsigned i = 0; i < sizeof(kernel_address) / 8; i++) {
			for (unsigned j = 0; j < 5; j++) {
				struct thread_registers r = { .rip = (uint64_t)code[j], .rsp = WINDOW + 2048,
				                              .rax = kernel_address[i] };
				struct message m = trial_run(&t, &r);
				check_eq(message_label(m.info), FAULT_PAGE);
				check(m.word[3] & 4);
				check_eq(m.word[2] & ~7ull, kernel_address[i] & ~7ull);
			}
		}
	}
}

TEST(no_memory, 1, 0, "abuse: no access, jump, call or return leads out of the address space")
{
	static void (*const code[])(void) = { touch_read, touch_write, jump, call, return_there };
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct trial t = trial_make(nothing, 50, last_core());
	for (unsigned i = 0; i < sizeof(no_address) / 8; i++) {
		for (unsigned j = 0; j < 5; j++) {
			struct thread_registers r = { .rip = (uint64_t)code[j], .rsp = WINDOW + 2048,
			                              .rax = no_address[i] };
			struct message m = trial_run(&t, &r);
			check_eq(message_label(m.info), FAULT_EXCEPTION);
			check_eq(m.word[3], GP);
		}
	}
}

/* Some processors fault behind the jump: then its RIP is no address, and must not be gone back to blindly. */
TEST(wild_resumed, 1, 0, "abuse: a thread that faulted on its way to no address faults again when it is resumed")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	for (unsigned i = 0; i < sizeof(no_address) / 8; i++) {
		struct trial t = trial_make(nothing, 50, last_core());
		struct thread_registers r = { .rip = (uint64_t)jump, .rsp = WINDOW + 2048, .rax = no_address[i] };
		check_ok(tcb_write_registers(IPC, t.worker->tcb, 1, &r));
		for (unsigned turn = 0; turn < 3; turn++) {
			struct message m = trial_fault(&t);
			check_eq(m.word[3], GP);
			trial_answer(&t, 0);
		}
		trial_fault(&t);
	}
}

/* A page at the end of the user half with `code` as its last bytes; where it begins. */
static uint64_t last_bytes(const uint8_t *code, unsigned size)
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0), there = copy_of(frame, RIGHT_READ | RIGHT_EXECUTE);
	uint64_t table = objects(OBJECT_PAGE_TABLE, 0, 3);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ | RIGHT_WRITE, 0));
	for (unsigned i = 0; i < 3; i++)
		page_table_map(IPC, table + i, ROOT_SLOT_VSPACE, USER_END - 4096);
	check_ok(frame_map(IPC, there, ROOT_SLOT_VSPACE, USER_END - 4096, RIGHT_READ | RIGHT_EXECUTE, 0));
	for (unsigned i = 0; i < size; i++)
		((volatile uint8_t *)WINDOW)[4096 - size + i] = code[i];
	return USER_END - size;
}

TEST(last_syscall, 1, 0, "abuse: SYSCALL as the last bytes of the user half returns behind them, where nothing is")
{
	static const uint8_t code[] = { 0x0f, 0x05 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct trial t = trial_make(nothing, 50, last_core());
	struct thread_registers r = { .rip = last_bytes(code, 2), .rax = SYS_SIGNAL, .rdi = notification };
	struct message m = trial_run(&t, &r);
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[0], USER_END);
	check_eq(m.word[2], USER_END);
	check_eq(signalled(notification), 1);
}

TEST(split_syscall, 1, 0, "abuse: SYSCALL that reaches over the end of the user half is none")
{
	static const uint8_t code[] = { 0x0f };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct trial t = trial_make(nothing, 50, last_core());
	struct thread_registers r = { .rip = last_bytes(code, 1), .rax = SYS_SIGNAL, .rdi = notification };
	struct message m = trial_run(&t, &r);
	check_eq(message_label(m.info), FAULT_PAGE);
	check_eq(m.word[0], USER_END - 1);
	check_eq(m.word[2], USER_END);
	check_eq(signalled(notification), 0);
}

TEST(last_page, 1, 0, "abuse: a thread that starts behind the last page faults there")
{
	static const uint64_t rip[] = { USER_END, USER_END + 0xffe, USER_END + 0xfff };
	struct trial t = trial_make(nothing, 50, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct thread_registers r = { .rip = rip[i] };
		struct message m = trial_run(&t, &r);
		check_eq(message_label(m.info), FAULT_PAGE);
		check_eq(m.word[0], rip[i]);
	}
}

TEST(foreign, 1, 0, "abuse: another address space's memory is neither read nor written")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	*(volatile uint64_t *)WINDOW = 0x5ec7e7;
	static const char *const entry[] = { foreign_load, foreign_store };
	for (unsigned i = 0; i < 2; i++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct timeout timeout = timeout_begin();
		struct space s = space_make(entry[i], 50, last_core(), WINDOW, 0xbad);
		struct message m = { 0 };
		check_ok(tcb_configure(IPC, s.tcb, ROOT_SLOT_CNODE, s.vspace, 0, 0, endpoint));
		check_ok(tcb_resume(s.tcb));
		while (ipc_nb_receive(endpoint, 0, &m)) {
			check(!timeout_over(&timeout));
			pause_main();
		}
		check_eq(message_label(m.info), FAULT_PAGE);
		check_eq(m.word[2], WINDOW);
		check_eq(m.word[3], i ? 6 : 4);
		check_eq(s.data[1], 0);
	}
	check_eq(*(volatile uint64_t *)WINDOW, 0x5ec7e7);
}
