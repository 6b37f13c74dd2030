/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels that fence other clusters and have them started again. */
#include <skerry/cluster_control.h>
#include "check.h"
#include "harness.h"

enum { CONTROL = ROOT_SLOT_CLUSTER_CONTROL, LOST = 5, LOST_CORES = 3, OTHER = 6, COPY = 1000 };

static struct hosted *pair[2]; /* clusters 10 and 11 */

/* Each may start LOST, OTHER and the other one of the pair; that it is to start itself is of no effect. */
static void begin(void)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct hosted_controlled controlled[] = { { LOST, LOST_CORES, 0 }, { OTHER, HOSTED_CORES, 1 },
		                                                { 11 - i, 1, 0 }, { 10 + i, 1, 0 } };
		struct hosted_config config = { .cluster = 10 + i, .cores = 1, .seed = machine->config.seed,
			                        .threads = machine->config.threads, .controlled_count = 4,
			                        .controlled = controlled };
		pair[i] = hosted_create(&config);
	}
}

static void end(void)
{
	hosted_lose_starts(LOST, false);
	for (unsigned i = 0; i < 2; i++)
		hosted_destroy(pair[i]);
}

static uint64_t by(unsigned who, uint64_t label, uint64_t cluster, uint64_t word)
{
	struct hosted *saved = machine;
	machine = pair[who];
	uint64_t error = call(CONTROL, label, W(cluster, word), NONE);
	machine = saved;
	return error;
}

static uint64_t word_of(unsigned cluster) { return atomic_load(&hosted_control(cluster)->word); }
static uint64_t claim(unsigned who, unsigned cluster) { return by(who, CLUSTER_CLAIM, cluster, word_of(cluster)); }

/* What the loader does on the cluster's first core. */
static void load(unsigned cluster)
{
	EXPECT(control_state(word_of(cluster)), CONTROL_LOADING);
	EXPECT(control_loaded(hosted_control(cluster), word_of(cluster)), true);
}

static void whole_way(void)
{
	begin();
	for (unsigned life = 1; life < 4; life++) {
		EXPECT(word_of(LOST), control_word(life, 0, CONTROL_RUNNING));
		EXPECT(by(0, CLUSTER_FENCE, LOST, 0), SKERRY_BUSY);
		EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY);
		EXPECT(claim(0, LOST), 0);
		EXPECT(word_of(LOST), control_word(life, 10, CONTROL_CLAIMED));
		EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY); /* not fenced */
		EXPECT(by(0, CLUSTER_FENCE, LOST, 0), 0);
		EXPECT(pair[0]->fenced, life * LOST_CORES);
		EXPECT(word_of(LOST), control_word(life, 10, CONTROL_FENCED));
		EXPECT(by(0, CLUSTER_START, LOST, 0), 0);
		EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY);
		load(LOST);
	}
	EXPECT(word_of(OTHER), control_word(1, 0, CONTROL_RUNNING));
	end();
}

/* Cores that do not come: nothing is loaded. */
static void fence_is_awaited(void)
{
	begin();
	EXPECT(claim(0, LOST), 0);
	hosted_lose_starts(LOST, true);
	EXPECT(by(0, CLUSTER_FENCE, LOST, 0), 0);
	EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY);
	hosted_lose_starts(LOST, false);
	for (unsigned core = 0; core < LOST_CORES; core++) {
		EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY);
		EXPECT(control_arrive(hosted_control(LOST), core), 1);
	}
	EXPECT(by(0, CLUSTER_START, LOST, 0), 0);
	hosted_lose_starts(LOST, true); /* a fence anew: those that came before do not count */
	EXPECT(by(0, CLUSTER_FENCE, LOST, 0), 0);
	EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_GIVE_UP, LOST, 0), 0);
	EXPECT(control_state(word_of(LOST)), CONTROL_DOWN);
	EXPECT(claim(1, LOST), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_FENCE, LOST, 0), SKERRY_BUSY);
	end();
}

/* All 60 cores of a cluster. */
static void largest(void)
{
	begin();
	EXPECT(claim(1, OTHER), 0);
	EXPECT(by(1, CLUSTER_FENCE, OTHER, 0), 0);
	EXPECT(atomic_load(&hosted_control(OTHER)->parked[0]), (1ull << HOSTED_CORES) - 1);
	EXPECT(by(1, CLUSTER_START, OTHER, 0), 0);
	load(OTHER);
	end();
}

/* The boot processor comes only if its handler finds its cluster claimed: an NMI that comes late is of no effect. */
static void boot_processor(void)
{
	struct boot_controlled target = { .cluster = OTHER, .cpu_count = 2, .boot_core = 1 };
	const struct boot_cores both = { { 3 } };
	begin();
	arch_fence_cores(&pair[0]->kernel, &target, &both);
	EXPECT(atomic_load(&hosted_control(OTHER)->parked[0]), 1);
	EXPECT(claim(0, OTHER), 0);
	EXPECT(by(0, CLUSTER_FENCE, OTHER, 0), 0);
	atomic_store(&hosted_control(OTHER)->parked[0], 0);
	arch_fence_cores(&pair[0]->kernel, &target, &both);
	EXPECT(atomic_load(&hosted_control(OTHER)->parked[0]), 3);
	end();
}

