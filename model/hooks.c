/* SPDX-License-Identifier: BSD-2-Clause */
/* What the compiler's instrumentation calls: the interface of the ThreadSanitizer runtime, as gcc and clang emit it. */
#include <stddef.h>
#include <string.h>
#include "engine.h"

#define CODE __builtin_return_address(0)

/* The program's own access follows; it is plain. */
static void plain(const void *address, uint64_t size, bool write, const void *code)
{
	if (!explore_running())
		return;
	plain_access(engine_watched(), (uint64_t)address, size, write, false, code);
	if (write)
		plain_record((uint64_t)address, size);
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_read_range(const void *address, size_t size) { plain(address, size, false, CODE); }
void __tsan_write_range(const void *address, size_t size) { plain(address, size, true, CODE); }

#define PLAIN(size)                                                                             \
	void __tsan_read##size(const void *address) { plain(address, size, false, CODE); }            \
	void __tsan_write##size(const void *address) { plain(address, size, true, CODE); }            \
	void __tsan_unaligned_read##size(const void *address) { plain(address, size, false, CODE); }  \
	void __tsan_unaligned_write##size(const void *address) { plain(address, size, true, CODE); }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

void *explore_memcpy(void *to, const void *from, size_t size)
{
	plain(from, size, false, CODE);
	plain(to, size, true, CODE);
	return memcpy(to, from, size);
}

void *explore_memset(void *to, int byte, size_t size)
{
	plain(to, size, true, CODE);
	return memset(to, byte, size);
}

/* The orders as the instrumentation passes them: __ATOMIC_RELAXED to __ATOMIC_SEQ_CST. */
static struct op make(enum op_kind kind, unsigned size, const volatile void *address, int order)
{
	return (struct op){
		.kind = kind, .size = size, .address = (uint64_t)address,
		.acquire = kind != OP_STORE && order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE,
		.release = kind != OP_LOAD && order >= __ATOMIC_RELEASE, /* and above: acq_rel, seq_cst */
		.sequential = order == __ATOMIC_SEQ_CST,
	};
}

static struct op make_cas(unsigned size, const volatile void *address, uint64_t expected, uint64_t value, int order,
                          int failure)
{
	struct op op = make(OP_CAS, size, address, order);
	op.failed_acquire = failure != __ATOMIC_RELAXED;
	op.failed_sequential = failure == __ATOMIC_SEQ_CST;
	op.expected = expected;
	op.operand = value;
	return op;
}

#define RMW(bits, type, name, how)                                                              \
	type __tsan_atomic##bits##_##name(volatile type *address, type value, int order)        \
	{                                                                                       \
		struct op op = make(OP_RMW, sizeof(type), address, order);                      \
		op.rmw = how;                                                                   \
		op.operand = value;                                                             \
		engine_access(&op, CODE);                                                       \
		return op.value;                                                                \
	}

#define CAS(bits, type, name)                                                                   \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type value, \
	                                                  int order, \
	                                                  int failure)                          \
	{                                                                                       \
		struct op op = make_cas(sizeof(type), address, *expected, value, order, failure); \
		engine_access(&op, CODE);                                                       \
		if (!op.exchanged) {                                                            \
			plain(expected, sizeof(type), true, CODE);                                    \
			*expected = op.value;                                                   \
		}                                                                               \
		return op.exchanged;                                                            \
	}

/* clang's, which wants the old value. */
#define CAS_VALUE(bits, type)                                                                   \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected, type value, int order, \
	                                                int failure)                            \
	{                                                                                       \
		struct op op = make_cas(sizeof(type), address, expected, value, order, failure); \
		engine_access(&op, CODE);                                                       \
		return op.value;                                                                \
	}

#define ATOMIC(bits, type)                                                                      \
	type __tsan_atomic##bits##_load(const volatile type *address, int order)                \
	{                                                                                       \
		struct op op = make(OP_LOAD, sizeof(type), address, order);                     \
		engine_access(&op, CODE);                                                       \
		return op.value;                                                                \
	}                                                                                       \
	void __tsan_atomic##bits##_store(volatile type *address, type value, int order)         \
	{                                                                                       \
		struct op op = make(OP_STORE, sizeof(type), address, order);                    \
		op.operand = value;                                                             \
		engine_access(&op, CODE);                                                       \
	}                                                                                       \
	RMW(bits, type, exchange, RMW_EXCHANGE)                                                 \
	RMW(bits, type, fetch_add, RMW_ADD)                                                     \
	RMW(bits, type, fetch_sub, RMW_SUB)                                                     \
	RMW(bits, type, fetch_and, RMW_AND)                                                     \
	RMW(bits, type, fetch_or, RMW_OR)                                                       \
	RMW(bits, type, fetch_xor, RMW_XOR)                                                     \
	RMW(bits, type, fetch_nand, RMW_NAND)                                                   \
	CAS_VALUE(bits, type)                                                                   \
	CAS(bits, type, strong)                                                                 \
	CAS(bits, type, weak)
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)

/*
 * A sequentially consistent fence, where a thread has no other kind, is as strong as an acquiring and releasing
 * read-modify-write of one place that all such fences have in common (Lahav et al., "Taming release-acquire
 * consistency", POPL 2016, section 5).
 */
void __tsan_atomic_thread_fence(int order)
{
	static uint32_t fences;

	if (order != __ATOMIC_SEQ_CST)
		explore_fail("a fence that is not sequentially consistent: the explorer does not know it");
	struct op op = make(OP_RMW, sizeof(fences), &fences, __ATOMIC_ACQ_REL);
	op.rmw = RMW_EXCHANGE;
	engine_access(&op, CODE);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }
