/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every error a system call or a user-level library of Skerry returns.
 *
 * Sign convention: the kernel returns 0 or a positive code in RAX; the stubs
 * and libraries in C return 0 or the code negated (`return -SKERRY_EMPTY_SLOT`).
 */
#pragma once

#define SKERRY_ERRORS(X)                                                                 \
	X(1, BAD_SYSCALL, "no system call has this number")                              \
	X(2, BAD_CAP, "the capability pointer names no capability of the right type")    \
	X(3, BAD_LABEL, "this object has no such invocation")                            \
	X(4, BAD_ARGUMENT, "an argument is outside its range")                           \
	X(5, TRUNCATED, "the message is shorter than the invocation needs")              \
	X(6, NO_RIGHTS, "the capability lacks a right the operation needs")              \
	X(7, ALIGNMENT, "an address is not aligned to the size it names")                \
	X(8, NO_MEMORY, "the untyped has no room for what was asked")                    \
	X(9, SLOT_FULL, "the destination slot already holds a capability")               \
	X(10, EMPTY_SLOT, "the source slot is empty")                                    \
	X(11, MISSING_TABLE, "a page table is missing on the way to this address")       \
	X(12, MAPPED, "something is already mapped here")                                \
	X(13, NOT_MAPPED, "nothing of this capability is mapped")                        \
	X(14, BUSY, "the object is in use")                                              \
	X(15, TIMED_OUT, "the deadline passed first")                                    \
	X(16, WOULD_BLOCK, "the operation would have to wait")                           \
	X(17, DELETED, "the object was deleted while the thread waited on it")           \
	X(18, NO_REPLY, "the reply object holds no caller")                              \
	X(19, NO_RESOURCE, \
	  "a table of fixed size is full (interrupts, address spaces, copies of a capability)") \
	X(20, PEER_DOWN, "the other end of the channel is not running")                  \
	X(21, PROTOCOL, "the other side broke the protocol")                             \
	X(22, NOT_FOUND, "nothing has this name")

enum skerry_error {
	SKERRY_OK = 0,
#define SKERRY_ERROR_CODE(code, name, sentence) SKERRY_##name = code,
	SKERRY_ERRORS(SKERRY_ERROR_CODE)
#undef SKERRY_ERROR_CODE
};
