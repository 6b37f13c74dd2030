/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>
#include "arena.h"
#include "vspace.h"

#define OTHER_SECRET 0x4242424242424242ull
enum { PAGE = 4096, VIEW_PAGES = 8, NOT_DONE = 1, NO_THREAD = 2, OTHER_TLS = 0x5000 };

static uint64_t view_page(struct vspace *vspace, uint64_t vaddr, uint64_t seed)
{
	unsigned missing;
	const uint64_t *entry = vspace_entry(vspace, vaddr, LEVEL_4K, &missing);
	uint64_t hash = log_mix(seed, entry ? *entry : 0);
	if (!entry || !arch_pte_present(*entry) || arch_pte_is_table(*entry))
		return hash;
	const uint64_t address = arch_pte_address(*entry, LEVEL_4K);
	if (address - arena_part(0) >= tiny->config.memory)
		return hash;
	const uint64_t *word = direct(address);
	for (unsigned i = 0; i < PAGE / sizeof(*word); i++)
		hash += log_mix(seed + 1 + i, word[i]);
	return hash;
}

/* Returns a hash of what B can see. */
static uint64_t view(void)
{
	const struct cap *cap = &tiny->root_cnode[TINY_B].cap;
	if (cap->type != OBJECT_TCB)
		return NO_THREAD;
	const struct thread *thread = (const struct thread *)cap->object;
	const uint64_t *word = (const uint64_t *)&thread->context.registers;
	uint64_t hash = log_mix(1, thread->state) + log_mix(2, current(tiny_cpu(0)) == thread);
	for (unsigned i = 0; i < sizeof(thread->context.registers) / sizeof(*word); i++)
		hash += log_mix(PAGE + i, word[i]);
	struct vspace *vspace = thread_vspace(thread);
	for (unsigned i = 0; vspace && i < VIEW_PAGES; i++)
		hash += view_page(vspace, TINY_VADDR + (uint64_t)i * PAGE, (uint64_t)(i + 2) * PAGE);
	return hash;
}

/* From the first state. */
static void change_secrets(void)
{
	const struct thread *a = (const struct thread *)tiny->root_cnode[TINY_A].cap.object;
	uint64_t *word = direct(tiny->root_cnode[TINY_U].cap.object);
	for (size_t i = 0; i < (1ull << TINY_U_BITS) / sizeof(*word); i++)
		if (word[i] == TINY_SECRET)
			log_put(&word[i], OTHER_SECRET);
	log_put((void *)&a->context.registers.fs_base, OTHER_TLS);
	struct ipc_buffer *buffer = thread_ipc_buffer(a);
	for (unsigned i = OPERATION_WORDS; i < MESSAGE_WORDS_MAX; i++)
		log_put(&buffer->words[i], OTHER_SECRET);
}

static uint64_t view_after(const struct search_options *options, unsigned number)
{
	const unsigned count = log_count;
	const struct step step = search_step(options, number);
	const uint64_t hash = step_do(&step) ? view() : NOT_DONE;
	log_undo(count);
	return hash;
}

size_t pairs_compare(const struct search_options *options, void (*follow_path)(uint32_t), void (*go_to_first)(void),
                     uint32_t state, volatile uint16_t *at_step)
{
	static uint64_t seen[SEARCH_STEPS_MAX];
	require(tiny->config.cores == 1);
	for (unsigned i = 0; i < search_steps(options); i++)
		seen[i] = view_after(options, i);
	go_to_first();
	change_secrets();
	follow_path(state);
	size_t pairs = 0;
	for (unsigned i = 0; i < search_steps(options); i++) {
		*at_step = (uint16_t)i;
		if (seen[i] == NOT_DONE)
			continue;
		pairs++;
		if (view_after(options, i) != seen[i])
			fail("B sees a secret");
	}
	return pairs;
}

static uint64_t view_of_path(const struct search_options *options, const unsigned *path, unsigned length)
{
	static struct census census;
	for (unsigned i = 0; i < length - 1; i++) {
		const struct step step = search_step(options, path[i]);
		step_do(&step);
		census_take(&census);
		canonical_make(&census);
	}
	return view_after(options, path[length - 1]);
}

void pairs_replay(const struct search_options *options, const unsigned *path, unsigned length,
                  void (*go_to_first)(void))
{
	require(length > 0);
	go_to_first();
	const uint64_t seen = view_of_path(options, path, length);
	go_to_first();
	change_secrets();
	if (view_of_path(options, path, length) != seen)
		fail("B sees a secret: its registers or its memory differ where another's do");
}
