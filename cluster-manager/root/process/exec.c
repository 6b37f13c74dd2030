/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include <skerry/span.h>
#include "build.h"
#include "exec.h"
#include "frames-write.h"
#include "memory.h"
#include "modules.h"
#include "process.h"
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "split.h"
#include "vspace.h"

enum {
	STACK_PAGES = PROCESS_STACK_SIZE / SIZE_4K,
	OTHER_PAGES = 64, /* page tables of the image at most, and what the allocator rounds up, without its tables */
};

static uint32_t pages_of(uint64_t bytes) { return (uint32_t)((bytes + SIZE_4K - 1) / SIZE_4K); }

/* --- the order --- */

/* The frame with the stack's content must be the process's own, and there. */
static bool find_stack(const struct exec_process *e, const struct exec_order *o, struct exec_plan *plan)
{
	const struct process *p = e->process;
	const uint64_t offset = o->stack - p->heap.address, size = (uint64_t)pages_of(o->stack_size) * SIZE_4K;
	uint64_t touched;
	if (o->stack % SIZE_4K || o->stack_size % 16 || o->stack_size == 0 || o->stack_size > PROCESS_EXEC_STACK ||
	    !promise_has(&p->heap, o->stack) || offset % SIZE_2M + size > SIZE_2M)
		return false;
	const uint32_t step = (uint32_t)(offset / SIZE_2M);
	const uint64_t bit = p->heap.bit + step;
	if (e->shares->at[e->place].source[step] || promise_word(&p->touched, bit / 64, &touched) ||
	    !(touched >> bit % 64 & 1))
		return false;
	const struct split *s = p->shield ? split_find(p->shield, step) : NULL;
	plan->stack_split = s;
	plan->stack_offset = offset % SIZE_2M;
	plan->stack_frame = s ? s->first + (int)(plan->stack_offset / SIZE_4K) : p->heap.first + (int)step;
	for (uint64_t at = plan->stack_offset; s && at < plan->stack_offset + size; at += SIZE_4K)
		if (!(s->made >> at / PROCESS_STACK_STEP & 1))
			return false;
	return true;
}

/* Frames of an image, at most: what other processes share with it counts, too. */
static uint64_t image_pages(const struct elf_image *image)
{
	uint64_t pages = OTHER_PAGES;
	for (uint32_t i = 0; i < image->count; i++)
		pages += image->segment[i].memory_size / SIZE_4K + 2 + image->segment[i].memory_size / SIZE_2M;
	return pages;
}

int exec_check(const struct map_application *a, const struct exec_process *e, const struct exec_order *o,
               struct exec_plan *plan, struct error_message *err)
{
	const struct module files = module_find(a->files);
	struct elf_image image;
	*plan = (struct exec_plan){ 0 };
	err->text[0] = 0;
	if (e->place == 0 && (a->ipv4 || a->volumes.size || map_has_device(a)))
		return -SKERRY_NO_RIGHTS;
	if (!a->files[0] || files.index < 0 || !span_fits(o->file, o->file_size, files.size) ||
	    !find_stack(e, o, plan))
		return -SKERRY_BAD_ARGUMENT;
	plan->file = (struct module){ (const char *)files.data + o->file, o->file_size, files.index };
	if (!elf_read(&image, plan->file.data, plan->file.size, "to execute", err) ||
	    !elf_check_mappable(&image, SIZE_4K, PROCESS_HEAP_VADDR, ELF_MAX_SEGMENTS, "to execute", err))
		return -SKERRY_BAD_ARGUMENT;
	const uint64_t pages = image_pages(&image);
	return pages > slots_free() / 2 || pages * SIZE_4K > memory_free() ? -SKERRY_NO_MEMORY : 0;
}

/* --- the former program goes --- */

static void unload(const struct exec_process *e)
{
	struct process *p = e->process;
	const bool first = e->place == 0 && !p->executed;
	if (first)
		elf_unload(e->owner);
	memory_return(e->image_owner);
	for (unsigned i = 0; i < ELF_MAX_SEGMENTS; i++) {
		if (first)
			vspace_unmap_range(p->image[i].first, p->image[i].count);
		p->image[i] = (struct elf_mapping){ 0 };
	}
}

