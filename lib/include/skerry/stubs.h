/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls and invocations as C functions (syscall.h has their meaning).
 *
 * Every function returns 0 or an error of errors.h negated. Those that pass
 * capabilities or more than four words take the calling thread's IPC buffer
 * first, so that nothing here depends on thread-local storage or a libc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/cluster_mask.h>
#include <skerry/message.h>
#include <skerry/syscall.h>
#include <skerry/system_call.h>

/* --- endpoints --- */

static inline int ipc_call(uint64_t endpoint, struct message *m) { return system_call(SYS_CALL, endpoint, 0, m); }
static inline int ipc_send(uint64_t endpoint, struct message *m) { return system_call(SYS_SEND, endpoint, 0, m); }
static inline int ipc_nb_send(uint64_t endpoint, struct message *m) { return system_call(SYS_NB_SEND, endpoint, 0, m); }
static inline int ipc_receive(uint64_t endpoint, uint64_t reply, struct message *m)
{
	return system_call(SYS_RECV, endpoint, reply, m);
}
static inline int ipc_nb_receive(uint64_t endpoint, uint64_t reply, struct message *m)
{
	return system_call(SYS_NB_RECV, endpoint, reply, m);
}
static inline int ipc_reply(uint64_t reply, struct message *m) { return system_call(SYS_REPLY, 0, reply, m); }
static inline int ipc_reply_receive(uint64_t endpoint, uint64_t reply, struct message *m)
{
	return system_call(SYS_REPLY_RECV, endpoint, reply, m);
}

/* --- notifications and the rest --- */

/* Also rings a doorbell. */
static inline int notification_signal(uint64_t notification)
{
	struct message m = { 0 };
	return system_call(SYS_SIGNAL, notification, 0, &m);
}

/* `deadline` in TSC cycles, 0 for none; `word` may be null. */
static inline int notification_wait(uint64_t notification, uint64_t deadline, uint64_t *word)
{
	struct message m = { .word = { deadline } };
	int error = system_call(SYS_WAIT, notification, 0, &m);
	if (word)
		*word = error ? 0 : m.badge;
	return error;
}

/* Signals `peer` (or rings it) and waits at `notification`, as the two functions above. */
static inline int notification_signal_wait(uint64_t peer, uint64_t notification, uint64_t deadline, uint64_t *word)
{
	struct message m = { .word = { deadline } };
	int error = system_call(SYS_SIGNAL_WAIT, notification, peer, &m);
	if (word)
		*word = error ? 0 : m.badge;
	return error;
}

/*
 * Signals the notification that capability pointer `first` + i names for each bit i of *set, in one system call. *set
 * is then the mask of those that were not signalled: 0 unless an error is returned.
 */
static inline int notification_signal_set(uint64_t first, uint64_t *set)
{
	struct message m = { .word = { *set } };
	int error = system_call(SYS_SIGNAL_SET, first, 0, &m);
	*set = m.word[0];
	return error;
}

static inline int notification_poll(uint64_t notification, uint64_t *word)
{
	struct message m = { 0 };
	int error = system_call(SYS_POLL, notification, 0, &m);
	if (word)
		*word = error ? 0 : m.badge;
	return error;
}

static inline void thread_yield(void)
{
	struct message m = { 0 };
	system_call(SYS_YIELD, 0, 0, &m);
}

static inline int debug_put(uint64_t control, char byte)
{
	struct message m = { .word = { (uint8_t)byte } };
	return system_call(SYS_DEBUG_PUT, control, 0, &m);
}

/* --- invocations --- */

/* Words of `m` beyond `words`, and its answers, are the caller's business. */
static inline int invoke(uint64_t object, enum skerry_invocation label, unsigned caps, unsigned words,
                         struct message *m)
{
	m->info = message_info(label, caps, words);
	return system_call(SYS_CALL, object, 0, m);
}

/* An invocation without words and capabilities. */
static inline int invoke_only(uint64_t object, enum skerry_invocation label)
{
	struct message m = { 0 };
	return invoke(object, label, 0, 0, &m);
}

/* The same, which answers with a word; 0 where it fails. */
static inline int invoke_word(uint64_t object, enum skerry_invocation label, uint64_t *word)
{
	struct message m = { 0 };
	int error = invoke(object, label, 0, 0, &m);
	*word = error ? 0 : m.word[0];
	return error;
}

