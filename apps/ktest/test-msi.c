/* SPDX-License-Identifier: BSD-2-Clause */
/* Message-signalled interrupts of a device that raises one at each write to a register. */
#include "ktest.h"

#define CONTROL ROOT_SLOT_IRQ_CONTROL
#define NODE    ROOT_SLOT_CNODE
#define DEVICE  ((volatile uint32_t *)WINDOW)
enum { TIMEOUT = 30000, QUIET = 20 }; /* milliseconds for one that must come, and for one that must not */

static unsigned device, msi;

static void device_init(void)
{
	device = (unsigned)pci_find(EDU_ID);
	msi = pci_capability(device, PCI_CAPABILITY_MSI);
	check(msi);
	pci_write(device, PCI_COMMAND, 6); /* memory, messages */
	uint64_t frame = device_frame(pci_read(device, PCI_BAR0) & ~0xfffull);
	check(frame);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ | RIGHT_WRITE, CACHE_DISABLED));
	DEVICE[EDU_LIVENESS / 4] = 0x12345678;
	check_eq(DEVICE[EDU_LIVENESS / 4], ~0x12345678u);
}

static void program(uint64_t address, uint32_t data)
{
	uint32_t head = pci_read(device, msi);
	bool wide = head >> 23 & 1;
	pci_write(device, msi, head & ~(1u << 16));
	pci_write(device, msi + 4, (uint32_t)address);
	if (wide)
		pci_write(device, msi + 8, (uint32_t)(address >> 32));
	pci_write(device, msi + (wide ? 12 : 8), data);
	pci_write(device, msi, head | 1 << 16);
}

static uint64_t handler(unsigned core, uint64_t notification)
{
	uint64_t irq = slot(), address;
	uint32_t data;
	check_ok(irq_get_msi(IPC, CONTROL, NODE, irq, core, &address, &data));
	check_ok(irq_set_notification(IPC, irq, notification));
	program(address, data);
	return irq;
}

static void raise(void)
{
	DEVICE[EDU_RAISE / 4] = 1;
	DEVICE[EDU_ACKNOWLEDGE / 4] = 1;
}

static uint64_t arrives(uint64_t notification, unsigned ms)
{
	uint64_t word = 0;
	notification_wait(notification, deadline_ms(ms), &word);
	return word;
}

TEST(delivered, 1, NEEDS_MSI, "msi: each message signals the handler's notification once, on every core")
{
	device_init();
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t notification = object(OBJECT_NOTIFICATION, 0);
		uint64_t irq = handler(core, badged(notification, 0x100 + core, RIGHT_WRITE));
		for (unsigned i = 0; i < 20; i++) {
			raise();
			check_eq(arrives(notification, TIMEOUT), 0x100 + core);
			if (i % 4 == 0)
				check_ok(irq_ack(irq)); /* not needed */
		}
		check_eq(arrives(notification, QUIET), 0);
		check_ok(cnode_delete(NODE, irq));
	}
}

static void wait_for(struct worker *self)
{
	for (;;) {
		uint64_t word;
		check_ok(notification_wait(self->arg[0], 0, &word));
		self->out[0] |= word;
		self->count++;
	}
}

TEST(wakes, 1, NEEDS_MSI, "msi: wakes a waiter, on the handler's core and on others, idle or busy")
{
	device_init();
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t notification = object(OBJECT_NOTIFICATION, 0);
		struct worker *w = worker_start(wait_for, 200, last_core() - core, notification, 0);
		uint64_t irq = handler(core, badged(notification, 8, RIGHT_WRITE));
		for (unsigned i = 1; i <= 10; i++) {
			until(waits(w));
			raise();
			until(w->count == i);
		}
		check_eq(w->out[0], 8);
		check_ok(cnode_delete(NODE, irq));
	}
}

TEST(apart, 1, NEEDS_MSI, "msi: messages of several handlers are told apart")
{
	enum { COUNT = 8 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), address[COUNT];
	uint32_t data[COUNT];
	device_init();
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t irq = slot();
		check_ok(irq_get_msi(IPC, CONTROL, NODE, irq, i % cores(), &address[i], &data[i]));
		check_ok(irq_set_notification(IPC, irq, badged(notification, 1ull << i, RIGHT_WRITE)));
	}
	for (unsigned i = 0; i < COUNT; i++) {
		unsigned j = i * 5 % COUNT;
		program(address[j], data[j]);
		raise();
		check_eq(arrives(notification, TIMEOUT), 1ull << j);
	}
}

TEST(deleted, 1, NEEDS_MSI, "msi: after the handler's end its messages arrive nowhere")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	device_init();
	uint64_t irq = handler(last_core(), notification);
	raise();
	check_eq(arrives(notification, TIMEOUT), 1);
	check_ok(cnode_delete(NODE, irq));
	for (unsigned i = 0; i < 5; i++)
		raise();
	check_eq(arrives(notification, QUIET), 0);
	irq = handler(last_core(), notification);
	raise();
	check_eq(arrives(notification, TIMEOUT), 1);
}

TEST(blocks_nothing, 1, NEEDS_MSI, "msi: one without a handler keeps no other interrupt from its core")
{
	device_init();
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t notification = object(OBJECT_NOTIFICATION, 0), low = slot(), high = slot(), address[2];
		uint32_t data[2];
		check_ok(irq_get_msi(IPC, CONTROL, NODE, low, core, &address[0], &data[0]));
		check_ok(irq_set_notification(IPC, low, notification));
		check_ok(irq_get_msi(IPC, CONTROL, NODE, high, core, &address[1], &data[1]));
		check(data[1] > data[0]); /* the local APIC holds back lower ones while one is in service */
		check_ok(cnode_delete(NODE, high));
		program(address[1], data[1]);
		for (unsigned i = 0; i < 3; i++)
			raise();
		program(address[0], data[0]);
		raise();
		check_eq(arrives(notification, TIMEOUT), 1);
		check_ok(cnode_delete(NODE, low));
	}
}