/* Unmaps what the process borrows: it is zero when it is touched again. */
static int leave_shares(const struct exec_process *e)
{
	const struct process *p = e->process;
	const struct sharer *own = &e->shares->at[e->place];
	int error = 0;
	for (uint32_t step = 0; step < e->shares->steps && !error; step += 64) {
		uint64_t touched, borrowed = 0;
		for (uint32_t i = 0; i < 64 && step + i < e->shares->steps; i++)
			borrowed |= own->source[step + i] ? 1ull << i : 0;
		const uint64_t word = (p->heap.bit + step) / 64;
		error = borrowed ? promise_word(&p->touched, word, &touched) : 0;
		if (borrowed && !error)
			error = promise_note_word(&p->touched, word, touched & ~borrowed);
	}
	return error ? error : share_leave(e->shares, e->place);
}
_Static_assert(PROCESS_TOUCHED_HEAP % 64 == 0, "64 steps have a word of the table");

/* All pages of heap and stack may be read and written again. */
static int allow_all(const struct exec_process *e)
{
	struct process *p = e->process;
	while (p->shield && p->shield->rights.count) {
		const struct page_range r = p->shield->rights.at[0];
		const int64_t done = process_protect(p, e->owner, r.first * SIZE_4K, (uint64_t)r.count * SIZE_4K,
		                                     PAGE_RIGHTS_DEFAULT);
		if (done <= 0)
			return done ? (int)done : -SKERRY_NO_RESOURCE;
	}
	return 0;
}

/* --- the new one comes --- */

static int set_stack(const struct exec_process *e, const struct exec_order *o, const struct exec_plan *plan)
{
	struct process *p = e->process;
	const uint32_t pages = pages_of(o->stack_size);
	const unsigned groups = STACK_PAGES / PART_PAGES, from = (STACK_PAGES - pages) / PART_PAGES;
	int error = 0;
	require(p->stack.step == PART_PAGES && pages < STACK_PAGES);
	for (unsigned group = from; group < groups && !error; group++) {
		error = promise_commit(&p->stack, group);
		if (!error)
			error = promise_map(&p->stack, p->vspace, &p->touched, group, PAGE_RIGHTS_DEFAULT);
		else if (error == -SKERRY_SLOT_FULL)
			error = 0; /* it is there */
	}
	return error ? error : frames_overwrite(p->stack.first + (int)(STACK_PAGES - pages), pages, plan->stack_frame,
	                                        plan->stack_offset, plan->stack_split);
}

static int load(const struct exec_process *e, const struct exec_plan *plan, uint64_t *entry)
{
	static struct error_message err;
	struct elf_image image;
	uint64_t made = 0;
	const uint32_t before = owner_set(e->image_owner);
	int error = elf_read(&image, plan->file.data, plan->file.size, "to execute", &err) ? 0 : -SKERRY_BAD_ARGUMENT;
	for (uint32_t i = 0; i < image.count && !error; i++)
		error = elf_tables(e->process->vspace, image.segment[i].vaddr,
		                   image.segment[i].vaddr + image.segment[i].memory_size, &made);
	if (!error)
		error = elf_load(&plan->file, "to execute", e->process->vspace, &image, e->process->image, &err);
	owner_set(before);
	e->process->executed = true;
	*entry = image.entry;
	return error;
}

/* The kernel objects that the process made are gone with its untyped memory, which is there anew. */
static int start(const struct process *p, uint64_t entry, uint64_t stack)
{
	const struct thread_registers registers = { .rip = entry, .rsp = stack, .rflags = 0x202 };
	int error = process_give_memory(p);
	return error ? error : tcb_write_registers(IPC, (uint64_t)p->tcb, 1, &registers);
}

int exec_run(const struct exec_process *e, const struct exec_order *o, const struct exec_plan *plan)
{
	struct process *p = e->process;
	uint64_t entry = 0;
	require(owner_now() == OWNER_MANAGER && p->image);
	const uint64_t before = memory_free();
	process_stop(p);
	int error = leave_shares(e);
	if (!error)
		error = allow_all(e);
	unload(e);
	if (!error)
		error = load(e, plan, &entry);
	owner_set(e->owner);
	if (!error)
		error = set_stack(e, o, plan);
	owner_set(OWNER_MANAGER);
	p->memory += before - memory_free();
	p->started = true;
	sign_pass();
	return error ? error : start(p, entry, PROCESS_STACK_TOP - o->stack_size);
}
