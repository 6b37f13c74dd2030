/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system-call interface.
 *
 * Entry is by the SYSCALL instruction:
 *
 *     in    RAX system call            out   RAX 0 or an error (errors.h)
 *           RDI capability pointer           RDI badge of the sender / notification word
 *           RSI message info                 RSI message info
 *           RDX R10 R8 R9  words 0-3         RDX R10 R8 R9  words 0-3
 *           R12 capability pointer of a reply object (RECV, REPLY_RECV, REPLY)
 *
 * RCX and R11 are lost; all other registers keep their values. Message words
 * 4 .. 119 and capability pointers travel in the thread's IPC buffer. Of the
 * registers for words only those within the message's length are sent; the
 * receiver's others stay as they were.
 *
 * Capabilities travel where the sender's endpoint capability has RIGHT_GRANT
 * (an answer: where the capability it was received through had it): copies of
 * those that `caps[]` names go to the receiver's `receive_slot` and the slots
 * after it. The first that cannot be copied or put there ends the transfer; the
 * message info says how many arrived.
 *
 * The bases of FS and GS are those that TCB_SET_TLS and TCB_WRITE_REGISTERS set;
 * what a program sets by WRFSBASE or WRGSBASE may be lost at any time.
 *
 * A system call that has much to do (revocation, protection, deletion, zeroing, waking)
 * stops now and then and is made again by itself: interrupts and other cores get their
 * turn, the caller sees one call. (Unless it deletes the capability through which
 * it was made, and has more to do: then it ends with BAD_CAP, and the kernel does
 * the rest by and by.) A thread that is suspended while it waits
 * makes its call again when it is resumed.
 */
#pragma once

#include <stdint.h>
#include <skerry/errors.h>

/*
 * System calls; any other number is a fault (FAULT_SYSCALL). What follows
 * "Errors:" comes beside BAD_CAP, when a capability pointer names nothing or
 * something of another type, and NO_RIGHTS (see RIGHT_READ).
 */
enum skerry_syscall {
	/* Endpoint: send and wait for the reply. Any other object: invoke it (enum skerry_invocation).
	 * Errors: DELETED (the endpoint, or the reply object that held the caller). */
	SYS_CALL = 1,
	/* Endpoint: wait until the message is received. Errors: DELETED. */
	SYS_SEND,
	/* Endpoint: drop the message if nobody waits. */
	SYS_NB_SEND,
	/* Endpoint: wait for a message; a Call's caller is then held by the reply object named in R12. A bound
	 * notification that is signalled ends the wait too: RAX 0, RSI 0, RDI its word, with RECV_NOTIFICATION set in
	 * the message info's label. Errors: BUSY (the reply object is in use), DELETED. */
	SYS_RECV,
	/* As RECV, without waiting. Errors: BUSY, WOULD_BLOCK. */
	SYS_NB_RECV,
	/* RDI unused: answer the caller held by the reply object R12. Errors: NO_REPLY. */
	SYS_REPLY,
	/* REPLY through R12, then RECV from RDI with the same R12. Errors: NO_REPLY, DELETED. */
	SYS_REPLY_RECV,
	/* Notification: or the capability's badge (1 if it has none) into its word, wake a waiter. Doorbell: the same
	 * in another cluster. */
	SYS_SIGNAL,
	/* Notification: wait until its word is not 0, take it (RDI). RDX is a deadline in TSC cycles, 0 for none.
	 * Errors: TIMED_OUT, DELETED. */
	SYS_WAIT,
	/* Notification: take its word, 0 if there is none. */
	SYS_POLL,
	/* To the next thread of this priority on this core. */
	SYS_YIELD,
	/* Kernel's control object: the byte RDX goes to the debug console: the serial port and the screen that the
	 * loader found, if any. For panics, first light, and where user level can drive no port itself. */
	SYS_DEBUG_PUT,
	/* SIGNAL through R12, then WAIT at RDI with the deadline RDX, in one entry: a thread that the signal wakes on
	 * this core runs when the caller sleeps. No signal is made where BAD_CAP or NO_RIGHTS is answered, for either
	 * capability. A thread that is suspended while it waits makes WAIT again. Errors: TIMED_OUT, DELETED. */
	SYS_SIGNAL_WAIT,
	/* Up to 64 notifications at once: for each bit i of RDX, from bit 0 on, SIGNAL the notification that capability
	 * pointer RDI + i names. The cores on which threads are woken get one round of interrupts. The first that is
	 * refused ends the call. RDX is then the mask of those that were not signalled, the refused one included; it
	 * is 0 after success. */
	SYS_SIGNAL_SET,
};

