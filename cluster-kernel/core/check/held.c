/* SPDX-License-Identifier: BSD-2-Clause */
#include "held.h"
#include "arch.h"
#include "kernel.h"

enum { MESSAGE_MAX = 256 };

struct panic_text {
	char text[MESSAGE_MAX];
	unsigned size;
};

static void text_add(struct panic_text *message, const char *text)
{
	while (*text && message->size < MESSAGE_MAX - 1)
		message->text[message->size++] = *text++;
	message->text[message->size] = 0;
}

static void text_add_place(struct panic_text *message, struct place place)
{
	char digits[12];
	unsigned n = sizeof(digits) - 1;
	digits[n] = 0;
	do
		digits[--n] = '0' + place.line % 10;
	while ((place.line /= 10) && n);
	text_add(message, place.file ? place.file : "?");
	text_add(message, ":");
	text_add(message, &digits[n]);
}

_Noreturn void assertion_failed(const char *expression, const char *file, unsigned line)
{
	struct panic_text message = { .size = 0 };
	text_add(&message, "assertion failed: ");
	text_add(&message, expression);
	text_add(&message, ", ");
	text_add_place(&message, (struct place){ file, line });
	arch_panic(message.text);
}

/* What is wrong, with both places. */
static _Noreturn void lock_mistake(const char *what, struct place place, const char *and, struct place before)
{
	struct panic_text message = { .size = 0 };
	text_add(&message, what);
	text_add_place(&message, place);
	text_add(&message, and);
	text_add_place(&message, before);
	arch_panic(message.text);
}

void held_enter(struct cpu *cpu, struct place place)
{
	const struct held *held = &cpu->own.held;
	if (held->entered)
		lock_mistake("the kernel's lock is taken twice: ", place, ", held since ", held->entry);
	if (held->count)
		lock_mistake("lock order: the kernel's lock is taken at ", place, ", an object's is held since ",
		             held->lock[0].place);
}

void held_entered(struct cpu *cpu, struct place place)
{
	cpu->own.held.entry = place;
	cpu->own.held.entered = true;
}

void held_exit(struct cpu *cpu, struct place place)
{
	struct held *held = &cpu->own.held;
	if (!held->entered)
		lock_mistake("the kernel's lock is released twice: ", place, ", taken last at ", held->entry);
	if (held->count)
		lock_mistake("a core leaves the kernel at ", place, " with an object's lock held since ",
		             held->lock[held->count - 1].place);
	held->entered = false;
}

static struct held_lock *held_find(struct held *held, const struct object_lock *lock)
{
	for (unsigned i = 0; i < held->count; i++)
		if (held->lock[i].lock == lock)
			return &held->lock[i];
	return 0;
}

void held_take(struct cpu *cpu, const struct object_lock *lock, enum held_rank rank, struct place place)
{
	struct held *held = &cpu->own.held;
	const struct held_lock *same = held_find(held, lock);
	if (same)
		lock_mistake("a lock is taken twice: ", place, ", held since ", same->place);
	for (unsigned i = 0; i < held->count; i++)
		if (held->lock[i].rank >= rank)
			lock_mistake("lock order: a lock is taken at ", place,
			             " behind one of a higher or the same rank, held since ",
			       held->lock[i].place);
}

void held_taken(struct cpu *cpu, const struct object_lock *lock, enum held_rank rank, struct place place)
{
	struct held *held = &cpu->own.held;
	if (held->count == HELD_MAX)
		lock_mistake("more locks are held than there are ranks: ", place, ", the first since ",
		             held->lock[0].place);
	held->lock[held->count++] = (struct held_lock){ lock, place, rank };
}

void held_take_pair(struct cpu *cpu, const struct object_lock *a, const struct object_lock *b, struct place place)
{
	held_take(cpu, a, RANK_TCB, place);
	held_take(cpu, b, RANK_TCB, place);
	if (a == b)
		lock_mistake("a lock is taken twice: ", place, ", as both of a pair, ", place);
}

void held_taken_pair(struct cpu *cpu, const struct object_lock *a, const struct object_lock *b, struct place place)
{
	held_taken(cpu, a, RANK_TCB, place);
	held_taken(cpu, b, RANK_TCB, place);
}

void held_drop(struct cpu *cpu, const struct object_lock *lock, struct place place)
{
	struct held *held = &cpu->own.held;
	struct held_lock *found = held_find(held, lock);
	if (!found)
		lock_mistake("a lock is released that is not held: ", place, ", the kernel was entered at ",
		             held->entry);
	*found = held->lock[--held->count];
}

void held_check(const struct object_lock *lock, const char *name, struct place place)
{
	struct cpu *cpu = arch_this_cpu();
	if (!cpu || held_find(&cpu->own.held, lock) || (cpu->own.held.entered && kernel_exclusive(cpu)))
		return;
	struct panic_text message = { .size = 0 };
	text_add(&message, "not held: ");
	text_add(&message, name);
	text_add(&message, ", ");
	text_add_place(&message, place);
	arch_panic(message.text);
}

void held_check_entered(struct place place)
{
	const struct cpu *cpu = arch_this_cpu();
	if (cpu && !cpu->own.held.entered)
		lock_mistake("outside of the kernel's lock: ", place, ", entered last at ", cpu->own.held.entry);
}

void held_check_exclusive(struct place place)
{
	struct cpu *cpu = arch_this_cpu();
	held_check_entered(place);
	if (cpu && !kernel_exclusive(cpu))
		lock_mistake("the entry must be exclusive and is not: ", place, ", entered at ", cpu->own.held.entry);
}