static inline int untyped_retype(struct ipc_buffer *ipc, uint64_t untyped, enum skerry_object object,
				 unsigned size_bits, uint64_t cnode, uint64_t slot, uint64_t count)
{
	struct message m = { .word = { object, size_bits, slot, count } };
	ipc->caps[0] = cnode;
	return invoke(untyped, UNTYPED_RETYPE, 1, 4, &m);
}

/* `source`: the first of `count` frames in `cnode`, of which the new ones are copies. */
static inline int untyped_copy(struct ipc_buffer *ipc, uint64_t untyped, enum skerry_object object, uint64_t cnode,
			       uint64_t source, uint64_t slot, uint64_t count)
{
	struct message m = { .word = { object, source, slot, count } };
	ipc->caps[0] = ipc->caps[1] = cnode;
	return invoke(untyped, UNTYPED_COPY, 2, 4, &m);
}

/* Of `count` slots of one CNode, from `source` on, to others of it, from `slot` on. */
static inline int cnode_copy_range(struct ipc_buffer *ipc, uint64_t cnode, uint64_t slot, uint64_t source,
				   uint64_t count, unsigned rights)
{
	struct message m = { .word = { slot, source, rights, count } };
	ipc->caps[0] = cnode;
	return invoke(cnode, CNODE_COPY, 1, 4, &m);
}

static inline int cnode_copy(struct ipc_buffer *ipc, uint64_t cnode, uint64_t slot, uint64_t source_cnode,
			     uint64_t source_slot, unsigned rights)
{
	struct message m = { .word = { slot, source_slot, rights } };
	ipc->caps[0] = source_cnode;
	return invoke(cnode, CNODE_COPY, 1, 3, &m);
}

static inline int cnode_mint(struct ipc_buffer *ipc, uint64_t cnode, uint64_t slot, uint64_t source_cnode,
			     uint64_t source_slot, unsigned rights, uint64_t badge)
{
	struct message m = { .word = { slot, source_slot, rights, badge } };
	ipc->caps[0] = source_cnode;
	return invoke(cnode, CNODE_MINT, 1, 4, &m);
}

/* The copy's guard (CNode only): the next `bits` bits of a capability pointer must be `guard`. */
static inline int cnode_mint_guard(struct ipc_buffer *ipc, uint64_t cnode, uint64_t slot, uint64_t source_cnode,
				   uint64_t source_slot, unsigned rights, uint64_t guard, unsigned bits)
{
	struct message m = { .word = { slot, source_slot, rights, guard } };
	ipc->caps[0] = source_cnode;
	ipc->words[MESSAGE_REGISTERS] = bits;
	return invoke(cnode, CNODE_MINT, 1, 5, &m);
}

/* As cnode_mint(), of the capability itself: what was derived from it stays so. */
static inline int cnode_mutate(struct ipc_buffer *ipc, uint64_t cnode, uint64_t slot, uint64_t source_cnode,
			       uint64_t source_slot, unsigned rights, uint64_t badge)
{
	struct message m = { .word = { slot, source_slot, rights, badge } };
	ipc->caps[0] = source_cnode;
	return invoke(cnode, CNODE_MUTATE, 1, 4, &m);
}

static inline int cnode_move(struct ipc_buffer *ipc, uint64_t cnode, uint64_t slot, uint64_t source_cnode,
			     uint64_t source_slot)
{
	struct message m = { .word = { slot, source_slot } };
	ipc->caps[0] = source_cnode;
	return invoke(cnode, CNODE_MOVE, 1, 2, &m);
}

static inline int cnode_delete(uint64_t cnode, uint64_t slot)
{
	struct message m = { .word = { slot } };
	return invoke(cnode, CNODE_DELETE, 0, 1, &m);
}

static inline int cnode_revoke(uint64_t cnode, uint64_t slot)
{
	struct message m = { .word = { slot } };
	return invoke(cnode, CNODE_REVOKE, 0, 1, &m);
}

/* `frame` holds the IPC buffer at `buffer` in `vspace`; both 0 for a thread without one. */
static inline int tcb_configure(struct ipc_buffer *ipc, uint64_t tcb, uint64_t cnode, uint64_t vspace,
				uint64_t frame, uint64_t buffer, uint64_t fault_endpoint)
{
	struct message m = { .word = { buffer, fault_endpoint } };
	ipc->caps[0] = cnode;
	ipc->caps[1] = vspace;
	ipc->caps[2] = frame;
	return invoke(tcb, TCB_CONFIGURE, buffer ? 3 : 2, 2, &m);
}