/* Message info: bits 0-6 length in words, 7-8 number of capabilities, 12-63 label. */
enum { MESSAGE_WORDS_MAX = 120, MESSAGE_REGISTERS = 4, MESSAGE_CAPS_MAX = 3 };

/*@ requires label < 1 << 52 && caps <= 3 && words <= 127;
  @ assigns \nothing;
  @ ensures bits: \result == label * 4096 + caps * 128 + words; */
static inline uint64_t message_info(uint64_t label, unsigned caps, unsigned words)
{
	return label << 12 | (uint64_t)(caps & 3) << 7 | (words & 127);
}
/*@ assigns \nothing; ensures bits: \result == info / 4096; */
static inline uint64_t message_label(uint64_t info) { return info >> 12; }
/*@ assigns \nothing; ensures bits: \result == info / 128 % 4; */
static inline unsigned message_caps(uint64_t info) { return (unsigned)(info >> 7) & 3; }
/*@ assigns \nothing; ensures bits: \result == info % 128; */
static inline unsigned message_words(uint64_t info) { return (unsigned)info & 127; }

#define RECV_NOTIFICATION 0xffffffffull /* the label of a receive that a notification ended */

/* One per thread, 1 KiB aligned, inside one frame that stays mapped writable. */
struct ipc_buffer {
	uint64_t words[MESSAGE_WORDS_MAX]; /* 0-3 travel in registers and are not read here */
	uint64_t caps[MESSAGE_CAPS_MAX];   /* capability pointers: sent, or extra arguments of an invocation */
	uint64_t receive_cnode;            /* where received capabilities go: CNode, 0: none are wanted */
	uint64_t receive_slot;             /* the first of MESSAGE_CAPS_MAX slots there */
	uint64_t reserved[3];
};
_Static_assert(sizeof(struct ipc_buffer) == 1024, "fits a quarter frame");

/* Kernel objects, as RETYPE names them. Sizes in bytes are 1 << bits. */
enum skerry_object {
	OBJECT_UNTYPED = 1, /* size_bits 4 .. 47 */
	OBJECT_TCB,         /* 2 KiB */
	OBJECT_ENDPOINT,    /* 64 B */
	OBJECT_NOTIFICATION,/* 64 B */
	OBJECT_REPLY,       /* 64 B */
	OBJECT_CNODE,       /* size_bits = log2 of slots; 64 B a slot */
	OBJECT_VSPACE,      /* 8 KiB */
	OBJECT_PAGE_TABLE,  /* 4 KiB; any level */
	OBJECT_FRAME_4K,    /* 4 KiB */
	OBJECT_FRAME_2M,    /* 2 MiB */
	OBJECT_FRAME_1G,    /* 1 GiB */
	OBJECT_IRQ_HANDLER, /* not from untyped: IRQ_GET_* */
	OBJECT_IRQ_CONTROL, /* not from untyped: the first task of the cluster that owns the devices has it */
	OBJECT_IO_PORT,     /* badge: first port | last port << 16; mint narrows */
	OBJECT_CHANNEL,     /* one end of a channel's doorbells; mint makes a doorbell */
	OBJECT_DOORBELL,    /* badge: number of the doorbell, 0 .. 255 */
	OBJECT_CLUSTER_CONTROL, /* the first task has it where the map lets its cluster start others again */
	/* not from untyped: the first task of each cluster has it; settings of its kernel, its console */
	OBJECT_CONTROL,
	OBJECT_DOMAIN,      /* mapping domain: what guards the mappings of the frames in it */
};

enum { RETYPE_COUNT_MAX = 256, RANGE_COUNT_MAX = 1024 };

enum {
	TCB_BITS = 11,
	ENDPOINT_BITS = 6,
	NOTIFICATION_BITS = 6,
	REPLY_BITS = 6,
	SLOT_BITS = 6,
	VSPACE_BITS = 13,
	PAGE_TABLE_BITS = 12,
	DOMAIN_BITS = 7,
};