/* Nobody waits for them: between two of them the core is idle. */
TEST(storm, 2, NEEDS_MSI, "msi: deadlines are met on a core that messages interrupt without a pause")
{
	device_init();
	handler(last_core(), object(OBJECT_NOTIFICATION, 0));
	check_deadlines_met(last_core(), raise);
}

static void raise_often(struct worker *self)
{
	for (;;) {
		raise();
		self->count++;
	}
}

TEST(deleted_pending, 1, NEEDS_MSI,
     "msi: a handler that is deleted while messages come in signals no more when that is done")
{
	device_init();
	struct worker *w = worker_make(raise_often, 50, last_core());
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	for (unsigned i = 0; i < 30; i++) {
		uint64_t irq = handler(i % cores(), notification), count = w->count;
		check_ok(tcb_resume(w->tcb));
		until(w->count > count + 3);
		if (i % 2)
			check_ok(cnode_delete(NODE, irq));
		else
			check_ok(cnode_revoke(NODE, CONTROL));
		check_ok(notification_poll(notification, &word));
		count = w->count;
		until(w->count > count + 3);
		check_ok(tcb_suspend(w->tcb));
		check_ok(notification_poll(notification, &word));
		check_eq(word, 0);
	}
}

TEST(memory_reused, 1, NEEDS_MSI, "msi: messages to a handler whose notification is gone touch no memory")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), cap = slot();
	device_init();
	check_ok(untyped_retype(IPC, memory, OBJECT_NOTIFICATION, 0, NODE, cap, 1));
	handler(last_core(), cap);
	check_ok(cnode_revoke(NODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, NODE, cap, 1));
	check_ok(frame_map(IPC, cap, ROOT_SLOT_VSPACE, WINDOW + 4096, RIGHT_READ, 0));
	for (unsigned i = 0; i < 10; i++)
		raise();
	sleep_ms(QUIET);
	for (unsigned i = 0; i < 512; i++)
		check_eq(((volatile uint64_t *)(WINDOW + 4096))[i], 0);
}

static void note_time(struct worker *self)
{
	for (;;) {
		check_ok(notification_wait(self->arg[0], 0, 0));
		self->out[0] = read_tsc();
		self->count++;
	}
}

static void start_dma(void)
{
	DEVICE[EDU_ACKNOWLEDGE / 4] = EDU_DMA_DONE;
	DEVICE[EDU_DMA_FROM / 4] = 0;
	DEVICE[EDU_DMA_TO / 4] = EDU_BUFFER;
	DEVICE[EDU_DMA_BYTES / 4] = 4;
	DEVICE[EDU_DMA_COMMAND / 4] = EDU_DMA_START;
}

/* Without the kernel: its timer then has nothing to do for the main thread. */
static void spin_until(const struct worker *w, uint64_t count)
{
	struct timeout timeout = timeout_begin();
	while (w->count < count)
		check(!("the message comes in time" && timeout_over(&timeout)));
}

/* A thread without a stack: waits with the deadline that it starts with, then without one. */
extern const char wait_twice[];
asm("	.text\n"
    "wait_twice:\n"
    "	syscall\n"
    "	mov %r13, %rax\n"
    "	mov %r12, %rdi\n"
    "	xor %edx, %edx\n"
    "	syscall\n"
    "	ud2\n");

static void wait_at(uint64_t notification, uint64_t deadline, unsigned priority)
{
	uint64_t tcb = object(OBJECT_TCB, 0);
	struct thread_registers r = { .rip = (uint64_t)wait_twice, .rax = SYS_WAIT, .rdi = notification,
	                              .rdx = deadline,
		                      .r12 = notification, .r13 = SYS_WAIT };
	check_ok(tcb_configure(IPC, tcb, NODE, ROOT_SLOT_VSPACE, 0, 0, 0));
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, priority, 0));
	check_ok(tcb_write_registers(IPC, tcb, 1, &r));
}

/*
 * The device's clock goes in milliseconds, so that the second message comes whole ones after the first. It comes while
 * the kernel serves the first of the deadlines. When exactly is known only where the clock counts instructions.
 */
TEST(between_budgets, 1, NEEDS_MSI, "msi: a message waits for one budget of deadlines that pass together, not for all")
{
	enum { THREADS = 120, LEAD = 2500, LONGEST = 12000 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), never = object(OBJECT_NOTIFICATION, 0);
	bool exact = clock_counts_instructions();
	device_init();
	struct worker *w = worker_start(note_time, 250, 0, notification, 0);
	handler(0, notification);
	start_dma();
	spin_until(w, 1);
	start_dma();
	uint64_t ms = ROOT->tsc_hz / 1000, now = read_tsc(), second = w->out[0];
	while (second < now + 99 * ms)
		second += ms;
	for (unsigned i = 0; i < THREADS; i++)
		wait_at(never, second - LEAD, MAIN_PRIORITY + 5);
	check(!exact || !passed(second - ms));
	spin_until(w, 2);
	check(!exact || (w->out[0] > second && w->out[0] < second + LONGEST));
}