/* One claims, the other has seen the same word; then it takes the claim over. */
static void two_claimers(void)
{
	begin();
	uint64_t before = word_of(LOST);
	EXPECT(by(0, CLUSTER_CLAIM, LOST, before), 0);
	EXPECT(by(1, CLUSTER_CLAIM, LOST, before), SKERRY_BUSY);
	EXPECT(by(1, CLUSTER_FENCE, LOST, 0), SKERRY_BUSY);
	EXPECT(pair[1]->fenced, 0);
	EXPECT(by(0, CLUSTER_FENCE, LOST, 0), 0);
	EXPECT(by(1, CLUSTER_START, LOST, 0), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_START, LOST, 0), 0);
	before = word_of(LOST);
	EXPECT(claim(1, LOST), 0);
	EXPECT(word_of(LOST), control_word(1, 11, CONTROL_CLAIMED));
	EXPECT(control_loaded(hosted_control(LOST), before), false); /* what was loading comes to nothing */
	EXPECT(by(0, CLUSTER_FENCE, LOST, 0), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_START, LOST, 0), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_GIVE_UP, LOST, 0), SKERRY_BUSY);
	EXPECT(by(1, CLUSTER_START, LOST, 0), SKERRY_BUSY); /* its own fence first */
	EXPECT(by(1, CLUSTER_FENCE, LOST, 0), 0);
	EXPECT(by(1, CLUSTER_START, LOST, 0), 0);
	load(LOST);
	EXPECT(word_of(LOST), control_word(2, 0, CONTROL_RUNNING));
	EXPECT(by(0, CLUSTER_CLAIM, LOST, before), SKERRY_BUSY); /* a word of a former life */
	end();
}

/* Two that take each other for lost: the one with the lower number goes on, when the other one has withdrawn. */
static void each_other(void)
{
	begin();
	uint64_t life = control_life(word_of(10));
	EXPECT(claim(0, 11), 0);
	EXPECT(claim(1, 10), 0);
	EXPECT(by(0, CLUSTER_FENCE, 11, 0), SKERRY_BUSY);
	EXPECT(pair[0]->fenced, 0);
	EXPECT(by(1, CLUSTER_FENCE, 10, 0), SKERRY_BUSY);
	EXPECT(pair[1]->fenced, 0);
	EXPECT(word_of(10), control_word(life, 0, CONTROL_RUNNING));
	EXPECT(control_claimer(word_of(11)), 10);
	EXPECT(by(0, CLUSTER_FENCE, 11, 0), 0);
	EXPECT(claim(1, 10), 0); /* on its way out: it came too late */
	EXPECT(by(0, CLUSTER_START, 11, 0), 0);
	EXPECT(word_of(10), control_word(life, 0, CONTROL_RUNNING));
	load(11);
	end();
}

static void refused(void)
{
	static const uint64_t none[] = { 0, 4, 7, 10, BOOT_MAX_CLUSTERS, UINT32_MAX, UINT64_MAX, 1ull << 32 | LOST };
	begin();
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		for (uint64_t label = CLUSTER_READ; label <= CLUSTER_GIVE_UP; label++)
			EXPECT(by(0, label, none[i], control_word(1, 0, CONTROL_RUNNING)), SKERRY_BAD_ARGUMENT);
	EXPECT(by(0, CLUSTER_CLAIM, 11, control_word(1, 0, CONTROL_RUNNING)), 0); /* the other one, but never oneself */
	EXPECT(by(1, CLUSTER_CLAIM, 11, control_word(1, 10, CONTROL_CLAIMED)), SKERRY_BAD_ARGUMENT);
	EXPECT(by(0, CLUSTER_CLAIM, LOST, 0), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_CLAIM, LOST, control_word(2, 0, CONTROL_RUNNING)), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_CLAIM, LOST, control_word(1, 0, CONTROL_DOWN)), SKERRY_BUSY);
	EXPECT(by(0, CLUSTER_READ - 1, LOST, 0), SKERRY_BAD_LABEL);
	EXPECT(by(0, CLUSTER_GIVE_UP + 1, LOST, 0), SKERRY_BAD_LABEL);
	struct hosted *saved = machine;
	machine = pair[0];
	EXPECT(call(CONTROL, CLUSTER_READ, NONE, NONE), SKERRY_TRUNCATED);
	EXPECT(call(CONTROL, CLUSTER_CLAIM, W(LOST), NONE), SKERRY_TRUNCATED);
	EXPECT(call(CONTROL, CLUSTER_READ, W(LOST), NONE), 0);
	EXPECT(word(running(0), 0), word_of(LOST));
	copy(COPY, CONTROL, RIGHT_READ, 0);
	EXPECT(call(COPY, CLUSTER_READ, W(LOST), NONE), 0);
	for (uint64_t label = CLUSTER_CLAIM; label <= CLUSTER_GIVE_UP; label++)
		EXPECT(call(COPY, label, W(LOST, word_of(LOST)), NONE), SKERRY_NO_RIGHTS);
	copy(COPY + 1, CONTROL, RIGHT_WRITE, 0);
	EXPECT(call(COPY + 1, CLUSTER_READ, W(LOST), NONE), SKERRY_NO_RIGHTS);
	EXPECT(call(COPY + 1, CLUSTER_CLAIM, W(LOST, word_of(LOST)), NONE), 0);
	machine = saved;
	EXPECT(pair[0]->fenced + pair[1]->fenced, 0);
	end();
}

TESTS(clusters) = {
	{ "a cluster is claimed, fenced and started", whole_way, 1 },
	{ "a fence is awaited", fence_is_awaited, 1 },
	{ "all cores of the largest cluster", largest, 1 },
	{ "the boot processor comes where it is claimed", boot_processor, 1 },
	{ "of two claimers one goes on", two_claimers, 1 },
	{ "two that claim each other", each_other, 1 },
	{ "what is refused", refused, 1 },
	{ 0 },
};