/*
 * Rights of a capability. Without the right an operation needs it ends with
 * NO_RIGHTS. A copy never has more rights than its source.
 *
 *                    READ                      WRITE                       GRANT
 *     endpoint       receive, LOCALITY         send, call                  send capabilities
 *     notification   wait, poll, be bound to,  signal
 *                    LOCALITY
 *     doorbell                                 signal
 *     frame          map                       map writable
 *     TCB            READ_REGISTERS, TIME      everything else
 *     CNode          copy from, LOCALITY       change its slots
 *     VSpace                                   map into it
 *     I/O port       in                        out
 *     mapping domain FRAME_SPLIT               GRANULARITY
 *     cluster control  READ                    everything else
 *
 * EXECUTE is a frame's: map executable. Objects that are not named ask for none.
 */
enum { RIGHT_READ = 1, RIGHT_WRITE = 2, RIGHT_GRANT = 4, RIGHT_EXECUTE = 8, RIGHT_ALL = 15 };

/* CONTROL_GRANULARITY: one lock for the kernel, or one for each object. Regimes have either; `dynamic` has both. */
enum granularity { GRANULARITY_COARSE, GRANULARITY_FINE };

/* FRAME_GUARD: what keeps two threads apart that map, unmap or protect a frame at the same time. */
enum frame_guard {
	FRAME_GUARD_KERNEL,  /* it is in no mapping domain, or in one that is gone: the kernel's lock */
	FRAME_GUARD_DOMAIN,  /* its domain, which is coarse */
	FRAME_GUARD_MAPPING, /* its domain is fine: each capability by itself */
};

/* FRAME_MAP attributes */
enum { CACHE_WRITE_BACK = 0, CACHE_DISABLED = 1, CACHE_WRITE_COMBINING = 2 };

/*
 * Invocations: CALL on the object with this label. `m` are message words, `c`
 * capabilities of the IPC buffer (`caps[]`), `r` words of the answer. A slot is
 * an index into the CNode named just before it.
 *
 * What follows "Errors:" comes beside BAD_LABEL (the object has no such invocation),
 * TRUNCATED (fewer words than it reads), BAD_CAP (a `c` that is needed names
 * nothing, or something of another type) and NO_RIGHTS (see RIGHT_READ).
 */
enum skerry_invocation {
	/* m0 object, m1 size_bits (UNTYPED, CNODE; else 0), m2 first slot, m3 count (1 .. RETYPE_COUNT_MAX); c0 CNode.
	 * All but untypeds and device memory is zeroed. CNODE_REVOKE on the untyped makes its room whole again.
	 * Errors: BAD_ARGUMENT (no such object or size, none such in device memory, slots outside the CNode),
	 * SLOT_FULL, NO_MEMORY, NO_RESOURCE (too many VSpaces). Where the call stops between two objects it
	 * moves on m2 and m3: if it then fails (somebody has filled a slot meanwhile), they say what was not made. */
	UNTYPED_RETYPE = 1,
	/* m0 object (FRAME_4K, FRAME_2M), m1 first slot of as many frames of the same size, which may be read, m2 first
	 * slot, m3 count (1 .. RETYPE_COUNT_MAX); c0 CNode, c1 CNode of m1. As RETYPE, but each new frame has the
	 * content of one of m1's; nobody may write these meanwhile, or the copies are mixtures.
	 * Errors: BAD_ARGUMENT, SLOT_FULL, NO_MEMORY, and BAD_CAP (m1: no such frame, or device memory). It moves on
	 * m1, m2 and m3. */
	UNTYPED_COPY,

