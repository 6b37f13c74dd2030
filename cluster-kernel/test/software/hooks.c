/* SPDX-License-Identifier: BSD-2-Clause */
/* What gcc's -fsanitize=thread instrumentation calls: writes are told to the transaction that runs, if one does. */
#include <string.h>
#include "transaction.h"

#ifdef transaction_reads /* a program that must know what is read, too, has a function of this name */
void transaction_reads(const volatile void *address, size_t size);
#else
#define transaction_reads(address, size) ((void)(address), (void)(size))
#endif

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_read_range(const void *address, size_t size) { transaction_reads(address, size); }
void __tsan_write_range(void *address, size_t size) { transaction_writes(address, size); }

#define PLAIN(size)                                                                             \
	void __tsan_read##size(const void *address) { transaction_reads(address, size); }       \
	void __tsan_write##size(void *address) { transaction_writes(address, size); }           \
	void __tsan_unaligned_read##size(const void *address) { transaction_reads(address, size); } \
	void __tsan_unaligned_write##size(void *address) { transaction_writes(address, size); }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

void *undo_memcpy(void *to, const void *from, size_t size)
{
	transaction_reads(from, size);
	transaction_writes(to, size);
	return memcpy(to, from, size);
}

void *undo_memset(void *to, int byte, size_t size)
{
	transaction_writes(to, size);
	return memset(to, byte, size);
}

/* The machine has one thread: each order is as good as the next. */
#define RMW(bits, type, name)                                                                   \
	type __tsan_atomic##bits##_##name(volatile type *address, type value, int order)        \
	{                                                                                       \
		(void)order;                                                                    \
		transaction_writes((void *)address, sizeof(type));                              \
		return __atomic_##name(address, value, __ATOMIC_SEQ_CST);                       \
	}

#define EXCHANGE(bits, type)                                                                    \
	type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order)      \
	{                                                                                       \
		(void)order;                                                                    \
		transaction_writes((void *)address, sizeof(type));                              \
		return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                   \
	}

#define CAS(bits, type, name)                                                                   \
	int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected, type value, \
	                                                  int order, \
	                                                  int failure)                          \
	{                                                                                       \
		(void)order, (void)failure;                                                     \
		transaction_writes((void *)address, sizeof(type));                              \
		return __atomic_compare_exchange_n(address, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	}

#define ATOMIC(bits, type)                                                                      \
	type __tsan_atomic##bits##_load(const volatile type *address, int order)                \
	{                                                                                       \
		(void)order;                                                                    \
		transaction_reads((const void *)address, sizeof(type));                         \
		return __atomic_load_n(address, __ATOMIC_SEQ_CST);                              \
	}                                                                                       \
	void __tsan_atomic##bits##_store(volatile type *address, type value, int order)         \
	{                                                                                       \
		(void)order;                                                                    \
		transaction_writes((void *)address, sizeof(type));                              \
		__atomic_store_n(address, value, __ATOMIC_SEQ_CST);                             \
	}                                                                                       \
	EXCHANGE(bits, type)                                                                    \
	RMW(bits, type, fetch_add)                                                              \
	RMW(bits, type, fetch_sub)                                                              \
	RMW(bits, type, fetch_and)                                                              \
	RMW(bits, type, fetch_or)                                                               \
	RMW(bits, type, fetch_xor)                                                              \
	CAS(bits, type, strong)                                                                 \
	CAS(bits, type, weak)
ATOMIC(8, uint8_t) ATOMIC(16, uint16_t) ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)