/* `authority`: the TCB by whose maximum controlled priority and set of cores it is done. */
static inline int tcb_schedule(struct ipc_buffer *ipc, uint64_t tcb, uint64_t authority, unsigned priority,
			       unsigned core)
{
	struct message m = { .word = { priority, core } };
	ipc->caps[0] = authority;
	return invoke(tcb, TCB_SCHEDULE, 1, 2, &m);
}

static inline int tcb_set_mcp(struct ipc_buffer *ipc, uint64_t tcb, uint64_t authority, unsigned priority)
{
	struct message m = { .word = { priority } };
	ipc->caps[0] = authority;
	return invoke(tcb, TCB_SET_MCP, 1, 1, &m);
}

enum { THREAD_REGISTER_WORDS = sizeof(struct thread_registers) / 8 };

static inline int tcb_write_registers(struct ipc_buffer *ipc, uint64_t tcb, int resume,
				      const struct thread_registers *registers)
{
	const uint64_t *word = (const uint64_t *)registers;
	struct message m = { .word = { (uint64_t)resume, word[0], word[1], word[2] } };
	for (unsigned i = 3; i < THREAD_REGISTER_WORDS; i++)
		ipc->words[1 + i] = word[i];
	return invoke(tcb, TCB_WRITE_REGISTERS, 0, 1 + THREAD_REGISTER_WORDS, &m);
}

static inline int tcb_read_registers(struct ipc_buffer *ipc, uint64_t tcb, struct thread_registers *registers)
{
	uint64_t *word = (uint64_t *)registers;
	struct message m = { 0 };
	int error = invoke(tcb, TCB_READ_REGISTERS, 0, 0, &m);
	if (error)
		return error;
	for (unsigned i = 0; i < THREAD_REGISTER_WORDS; i++)
		word[i] = i < MESSAGE_REGISTERS ? m.word[i] : ipc->words[i];
	return 0;
}

static inline int tcb_resume(uint64_t tcb)
{
	return invoke_only(tcb, TCB_RESUME);
}

static inline int tcb_suspend(uint64_t tcb)
{
	return invoke_only(tcb, TCB_SUSPEND);
}

static inline int tcb_set_tls(uint64_t tcb, uint64_t fs_base)
{
	struct message m = { .word = { fs_base } };
	return invoke(tcb, TCB_SET_TLS, 0, 1, &m);
}

static inline int tcb_bind(struct ipc_buffer *ipc, uint64_t tcb, uint64_t notification)
{
	struct message m = { 0 };
	ipc->caps[0] = notification;
	return invoke(tcb, TCB_BIND, 1, 0, &m);
}

static inline int tcb_unbind(uint64_t tcb)
{
	return invoke_only(tcb, TCB_UNBIND);
}

/* `cycles`: TSC cycles the thread has run. */
static inline int tcb_time(uint64_t tcb, uint64_t *cycles)
{
	return invoke_word(tcb, TCB_TIME, cycles);
}

static inline int frame_map(struct ipc_buffer *ipc, uint64_t frame, uint64_t vspace, uint64_t address,
			    unsigned rights, unsigned attributes)
{
	struct message m = { .word = { address, rights, attributes } };
	ipc->caps[0] = vspace;
	return invoke(frame, FRAME_MAP, 1, 3, &m);
}

/* Of `count` frames of one size, whose capability pointers follow `frame`. *left: how many are not mapped. */
static inline int frame_map_range(struct ipc_buffer *ipc, uint64_t frame, uint64_t vspace, uint64_t address,
				  unsigned rights, unsigned attributes, uint64_t count, uint64_t *left)
{
	struct message m = { .word = { address, rights, attributes, count } };
	ipc->caps[0] = vspace;
	int error = invoke(frame, FRAME_MAP, 1, 4, &m);
	*left = error ? m.word[3] : 0;
	return error;
}

static inline int frame_unmap(uint64_t frame)
{
	return invoke_only(frame, FRAME_UNMAP);
}

static inline int frame_protect(uint64_t frame, unsigned rights)
{
	struct message m = { .word = { rights } };
	return invoke(frame, FRAME_PROTECT, 0, 1, &m);
}

/* FRAME_PROTECT with the address space: what the frame itself maps gets just these rights. */
static inline int frame_protect_in(struct ipc_buffer *ipc, uint64_t frame, uint64_t vspace, unsigned rights)
{
	struct message m = { .word = { rights } };
	ipc->caps[0] = vspace;
	return invoke(frame, FRAME_PROTECT, 1, 1, &m);
}

