/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that fork, write, execute and end in any order see what plain copies of their memory would hold. A model of
 * the kernel has the capabilities, mappings and frames; after each drawn operation everything is compared, and no frame
 * can be written by one process while another one sees it.
 *
 *     test-manager-share [SEED [OPERATIONS]]
 */
#include <stdlib.h>
#include <string.h>
#include <skerry/stubs.h>
#include "root.h"
#include "test-check.h"

enum { STEPS = 6, PLACES = 16, OPERATIONS = 100000, EACH = 2 * STEPS, SLOTS = 1 + PLACES * EACH, NOWHERE = -1 };

/* Slot 1 + place * EACH + step has the frame of a process's own, EACH / 2 further on that which it borrows. */
static struct slot_model {
	int frame;    /* 0: the slot is empty */
	unsigned may; /* rights of the capability */
	int place;    /* where it is mapped, or NOWHERE */
	uint32_t step;
	unsigned rights;
} slot[SLOTS];
static uint64_t content[1 + PLACES * STEPS]; /* of frames, by frame_number() */
static unsigned copies;

static int frame_number(int place, uint32_t step) { return 1 + place * STEPS + (int)step; }

static int model_copy(uint64_t to, uint64_t from, uint64_t count, unsigned rights)
{
	for (; count; count--, to++, from++) {
		CHECK(slot[from].frame && !slot[to].frame);
		slot[to] = (struct slot_model){ .frame = slot[from].frame, .may = rights & slot[from].may,
		                                .place = NOWHERE };
	}
	return 0;
}

static int model_delete(uint64_t at)
{
	CHECK(slot[at].frame);
	memset(&slot[at], 0, sizeof(slot[at]));
	return 0;
}

/* Takes rights from copies for good, as FRAME_PROTECT does, and sets those of the mapping. */
static int protect_one(uint64_t at, uint64_t vspace, unsigned rights)
{
	if (!slot[at].frame)
		return -SKERRY_BAD_CAP;
	CHECK(slot[at].place == (int)vspace);
	slot[at].rights = rights & slot[at].may;
	for (int i = 1; i < SLOTS; i++)
		if (i != (int)at && slot[i].frame == slot[at].frame) {
			slot[i].may &= rights;
			slot[i].rights &= rights;
		}
	return 0;
}

static int model_protect(uint64_t at, uint64_t vspace, unsigned rights, uint64_t count)
{
	int error = 0;
	for (; count && !error; count--)
		error = protect_one(at + count - 1, vspace, rights);
	return error;
}

#define cnode_copy_range(ipc, cnode, to, from, count, rights) model_copy(to, from, count, rights)
#define cnode_delete(cnode, at) model_delete(at)
#define frame_protect_range(ipc, frame, vspace, rights, count) model_protect(frame, vspace, rights, count)
#include "share.c"

static int mapped_at(int place, uint32_t step)
{
	int found = 0;
	for (int i = 1; i < SLOTS; i++)
		if (slot[i].frame && slot[i].place == place && slot[i].step == step) {
			CHECK(!found);
			found = i;
		}
	return found;
}

int vspace_map(int vspace, int frame, uint64_t address, unsigned rights, unsigned attributes)
{
	struct slot_model *s = &slot[frame];
	const uint32_t step = (uint32_t)((address - PROCESS_HEAP_VADDR) / PROCESS_HEAP_STEP);
	CHECK(attributes == CACHE_WRITE_BACK && s->frame && s->place == NOWHERE && !mapped_at(vspace, step));
	s->place = vspace;
	s->step = step;
	s->rights = rights & s->may;
	return 0;
}

int vspace_map_range(int vspace, int first, uint32_t count, uint64_t size, uint64_t address, unsigned rights,
                     unsigned attributes)
{
	CHECK(size == PROCESS_HEAP_STEP);
	for (uint32_t i = 0; i < count; i++)
		vspace_map(vspace, first + (int)i, address + i * size, rights, attributes);
	return 0;
}

int promise_commit(struct promise *p, uint32_t group)
{
	const int at = p->first + (int)group, place = (at - 1) / EACH;
	if (slot[at].frame)
		return -SKERRY_SLOT_FULL;
	slot[at] = (struct slot_model){ .frame = frame_number(place, group), .may = RIGHT_ALL, .place = NOWHERE };
	content[slot[at].frame] = 0;
	return 0;
}

int promise_commit_copy(struct promise *p, uint32_t group, int from)
{
	int error = promise_commit(p, group);
	CHECK(!error && slot[from].frame);
	content[slot[p->first + (int)group].frame] = content[slot[from].frame];
	copies++;
	return error;
}

/* --- processes and their plain copies --- */

static struct shares shares;
static struct process process[PLACES];
static uint8_t bytes[PLACES][3][STEPS];
static bool runs[PLACES], kept[PLACES];
static uint64_t plain[PLACES][STEPS];
static bool there[PLACES][STEPS]; /* it has touched the step, or its parent had at the fork */
static unsigned forks, ends, writes, settled, left;

static void begin(int place)
{
	process[place] = (struct process){ .vspace = place };
	process[place].heap.address = PROCESS_HEAP_VADDR;
	process[place].heap.first = 1 + place * EACH;
	struct sharer *s = &shares.at[place];
	memset(bytes[place], 0, sizeof(bytes[place]));
	*s = (struct sharer){ &process[place], 1 + place * EACH + EACH / 2, 0, bytes[place][0], bytes[place][1],
	                      bytes[place][2] };
	memset(there[place], 0, sizeof(there[place]));
	runs[place] = kept[place] = true;
}

