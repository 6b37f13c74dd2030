/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `dynamic` while its granularity changes, as the kernel compiles it: what an object's lock guards is plain
 * memory, so that two cores at one object are a data race. A core that has done its part enters again only when it is
 * interrupted. So do the cores with a bias (lock/bias.h): a writer does without their sides.
 */
#include <stdatomic.h>
#include "explore.h"
#include "kernel.h"

enum { CORES = 3 };

static struct kernel kernel;
static struct cpu cpu[CORES];
static struct core_stat stat[CORES];
static struct object_lock object;
static uint64_t guarded;      /* by `object`, or by having the kernel alone */
static uint64_t made[CORES];  /* each core's own: how often it has changed `guarded` */

static struct explore_line line[CORES];
static bool interrupted[CORES]; /* hardware */
static bool interrupts[CORES];  /* each core's own: it interrupts all when it leaves the kernel */
static uint32_t threads;

void kernel_relax(struct cpu *c) { explore_relax(); }
bool kernel_cores_move(struct cpu *c) { return (void)c, false; }
void kernel_interrupt_all(struct cpu *c) { interrupts[c - cpu] = true; }
void kernel_interrupt_now(struct cpu *c, const struct core_set *cores)
{
	for (unsigned i = 0; i < threads; i++)
		if (core_set_has(cores, i)) {
			explore_raise(&line[i]);
			interrupted[i] = true;
		}
}

static void interrupt_all(unsigned self)
{
	for (unsigned i = 0; i < threads; i++) {
		if (i != self)
			explore_raise(&line[i]);
		interrupted[i] = true;
	}
}

static bool is_interrupted(void *core) { return *(bool *)core; }
static void wait_for_interrupt(unsigned self)
{
	explore_rest(&line[self], is_interrupted, &interrupted[self]);
	interrupted[self] = false;
}

static void leave(unsigned self)
{
	kernel_exit(&cpu[self]);
	uint32_t entry = cpu[self].own.lock.entry;
	EXPLORE_CHECK(!entry || (entry == ENTRY_BIASED && cpu[self].own.lock.bias.word != BIAS_OFF),
	              "a core keeps what it held");
	if (interrupts[self])
		interrupt_all(self);
	interrupts[self] = false;
}

static void use(unsigned self)
{
	object_lock(&cpu[self], &object, LOCK_CLASS_ENDPOINT);
	guarded++;
	made[self]++;
	object_unlock(&cpu[self], &object, LOCK_CLASS_ENDPOINT);
}

static void enter_and_use(unsigned self)
{
	kernel_enter(&cpu[self]);
	use(self);
	leave(self);
}

static void enter_alone(unsigned self)
{
	kernel_enter_exclusive(&cpu[self]);
	EXPLORE_CHECK(kernel_exclusive(&cpu[self]), "an exclusive entry is not");
}

static void use_alone(unsigned self)
{
	enter_alone(self);
	guarded++;
	made[self]++;
	leave(self);
}

static bool order(unsigned self, enum granularity wanted)
{
	bool under_way;
	enter_alone(self);
	guarded++;
	made[self]++;
	kernel_granularity(&cpu[self], wanted, &under_way);
	leave(self);
	return under_way;
}

_Noreturn static void idle(unsigned self)
{
	for (;;) {
		wait_for_interrupt(self);
		kernel_enter(&cpu[self]);
		leave(self);
	}
}

/* The core that has ordered: once the change is final, it uses the object, where others may still be as before. */
_Noreturn static void idle_until(unsigned self, uint32_t entry)
{
	bool used = false;
	for (;;) {
		wait_for_interrupt(self);
		kernel_enter(&cpu[self]);
		if (!used && cpu[self].own.lock.entry == entry) {
			use(self);
			used = true;
		}
		leave(self);
	}
}

static void begin_with(unsigned cores, enum grain grain)
{
	threads = kernel.cpu_count = cores;
	kernel.core_words = core_set_index(cores - 1) + 1;
	kernel.cores = (struct core_set){ 0 };
	core_set_put64(&kernel.cores, 0, (1ull << cores) - 1);
	lock_kernel_init(&kernel);
	for (unsigned i = 0; i < cores; i++)
		lock_cpu_init(&cpu[i]);
	kernel.lock.grains.word = grain_word(grain, 0);
}
static void coarse(void) { begin_with(2, GRAIN_COARSE); }
static void fine(void) { begin_with(2, GRAIN_FINE); }

/*
 * A change that bears mark 1 is under way. Core 1 is still in an entry of before, in which it has passed epoch 1 and
 * has not seen the change. Epoch 2 has begun, for which all cores are interrupted.
 */