/* The same of `count` frames, whose capability pointers follow `frame`. */
static inline int frame_protect_range(struct ipc_buffer *ipc, uint64_t frame, uint64_t vspace, unsigned rights,
				      uint64_t count)
{
	struct message m = { .word = { rights, count } };
	ipc->caps[0] = vspace;
	return invoke(frame, FRAME_PROTECT, 1, 2, &m);
}

static inline int frame_address(uint64_t frame, uint64_t *address)
{
	return invoke_word(frame, FRAME_ADDRESS, address);
}

static inline int page_table_map(struct ipc_buffer *ipc, uint64_t table, uint64_t vspace, uint64_t address)
{
	struct message m = { .word = { address } };
	ipc->caps[0] = vspace;
	return invoke(table, PAGE_TABLE_MAP, 1, 1, &m);
}

static inline int page_table_unmap(uint64_t table)
{
	return invoke_only(table, PAGE_TABLE_UNMAP);
}

enum { IRQ_LEVEL_TRIGGERED = 1, IRQ_ACTIVE_LOW = 2 };

static inline int irq_get_ioapic(struct ipc_buffer *ipc, uint64_t control, uint64_t cnode, uint64_t slot,
				 unsigned core, unsigned gsi, unsigned flags)
{
	struct message m = { .word = { slot, core, gsi, flags } };
	ipc->caps[0] = cnode;
	return invoke(control, IRQ_GET_IOAPIC, 1, 4, &m);
}

static inline int irq_get_msi(struct ipc_buffer *ipc, uint64_t control, uint64_t cnode, uint64_t slot,
			      unsigned core, uint64_t *address, uint32_t *data)
{
	struct message m = { .word = { slot, core } };
	ipc->caps[0] = cnode;
	int error = invoke(control, IRQ_GET_MSI, 1, 2, &m);
	*address = error ? 0 : m.word[0];
	*data = error ? 0 : (uint32_t)m.word[1];
	return error;
}

static inline int irq_set_notification(struct ipc_buffer *ipc, uint64_t handler, uint64_t notification)
{
	struct message m = { 0 };
	ipc->caps[0] = notification;
	return invoke(handler, IRQ_SET_NOTIFICATION, 1, 0, &m);
}

static inline int irq_ack(uint64_t handler)
{
	return invoke_only(handler, IRQ_ACK);
}

static inline int cluster_read(uint64_t control, uint32_t cluster, uint64_t *word)
{
	struct message m = { .word = { cluster } };
	int error = invoke(control, CLUSTER_READ, 0, 1, &m);
	*word = error ? 0 : m.word[0];
	return error;
}

/* `word` is what CLUSTER_READ gave. */
static inline int cluster_claim(uint64_t control, uint32_t cluster, uint64_t word)
{
	struct message m = { .word = { cluster, word } };
	return invoke(control, CLUSTER_CLAIM, 0, 2, &m);
}

/* CLUSTER_FENCE, CLUSTER_START or CLUSTER_GIVE_UP. */
static inline int cluster_step(uint64_t control, enum skerry_invocation step, uint32_t cluster)
{
	struct message m = { .word = { cluster } };
	return invoke(control, step, 0, 1, &m);
}

/* `size` is 1, 2 or 4 bytes. */
static inline int io_port_in(uint64_t ports, uint16_t port, unsigned size, uint32_t *value)
{
	struct message m = { .word = { port, size } };
	int error = invoke(ports, IO_PORT_IN, 0, 2, &m);
	*value = error ? 0 : (uint32_t)m.word[0];
	return error;
}

static inline int io_port_out(uint64_t ports, uint16_t port, unsigned size, uint32_t value)
{
	struct message m = { .word = { port, size, value } };
	return invoke(ports, IO_PORT_OUT, 0, 3, &m);
}

static inline int channel_listen(struct ipc_buffer *ipc, uint64_t channel, unsigned doorbell, unsigned core,
				 uint64_t notification)
{
	struct message m = { .word = { doorbell, core } };
	ipc->caps[0] = notification;
	return invoke(channel, CHANNEL_LISTEN, 1, 2, &m);
}

/* *under_way: the kernel still changes. The caller repeats the call until it is false. */
static inline int control_granularity(uint64_t control, enum granularity target, bool *under_way)
{
	struct message m = { .word = { target } };
	int error = invoke(control, CONTROL_GRANULARITY, 0, 1, &m);
	*under_way = !error && m.word[0];
	return error;
}

/* The same, and returns when the kernel has changed: when no core is left in an entry that began before. */
static inline int control_granularity_wait(uint64_t control, enum granularity target)
{
	bool under_way;
	int error;
	do
		error = control_granularity(control, target, &under_way);
	while (under_way);
	return error;
}