	/* m0 slot, c0 source CNode, m1 source slot, m2 rights (the copy keeps source & m2); m3, which may be absent
	 * or 0: of so many consecutive slots (up to RANGE_COUNT_MAX). Where it stops in between it moves on m0, m1, m3.
	 * Errors: BAD_ARGUMENT (m0; or an untyped, page table or IRQ handler, of which there is but one), EMPTY_SLOT,
	 * SLOT_FULL, NO_RESOURCE (of this object no more copies can be counted). */
	CNODE_COPY = 16,
	/* As COPY, m3 badge (endpoint, notification: only of an unbadged one; I/O ports: the range; channel: number of
	 * the doorbell it becomes). Of a CNode: m3 guard, m4 guard's bits (0 .. 64 - log2 of its slots).
	 * Errors: BAD_ARGUMENT (also: no such badge), EMPTY_SLOT, SLOT_FULL, NO_RESOURCE. Ports outside the range:
	 * NO_RIGHTS. */
	CNODE_MINT,
	/* m0 slot, c0 source CNode (READ and WRITE: it is changed, too), m1 source slot.
	 * Errors: BAD_ARGUMENT (m0), EMPTY_SLOT, SLOT_FULL. */
	CNODE_MOVE,
	/* m0 slot; an empty one is no error. Errors: BAD_ARGUMENT (m0). */
	CNODE_DELETE,
	/* m0 slot: delete all that was derived from it. Errors: BAD_ARGUMENT (m0). */
	CNODE_REVOKE,
	/* As MINT, but the capability itself goes there, with what was derived from it.
	 * Errors: BAD_ARGUMENT, EMPTY_SLOT, SLOT_FULL, MAPPED (fewer rights while mapped), BUSY (something was derived
	 * from it, and its rights, badge, ports or type would change). */
	CNODE_MUTATE,
	/* m0 slot (of a CNode that may be read) with an endpoint or a notification that may be read, or a reply object;
	 * m1 cluster mask (cluster_mask.h): the cores whose threads use the object themselves. Where a thread of
	 * another core uses it, its home, the first core of the mask, makes the call for it, which differs in nothing
	 * but time. Where the mask has one core, the object takes no lock. Regimes but `dynamic` check the arguments
	 * and do nothing else. Errors: BAD_ARGUMENT (m0; m1 has no core of this kernel, or its first is another
	 * cluster's now), EMPTY_SLOT. */
	CNODE_LOCALITY,
	/* m0 as for CNODE_LOCALITY; r0 cluster mask, 0 (all cores) at first and in regimes but `dynamic`; r1 home.
	 * Errors: BAD_ARGUMENT (m0), EMPTY_SLOT. */
	CNODE_LOCALITY_OF,

	/* c0 CSpace root (CNode), c1 VSpace, c2 frame of the IPC buffer; m0 address of the IPC buffer (0: none, c2
	 * absent), m1 capability pointer (in that CSpace) of the fault endpoint, 0: none.
	 * What the thread had is deleted first.
	 * Errors: ALIGNMENT (m0), BAD_ARGUMENT (device memory), BUSY (not suspended). */
	TCB_CONFIGURE = 32,
	/* m0 priority 0..255, m1 core; c0 the TCB by whose authority it is done: NO_RIGHTS above its maximum controlled
	 * priority (MCP), and for a core that is not in its set of cores. The thread moves when it next leaves its
	 * core. Errors: BAD_ARGUMENT. */
	TCB_SCHEDULE,
	/* m0 resume (0/1), m1.. struct thread_registers; the thread is suspended or waits for its fault handler. Flags
	 * that are not a program's are left out. Errors: BUSY (it runs), BAD_ARGUMENT (an address outside the user's
	 * half; resume of a thread that is not configured, or was never scheduled). */
	TCB_WRITE_REGISTERS,
	/* r0.. struct thread_registers; the thread must not be running. Errors: BUSY. */
	TCB_READ_REGISTERS,
	/* No effect on a thread that runs or waits. Errors: BAD_ARGUMENT (not configured, or never scheduled). */
	TCB_RESUME,
	/* A system call it waits in is made again when it is resumed, and so is a fault that it waits in for a handler
	 * to receive. A fault that a handler has received is not. */
	TCB_SUSPEND,
	/* m0 FS base. Errors: BAD_ARGUMENT, BUSY (it runs on another core). */
	TCB_SET_TLS,
	/* c0 notification, which may be read. Errors: BUSY (either is bound). */
	TCB_BIND,
	/* Signals do not end the thread's receives any more. Errors: EMPTY_SLOT (not bound). */
	TCB_UNBIND,
	/* r0 TSC cycles this thread has run. */
	TCB_TIME,
	/* m0 maximum controlled priority 0..255 (at first 0), c0 as for TCB_SCHEDULE. Errors: BAD_ARGUMENT. */
	TCB_SET_MCP,
	/* m0.. set of cores (at first empty): bit i of word w is core 64 w + i; words that are not there are 0. c0 as
	 * for TCB_SCHEDULE: NO_RIGHTS for a core that is not in its set. By the TCB's authority threads, itself
	 * included, are put on these cores and no others; where threads are already, its own included, does not change.
	 * The first task's TCB has all cores that its kernel can have. */
	TCB_SET_CORES,