static void half_way(unsigned cores, enum grain before, enum grain change, bool alone)
{
	begin_with(cores, before);
	if (alone)
		kernel_enter_exclusive(&cpu[1]);
	else
		kernel_enter(&cpu[1]);
	kernel.lock.grains.word = grain_word(change, 1);
	kernel.lock.epochs.word = epoch_word(2, 1, cores);
	for (unsigned i = 0; i < cores; i++) {
		cpu[i].own.lock.epoch.seen = 1;
		interrupted[i] = true;
	}
}
static void half_fine(void) { half_way(2, GRAIN_COARSE, GRAIN_TO_FINE, false); }
/* Ready to turn its bias on; or it is on. */
static void ready(unsigned core) { cpu[core].own.lock.bias.calm = BIAS_CALM - 1; }
static void bias(unsigned core)
{
	cpu[core].own.lock.bias.word = BIAS_ON;
	cpu[core].own.lock.entry = ENTRY_BIASED;
}
static void one_ready(void) { fine(), ready(1); }
static void one_biased(void) { fine(), bias(1); }
static void two_biased(void) { fine(), bias(0), bias(1); }
static void three_biased(void) { begin_with(3, GRAIN_FINE), bias(1), bias(2); }

static void half_coarse(void) { half_way(2, GRAIN_FINE, GRAIN_TO_COARSE, false); }
static void half_coarse_and_ready(void) { half_coarse(), ready(1); }
static void half_coarse_after_a_writer(void) { half_way(2, GRAIN_FINE, GRAIN_TO_COARSE, true); }
static void half_fine_of_three(void) { half_way(3, GRAIN_COARSE, GRAIN_TO_FINE, false); }

/* The whole of a change: core 0 orders, the other one uses the object meanwhile. */
static void to_fine(unsigned self)
{
	if (self == 0) {
		order(0, GRANULARITY_FINE);
		idle_until(0, ENTRY_SIDE);
	}
	enter_and_use(1);
	idle(1);
}

static void to_coarse(unsigned self)
{
	if (self == 0) {
		order(0, GRANULARITY_COARSE);
		idle_until(0, 0);
	}
	enter_and_use(1);
	idle(1);
}

/* Its beginning: core 0 orders the other granularity and goes on. */
static void order_other(unsigned self)
{
	order(self, grain_of(kernel.lock.grains.word) == GRAIN_FINE ? GRANULARITY_COARSE : GRANULARITY_FINE);
}
static void begins(unsigned self)
{
	if (self == 0)
		order_other(0);
	enter_and_use(self);
}
static void begins_beside_one_alone(unsigned self)
{
	if (self == 0) {
		order_other(0);
		enter_and_use(0);
	} else {
		use_alone(1);
	}
}

/*
 * Its end: core 1 comes to the end of an entry of before and enters again; once the change is final for core 0, that
 * one uses the object.
 */
static void ends(unsigned self)
{
	if (self == 0)
		idle_until(0, grain_of(kernel.lock.grains.word) == GRAIN_TO_FINE ? ENTRY_SIDE : 0);
	if (self == 1) {
		use(1);
		leave(1);
		if (threads == 2)
			enter_and_use(1);
	}
	idle(self);
}

/* As ends(), but core 0 enters again before it is interrupted for the last epoch: only the grain tells it the rest. */
static void ends_unasked(unsigned self)
{
	if (self == 0) {
		wait_for_interrupt(0);
		kernel_enter(&cpu[0]);
		leave(0);
		enter_and_use(0);
	} else {
		use(1);
		leave(1);
		enter_and_use(1);
	}
	idle(self);
}

/* Core 1 comes to the end of an entry of before and enters again, beside one that is alone; or it is alone itself. */
static void half_beside_one_alone(unsigned self)
{
	if (self == 0) {
		use_alone(0);
	} else {
		use(1);
		leave(1);
		enter_and_use(1);
	}
}
static void half_alone(unsigned self)
{
	if (self == 0) {
		enter_and_use(0);
	} else {
		guarded++;
		made[1]++;
		leave(1);
	}
}

/* Taken back while core 1 is still in an entry of before. */
static void taken_back(unsigned self)
{
	if (self == 0) {
		order(0, grain_of(kernel.lock.grains.word) == GRAIN_TO_FINE ? GRANULARITY_COARSE : GRANULARITY_FINE);
		enter_and_use(0);
	} else {
		use(1);
		leave(1);
		enter_and_use(1);
	}
}

/* Two cores order the opposite: one takes back what the other has begun, or begins anew. */
static void at_cross_purposes(unsigned self)
{
	order(self, self ? GRANULARITY_COARSE : GRANULARITY_FINE);
	enter_and_use(self);
}

/* Core 0 is alone; the others are readers before, beside and after it, and then idle. */
static void one_alone(unsigned self)
{
	if (self == 0) {
		use_alone(0);
		enter_and_use(0);
	} else if (self == 1) {
		enter_and_use(1);
		if (threads == 2)
			enter_and_use(1);
	}
	idle(self);
}
static void one_alone_and_idle_ones(unsigned self)
{
	if (self == 0)
		use_alone(0);
	idle(self);
}
/* Each is a writer, too: neither may wait for what the other does without. */
static void each_alone(unsigned self)
{
	enter_and_use(self);
	use_alone(self);
	idle(self);
}
/* One of two that are alone orders the kernel to be coarse. */
static void order_beside_one_alone(unsigned self)
{
	if (self == 0) {
		order(0, GRANULARITY_COARSE);
	} else {
		use_alone(1);
		wait_for_interrupt(1); /* the first that comes is for its bias */
		enter_and_use(1);
	}
}