/* As family.c does: all of its slots are emptied, with what derives from its frames. */
static void give_back(void)
{
	for (int place = 0; place < PLACES; place++) {
		if (runs[place] || !kept[place] || shares.at[place].lent)
			continue;
		for (int i = 1; i < SLOTS; i++) {
			const bool own = (i - 1) / EACH == place;
			const bool derived = slot[i].frame > place * STEPS && slot[i].frame <= (place + 1) * STEPS;
			if (slot[i].frame && derived && !own)
				CHECK(!kept[(i - 1) / EACH] || !runs[(i - 1) / EACH]); /* nobody loses memory */
			if (own || derived)
				memset(&slot[i], 0, sizeof(slot[i]));
		}
		kept[place] = false;
		shares.at[place].process = NULL;
	}
}

static void fork_from(int parent, int child)
{
	begin(child);
	for (uint32_t step = 0, count; step < STEPS; step += count + 1) {
		for (count = 0; step + count < STEPS && there[parent][step + count];)
			count++;
		if (count)
			CHECK(share_lend(&shares, (unsigned)parent, (unsigned)child, step, count) == 0);
	}
	memcpy(plain[child], plain[parent], sizeof(plain[child]));
	memcpy(there[child], there[parent], sizeof(there[child]));
	forks++;
}

static void end(int place)
{
	runs[place] = false;
	share_end(&shares, (unsigned)place);
	give_back();
	ends++;
}

static void write_step(int place, uint32_t step, uint64_t value)
{
	int at = mapped_at(place, step);
	if (!there[place][step]) {
		CHECK(!at && promise_commit(&process[place].heap, step) == 0);
		CHECK(vspace_map(place, process[place].heap.first + (int)step,
		                 PROCESS_HEAP_VADDR + step * PROCESS_HEAP_STEP, RIGHT_READ | RIGHT_WRITE,
				 CACHE_WRITE_BACK) == 0);
	} else if (!(slot[at].rights & RIGHT_WRITE)) {
		CHECK(share_write(&shares, (unsigned)place, step) == 0);
		CHECK(!share_has(&shares, (unsigned)place, step));
		give_back();
	}
	at = mapped_at(place, step);
	CHECK(at && slot[at].rights == (RIGHT_READ | RIGHT_WRITE));
	content[slot[at].frame] = value;
	plain[place][step] = value;
	there[place][step] = true;
	writes++;
}

/* The borrowers of one that has ended get copies, and its place is free. */
static void settle(void)
{
	for (int place = 0; place < PLACES; place++)
		if (!runs[place] && kept[place]) {
			CHECK(share_settle(&shares, (unsigned)place) == 0);
			give_back();
			CHECK(!kept[place]);
			settled++;
			return;
		}
}

/* It executes another program: what it borrows goes, and who borrows of it has copies. */
static void leave(int place)
{
	bool borrowed[STEPS];
	for (uint32_t step = 0; step < STEPS; step++)
		borrowed[step] = shares.at[place].source[step];
	CHECK(share_leave(&shares, (unsigned)place) == 0 && !shares.at[place].lent);
	for (uint32_t step = 0; step < STEPS; step++) {
		CHECK(!shares.at[place].source[step] && (!borrowed[step] || !mapped_at(place, step)));
		there[place][step] &= !borrowed[step];
		plain[place][step] = borrowed[step] ? 0 : plain[place][step];
	}
	give_back();
	left++;
}

static void compare(void)
{
	for (int place = 0; place < PLACES; place++)
		for (uint32_t step = 0; runs[place] && step < STEPS; step++) {
			const int at = mapped_at(place, step);
			CHECK(!at == !there[place][step]);
			if (!at)
				continue;
			CHECK(slot[at].rights & RIGHT_READ && content[slot[at].frame] == plain[place][step]);
			if (slot[at].rights & RIGHT_WRITE)
				for (int i = 1; i < SLOTS; i++)
					CHECK(i == at || slot[i].frame != slot[at].frame || slot[i].place == NOWHERE ||
					      !runs[slot[i].place]);
		}
}

static int find(bool running)
{
	const int start = rand() % PLACES;
	for (int i = 0; i < PLACES; i++) {
		const int place = (start + i) % PLACES;
		if (running ? runs[place] : !runs[place] && !kept[place])
			return place;
	}
	return -1;
}

static void operate(uint64_t number)
{
	const int place = find(true), child = find(false), kind = rand() % 16;
	if (place < 0)
		begin(child);
	else if (kind < 2 && child >= 0)
		fork_from(place, child);
	else if (kind == 2 || kind == 3)
		end(place);
	else if (kind == 4)
		settle();
	else if (kind == 5)
		leave(place);
	else
		write_step(place, (uint32_t)rand() % STEPS, number);
}

int main(int argc, char **argv)
{
	const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const uint64_t operations = argc > 2 ? strtoull(argv[2], NULL, 10) : OPERATIONS;
	shares.steps = STEPS;
	srand(seed);
	for (uint64_t i = 1; i <= operations; i++) {
		operate(i);
		compare();
	}
	for (int place = 0; place < PLACES; place++)
		if (runs[place])
			end(place);
	for (int i = 1; i < SLOTS; i++)
		CHECK(!slot[i].frame);
	for (int place = 0; place < PLACES; place++)
		CHECK(!kept[place] && !shares.at[place].lent);
	printf("seed %u: %u forks, %u ends, %u writes, %u copies, %u settled, %u left\n", seed, forks, ends, writes,
	       copies, settled, left);
	CHECK(operations < OPERATIONS || (forks > 1000 && copies > 1000 && settled > 100 && left > 1000));
	return failures != 0;
}