/* --- the cores that may use an endpoint, a notification or a reply object themselves (CNODE_LOCALITY) --- */

static inline int cnode_set_locality(uint64_t cnode, uint64_t slot, uint64_t mask)
{
	struct message m = { .word = { slot, mask } };
	return invoke(cnode, CNODE_LOCALITY, 0, 2, &m);
}

static inline int cnode_locality(uint64_t cnode, uint64_t slot, uint32_t *mask, unsigned *home)
{
	struct message m = { .word = { slot } };
	int error = invoke(cnode, CNODE_LOCALITY_OF, 0, 1, &m);
	*mask = error ? MASK_NONE : (uint32_t)m.word[0];
	*home = error ? 0 : (unsigned)m.word[1];
	return error;
}

/* --- mapping domains (OBJECT_DOMAIN): the frames in them and what guards their mappings --- */

/* `domain` 0: the kernel's own. */
static inline int frame_split(struct ipc_buffer *ipc, uint64_t frame, uint64_t domain)
{
	struct message m = { 0 };
	ipc->caps[0] = domain;
	return invoke(frame, FRAME_SPLIT, domain ? 1 : 0, 0, &m);
}

static inline int frame_guard(uint64_t frame, enum frame_guard *guard)
{
	uint64_t word;
	int error = invoke_word(frame, FRAME_GUARD, &word);
	*guard = (enum frame_guard)word; /* FRAME_GUARD_KERNEL where it fails */
	return error;
}

/* `before` may be null. */
static inline int domain_granularity(uint64_t domain, enum granularity target, enum granularity *before)
{
	struct message m = { .word = { target } };
	int error = invoke(domain, DOMAIN_GRANULARITY, 0, 1, &m);
	if (before)
		*before = error ? GRANULARITY_COARSE : (enum granularity)m.word[0];
	return error;
}

/* --- cores and memory that move: invocations of the cluster control object --- */

/* `index`: of the core in this cluster. */
static inline int core_control_read(uint64_t control, uint32_t cpu, uint64_t *word, uint64_t *index)
{
	struct message m = { .word = { cpu } };
	int error = invoke(control, CORE_READ, 0, 1, &m);
	*word = error ? 0 : m.word[0];
	*index = error ? 0 : m.word[1];
	return error;
}

static inline int core_leave_for(uint64_t control, uint32_t cpu, uint32_t cluster)
{
	struct message m = { .word = { cpu, cluster } };
	return invoke(control, CORE_LEAVE, 0, 2, &m);
}

static inline int core_control_take(uint64_t control, uint32_t cpu)
{
	struct message m = { .word = { cpu } };
	return invoke(control, CORE_TAKE, 0, 1, &m);
}

static inline int memory_give_to(struct ipc_buffer *ipc, uint64_t control, uint64_t untyped, uint32_t cluster)
{
	struct message m = { .word = { cluster } };
	ipc->caps[0] = untyped;
	return invoke(control, MEMORY_GIVE, 1, 1, &m);
}

static inline int memory_take_parked(struct ipc_buffer *ipc, uint64_t control, uint64_t base, unsigned size_bits,
                                     uint64_t cnode, uint64_t slot)
{
	struct message m = { .word = { base, size_bits, slot } };
	ipc->caps[0] = cnode;
	return invoke(control, MEMORY_TAKE, 1, 3, &m);
}

/* --- sets of cores --- */

/* `set`: bit i of word w is core 64 w + i. */
static inline int tcb_set_cores(struct ipc_buffer *ipc, uint64_t tcb, uint64_t authority, const uint64_t *set,
                                unsigned words)
{
	struct message m = { 0 };
	for (unsigned i = 0; i < words; i++)
		*(i < MESSAGE_REGISTERS ? &m.word[i] : &ipc->words[i]) = set[i];
	ipc->caps[0] = authority;
	return invoke(tcb, TCB_SET_CORES, 1, words, &m);
}

/* The set is that one core. */
static inline int tcb_set_core(struct ipc_buffer *ipc, uint64_t tcb, uint64_t authority, unsigned core)
{
	struct message m = { 0 };
	for (unsigned i = MESSAGE_REGISTERS; i < core / 64; i++)
		ipc->words[i] = 0;
	*(core / 64 < MESSAGE_REGISTERS ? &m.word[core / 64] : &ipc->words[core / 64]) = 1ull << core % 64;
	ipc->caps[0] = authority;
	return invoke(tcb, TCB_SET_CORES, 1, core / 64 + 1, &m);
}