	/* c0 VSpace, m0 address, m1 rights (of those that the capability has), m2 attributes (CACHE_*). m3, which may
	 * be absent or 0: the frames of one size that so many consecutive capability pointers name (up to
	 * RANGE_COUNT_MAX), at consecutive addresses; the last is mapped first, and m3 says how many are not mapped yet
	 * where it stops.
	 * Errors: MAPPED (this capability; something there), ALIGNMENT, BAD_ARGUMENT, MISSING_TABLE. */
	FRAME_MAP = 64,
	/* When it returns, no core can use the mapping. Errors: NOT_MAPPED. */
	FRAME_UNMAP,
	/* r0 physical address. */
	FRAME_ADDRESS,
	/* m0 rights. All capabilities that derive from this one keep at most these rights, and so do what they and this
	 * one map; without READ it is unmapped. This capability keeps its rights. A thread loses its IPC buffer, as by
	 * CNODE_REVOKE, if its frame loses READ or WRITE. c0 VSpace (may be absent) in which this capability is mapped:
	 * its own mapping gets just these rights, of those that the capability has. When it returns, no core can use
	 * what was taken. m1, which may be absent: so many frames, as m3 of MAP; other cores are interrupted once each
	 * time that it stops, not for each frame.
	 * Errors: NOT_MAPPED, BAD_ARGUMENT (with c0: it is mapped in another VSpace). */
	FRAME_PROTECT,
	/* c0 mapping domain: the frame is in it from now on, and so is all that will derive from this capability.
	 * Without c0: in the kernel's own, as at first. The frame must not be mapped, and nothing be derived from it.
	 * Whatever derives from it may be split again.
	 * Errors: MAPPED, BUSY (something derives from it). */
	FRAME_SPLIT,
	/* r0 enum frame_guard. */
	FRAME_GUARD,
	/* c0 VSpace, m0 address: fills the highest missing level there.
	 * Errors: MAPPED (this capability; none is missing; a large frame is there), BAD_ARGUMENT. */
	PAGE_TABLE_MAP = 72,
	/* With all that is mapped through it; the table is empty then. Errors: NOT_MAPPED. */
	PAGE_TABLE_UNMAP,

	/* c0 destination CNode, m0 slot, m1 core, on which the handler's vector is; m2 GSI, m3 flags: 1
	 * level-triggered, 2 active low. Errors: BAD_ARGUMENT, SLOT_FULL, BUSY (the GSI has a handler), NO_RESOURCE. */
	IRQ_GET_IOAPIC = 80,
	/* c0 destination CNode, m0 slot, m1 core; r0 message address, r1 message data.
	 * Errors: BAD_ARGUMENT, SLOT_FULL, NO_RESOURCE. */
	IRQ_GET_MSI,
	/* c0 notification, which may be signalled; its badge is. */
	IRQ_SET_NOTIFICATION = 84,
	/* Unmask (level-triggered). */
	IRQ_ACK,

	/* m0 port, m1 size in bytes (1, 2, 4); r0 value. Errors: BAD_ARGUMENT (m1). Outside the range: NO_RIGHTS. */
	IO_PORT_IN = 88,
	/* As IN, m2 value. */
	IO_PORT_OUT,

	/* m0 doorbell number, m1 core on which to receive it, c0 notification, which may be signalled; its badge is.
	 * Doorbells to ring are minted from the channel: CNODE_MINT with badge = number. Errors: BAD_ARGUMENT. */
	CHANNEL_LISTEN = 92,