static void consistent(void)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < threads; i++) {
		const struct ticket_lock *side = &cpu[i].own.lock.side.ticket;
		EXPLORE_CHECK(side->next == side->serving, "the side of core %u stays taken", i);
		EXPLORE_CHECK(cpu[i].own.lock.bias.word == BIAS_OFF || grain_is_fine(&kernel.lock.grains),
		              "core %u has its bias while the kernel changes", i);
		all += made[i];
	}
	EXPLORE_CHECK(guarded == all, "%llu uses left a trace of %llu", (unsigned long long)all,
	              (unsigned long long)guarded);
	EXPLORE_CHECK(!clh_held(&kernel.lock.queue), "the queue lock stays taken");
	EXPLORE_CHECK(object.ticket.next == object.ticket.serving, "the object stays locked");
}
static void ends_fine(void)
{
	consistent();
	EXPLORE_CHECK(grain_of(kernel.lock.grains.word) == GRAIN_FINE, "the kernel is not fine");
}
static void ends_coarse(void)
{
	consistent();
	EXPLORE_CHECK(!kernel.lock.grains.word, "the kernel is not coarse");
}

/* What was taken back may have been final: then the opposite has begun. */
static void is_told_coarse(void)
{
	consistent();
	enum grain grain = grain_of(kernel.lock.grains.word);
	EXPLORE_CHECK(grain == GRAIN_COARSE || grain == GRAIN_TO_COARSE, "the kernel stays fine");
}
static void is_told_fine(void)
{
	consistent();
	enum grain grain = grain_of(kernel.lock.grains.word);
	EXPLORE_CHECK(grain == GRAIN_FINE || grain == GRAIN_TO_FINE, "the kernel stays coarse");
}

static void set_up(void)
{
	for (unsigned i = 0; i < CORES; i++) {
		cpu[i].own.kernel = &kernel;
		cpu[i].own.index = i;
		cpu[i].own.word = core_set_index(i);
		cpu[i].own.bit = core_set_bit(i);
		cpu[i].own.stat = &stat[i];
		kernel.cpu[i] = &cpu[i];
		explore_name(&cpu[i].own.lock, sizeof(cpu[i].own.lock),
		             i == 0 ? "core 0's lock" : i == 1 ? "core 1's lock" : "core 2's lock");
	}
	explore_name(&kernel.lock, sizeof(kernel.lock), "the kernel's lock");
	explore_name(&object, sizeof(object), "the object's lock");
	explore_name(&guarded, sizeof(guarded), "what the lock guards");
	explore_name(line, sizeof(line), "interrupts");
	explore_hardware(interrupted, sizeof(interrupted));
}

#define CASE(text, count, start, body, after) \
	{ .name = text, .threads = count, .set_up = set_up, .begin = start, .thread = body, .end = after }
static const struct explore_case cases[] = {
	CASE("to fine", 2, coarse, to_fine, ends_fine),
	CASE("to coarse", 2, fine, to_coarse, ends_coarse),
	CASE("begins to be fine", 2, coarse, begins, consistent),
	CASE("begins to be coarse", 2, fine, begins, consistent),
	CASE("begins to be fine beside one that is alone", 2, coarse, begins_beside_one_alone, consistent),
	CASE("begins to be coarse beside one that is alone", 2, fine, begins_beside_one_alone, consistent),
	CASE("becomes fine", 2, half_fine, ends, ends_fine),
	CASE("becomes coarse", 2, half_coarse, ends, ends_coarse),
	CASE("becomes fine, and one enters unasked", 2, half_fine, ends_unasked, ends_fine),
	CASE("becomes coarse, and one enters unasked", 2, half_coarse, ends_unasked, ends_coarse),
	CASE("half fine, and one is alone", 2, half_fine, half_beside_one_alone, consistent),
	CASE("half coarse, and one is alone", 2, half_coarse, half_beside_one_alone, consistent),
	CASE("half coarse, and one was alone", 2, half_coarse_after_a_writer, half_alone, consistent),
	CASE("not fine after all", 2, half_fine, taken_back, is_told_coarse),
	CASE("not coarse after all", 2, half_coarse, taken_back, is_told_fine),
	CASE("coarse, and at cross-purposes", 2, coarse, at_cross_purposes, consistent),
	CASE("fine, and at cross-purposes", 2, fine, at_cross_purposes, consistent),
	CASE("three become fine", 3, half_fine_of_three, ends, ends_fine),
	CASE("biased, beside one that is alone", 2, one_biased, one_alone, consistent),
	CASE("about to be biased beside one that is alone", 2, one_ready, one_alone, consistent),
	CASE("two biased, and each is alone", 2, two_biased, each_alone, consistent),
	CASE("idle and biased", 3, three_biased, one_alone_and_idle_ones, consistent),
	CASE("biased, and ordered to be coarse", 2, two_biased, order_beside_one_alone, consistent),
	CASE("becomes coarse, about to be biased", 2, half_coarse_and_ready, ends, ends_coarse),
	CASE("three, two of them biased", 3, three_biased, one_alone, consistent),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