	/* m0 number of another cluster of the machine, which the map has started again; r0 its state and life, as
	 * control_word() has them (cluster_control.h). Errors, here and below: BAD_ARGUMENT (another m0, the own
	 * cluster's too). */
	CLUSTER_READ = 96,
	/* m0 cluster, m1 the word as it was read: this cluster is the claimer from now on. Errors: BUSY (the word is
	 * another one by now, or the cluster stays down). */
	CLUSTER_CLAIM,
	/* m0 cluster: all its cores are reset and sent to the loader. Errors: BUSY (somebody else is the claimer), as
	 * for the following. */
	CLUSTER_FENCE,
	/* m0 cluster: its first core loads it anew, and all start. Errors: BUSY (also: not all its cores have come to
	 * the loader yet). */
	CLUSTER_START,
	/* m0 cluster: nobody starts it again. */
	CLUSTER_GIVE_UP,
	/* m0 enum granularity: which locks this kernel takes from now on. r0: 1 while some entries still take the locks
	 * of before, and all others both, or a core is on its way into this kernel or out of it; else 0. The same call
	 * made again changes nothing, and tells. The opposite one takes back what has not ended. Errors: BAD_ARGUMENT
	 * (this kernel has no such locks). */
	CONTROL_GRANULARITY = 104,

	/* Of the object of CLUSTER_READ. m0 place of a core in the cluster map; r0 its owner and state, as core_word()
	 * has them (core_control.h), r1 its index in this cluster. Errors, here and below: BAD_ARGUMENT (the kernel has
	 * no room for that core, or no core moves). */
	CORE_READ = 108,
	/* m0 core, m1 another cluster of the machine: the core leaves this cluster for it. CORE_READ tells when it is
	 * parked. Errors: BUSY (it is the first core, or not this cluster's; a thread is or was placed on it, an
	 * interrupt or a doorbell is received there, an object is at home there, or the kernel's locks change). */
	CORE_LEAVE,
	/* m0 core: it becomes one of this cluster's. CORE_READ tells when it has. Errors: BUSY (it is not parked, or
	 * the kernel's locks change). */
	CORE_TAKE,

	/* Of the same object. m0 another cluster of the machine, c0 an untyped of 2 MiB to 128 MiB: its memory leaves
	 * this cluster for that one, and its slot is empty. It must be ordinary memory of which nothing is made, and be
	 * derived from nothing. Errors, here and below: BAD_ARGUMENT (no such cluster or size, or memory that does not
	 * move), BUSY (something is made of it, it derives from another untyped, or the memory is not this cluster's to
	 * give). */
	MEMORY_GIVE = 112,
	/* m0 physical address, m1 log2 of the size, m2 slot, c0 CNode: memory that is parked becomes this cluster's;
	 * the slot gets the untyped. Errors: BUSY (not all of it is parked), SLOT_FULL, BAD_CAP. */
	MEMORY_TAKE,

	/* m0 enum granularity: one lock for the mapping domain, or one for each mapping in it; coarse at first. r0:
	 * what it was. The results of calls are the same. Frames of a domain that is deleted are in the kernel's own.
	 * Errors: BAD_ARGUMENT. */
	DOMAIN_GRANULARITY = 116,
};

/* All that a thread's user state has, less FPU and vector registers. */
struct thread_registers {
	uint64_t rip, rsp, rflags;
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t fs_base, gs_base;
};
_Static_assert(sizeof(struct thread_registers) == 20 * 8, "twenty words of message");

/*
 * A fault is a Call, made for the thread, to its fault endpoint; the endpoint
 * capability's badge tells whose. A reply with label 0 resumes the thread where
 * it was, any other label leaves it suspended. Without a fault endpoint the
 * thread is suspended and the kernel reports it on the debug console.
 *
 * Where it was: at the instruction of a fault (6.5 of Intel's manual, volume 3),
 * which is executed again; behind the instruction of a trap (INT3, a single
 * step) and behind an unknown system call.
 *
 * Each fault is reported once. A thread that is suspended before a handler
 * has received its message, or that is suspended because the fault endpoint
 * is deleted with the message in its queue, raises the fault again when it is
 * resumed, to the fault endpoint that it has then. TCB_WRITE_REGISTERS cancels
 * that. A thread that is suspended after a handler has received the message, or
 * because the reply object that holds it is deleted, goes on where it was.
 */
enum skerry_fault {
	FAULT_EXCEPTION = 1, /* m0 rip, m1 rsp, m2 rflags, m3 vector, m4 error code */
	FAULT_PAGE,          /* m0 rip, m1 rsp, m2 address, m3 x86 page-fault error code */
	FAULT_SYSCALL,       /* m0 rip, m1 rsp, m2 RAX */
};
