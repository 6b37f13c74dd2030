/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 32, LOOK_US = 20000, STANDSTILL = 20, SIGNAL_STACK = 64 << 10, SAID_EVERY = 10 };

struct state {
	uint32_t parent;
	uint16_t step;
};

/* Shared by the processes. */
static struct shared {
	_Atomic size_t next, states, transitions, refused, checked, pairs, asleep;
	_Atomic bool stop, full, found;
	uint32_t found_state;
	uint16_t found_step;
} *shared;
static struct state *state;
static uint64_t *hashes;
static _Atomic uint64_t *table, *awake; /* awake: at each place, a bit for each step that is to be done */
static size_t states_max;

static const struct search_options *options;
static struct rules_before before;
static struct census after;
static struct step_stacks first_stacks;
static volatile uint32_t at_state; /* what this process does now */
static volatile uint16_t at_step;
static volatile uint64_t progress;

void search_stop(void)
{
	if (shared)
		shared->stop = true;
}

unsigned search_steps(const struct search_options *of) { return 2 * of->operations * tiny->config.cores; }

struct step search_step(const struct search_options *of, unsigned number)
{
	require(number < search_steps(of));
	return (struct step){ .core = number / (2 * of->operations),
		              .operation = &operations[of->operation[number / 2 % of->operations]],
		              .part = number % 2 };
}

static size_t awake_words(void) { return options->reduced ? (search_steps(options) + 63) / 64 : 0; }

size_t search_bytes(size_t count)
{
	const size_t table_bytes = sizeof(*table) + awake_words() * sizeof(*awake);
	return count * (sizeof(struct state) + sizeof(*hashes)) + 2 * count * table_bytes;
}

static void *share(size_t size)
{
	void *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "explore: no memory for %zu states (%zu MiB): %s; give fewer with --states\n",
		        states_max, search_bytes(states_max) >> 20, strerror(errno));
		exit(2);
	}
	return memory;
}

static void make_table(void)
{
	states_max = options->states_max;
	shared = share(sizeof(*shared));
	state = share(states_max * sizeof(*state));
	hashes = share(states_max * sizeof(*hashes));
	table = share(2 * states_max * sizeof(*table));
	if (options->reduced)
		awake = share(2 * states_max * awake_words() * sizeof(*awake));
}

/* Returns whether the table has had the hash before; it has it now, at `place`. */
static bool table_has(uint64_t hash, size_t *place)
{
	const size_t size = 2 * states_max;
	hash = hash ? hash : 1;
	for (size_t i = (size_t)((unsigned __int128)(hash * 0x9e3779b97f4a7c15ull) * size >> 64);;
	     i = i + 1 == size ? 0 : i + 1) {
		uint64_t found = atomic_load_explicit(&table[i], memory_order_relaxed);
		*place = i;
		if (!found && atomic_compare_exchange_strong_explicit(&table[i], &found, hash, memory_order_relaxed,
		                                                      memory_order_relaxed))
			return false;
		if (found == hash)
			return true;
	}
}

/* Does a step and checks it. Returns false where it cannot be done. `rest`: the rules for steps hold here. */
static bool do_step(const struct step *step, bool rest)
{
	if (rest)
		rules_before(&before, step);
	if (!step_do(step))
		return false;
	census_take(&after);
	if (rest)
		rules_step(&before, &after);
	return true;
}

static void check_state(void)
{
	rules_any_state();
	if (!step_at_rest())
		return;
	rules_state();
	atomic_fetch_add_explicit(&shared->checked, 1, memory_order_relaxed);
}

static void go_to_first(void)
{
	log_undo(0);
	stacks_restore(&first_stacks, true);
}

static void follow_path(uint32_t number)
{
	uint16_t path[SEARCH_PATH_MAX];
	unsigned length = 0;
	for (; number; number = state[number].parent) {
		require(length < SEARCH_PATH_MAX);
		path[length++] = state[number].step;
	}
	while (length) {
		const struct step step = search_step(options, path[--length]);
		step_do(&step);
		census_take(&after);
		canonical_make(&after);
	}
}

static void add_state(uint32_t parent, unsigned step, uint64_t hash)
{
	const size_t number = atomic_fetch_add_explicit(&shared->states, 1, memory_order_relaxed);
	if (number >= states_max) {
		atomic_fetch_sub_explicit(&shared->states, 1, memory_order_relaxed);
		shared->full = shared->stop = true;
		return;
	}
	state[number] = (struct state){ .parent = parent, .step = (uint16_t)step };
	hashes[number] = hash;
}

/* The step from the present state has led to the one at `place`: there, steps sleep that commute with it and were done
 * before it. */
static void wake(size_t place, unsigned step, const uint64_t *done)
{
	for (unsigned word = 0; word < awake_words(); word++) {
		uint64_t sleeping = 0;
		for (uint64_t left = done[word]; left; left &= left - 1) {
			const unsigned bit = (unsigned)__builtin_ctzll(left), other = word * 64 + bit;
			if (search_step(options, other).core != search_step(options, step).core &&
			    access_commute(other, step))
				sleeping |= 1ull << bit;
		}
		atomic_fetch_or_explicit(&awake[place * awake_words() + word], ~sleeping, memory_order_relaxed);
	}
}

static bool is_awake(size_t place, unsigned step)
{
	return atomic_load_explicit(&awake[place * awake_words() + step / 64], memory_order_relaxed) >> step % 64 & 1;
}

/* The step that is tried from state `number`, with `count` writes behind it, has been done. */
static void arrive(uint32_t number, unsigned step, unsigned count, bool was_inside, uint64_t *done)
{
	size_t place;
	canonical_make(&after);
	if (options->reduced)
		access_end(count, was_inside, step_inside(search_step(options, step).core));
	const uint64_t hash = hashes[number] + log_hash(count);
	const bool known = table_has(hash + stacks_hash(), &place);
	if (options->reduced) {
		wake(place, step, done);
		done[step / 64] |= 1ull << step % 64;
	}
	if (known)
		return;
	check_state();
	add_state(number, step, hash);
}

static void expand(uint32_t number)
{
	static struct step_stacks stacks;
	uint64_t done[REDUCED_STEPS_MAX / 64] = { 0 };
	size_t transitions = 0, refused = 0, asleep = 0, place = 0;
	go_to_first();
	follow_path(number);
	stacks_save(&stacks);
	const unsigned count = log_count;
	const bool rest = tiny->config.cores == 1;
	if (rest)
		census_take(&before.census);
	if (options->reduced)
		require(table_has(hashes[number] + stacks_hash(), &place));
	at_state = number;
	for (unsigned i = 0; i < search_steps(options); i++) {
		const struct step step = search_step(options, i);
		const bool was_inside = step_inside(step.core);
		at_step = (uint16_t)i;
		progress = progress + 1;
		if (!step_starts(&step)) {
			refused++;
			continue;
		}
		if (options->reduced && !is_awake(place, i)) {
			asleep++;
			continue;
		}
		if (options->reduced)
			access_begin(i);
		if (do_step(&step, rest)) {
			transitions++;
			arrive(number, i, count, was_inside, done);
		} else {
			refused++;
		}
		log_undo(count);
		stacks_restore(&stacks, false);
	}
	atomic_fetch_add_explicit(&shared->transitions, transitions, memory_order_relaxed);
	atomic_fetch_add_explicit(&shared->refused, refused, memory_order_relaxed);
	atomic_fetch_add_explicit(&shared->asleep, asleep, memory_order_relaxed);
	if (options->pairs)
		shared->pairs += pairs_compare(options, follow_path, go_to_first, number, &at_step);
}

/* Ends the process: the step that it does is a find, unless another process has one. */
static void find(int signal)
{
	(void)signal;
	if (!atomic_exchange(&shared->found, true)) {
		shared->found_state = at_state;
		shared->found_step = at_step;
	}
	shared->stop = true;
	_exit(0);
}

/* Once for each second of processor time. */
static void look(int signal)
{
	static uint64_t last;
	static unsigned still;
	still = progress == last ? still + 1 : 0;
	last = progress;
	if (still >= STANDSTILL)
		find(signal);
}

static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	sigaction(signal, &action, 0);
}

/* In a worker: the kernel under test may do anything that a program can do wrong. */
static void expect_crashes(void)
{
	static uint8_t memory[SIGNAL_STACK];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	const struct itimerval second = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };
	sigaltstack(&stack, 0);
	for (unsigned i = 0; i < 5; i++)
		handle((const int[]){ SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT }[i], find);
	handle(SIGVTALRM, look);
	setitimer(ITIMER_VIRTUAL, &second, 0);
	signal(SIGINT, SIG_IGN); /* the parent says when to end */
	if (!freopen("/dev/null", "w", stderr)) /* what is found is said when it is repeated */
		_exit(1);
}

static _Noreturn void work(size_t end)
{
	expect_crashes();
	while (!shared->stop) {
		const size_t from = atomic_fetch_add(&shared->next, CHUNK);
		if (from >= end)
			break;
		for (size_t i = from; i < end && i < from + CHUNK && !shared->stop; i++)
			expand((uint32_t)i);
	}
	_exit(0);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Waits for all processes of a level, and says now and then how far they are. */
static void wait_for(unsigned count, double start)
{
	double said = now();
	while (count) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			count--;
			if (!WIFEXITED(status) || WEXITSTATUS(status)) {
				fprintf(stderr, "explore: a process ended by signal %d: out of memory?\n",
				        WIFSIGNALED(status) ? WTERMSIG(status) : 0);
				shared->stop = true;
			}
			continue;
		}
		if (pid < 0 && errno != EINTR)
			return;
		usleep(LOOK_US);
		if (options->seconds && now() - start > options->seconds)
			shared->stop = true;
		if (now() - said > SAID_EVERY) {
			said = now();
			printf("  so far: %zu states\n", (size_t)shared->states);
			fflush(stdout);
		}
	}
}

static void run_level(size_t from, size_t end, double start)
{
	const size_t chunks = (end - from + CHUNK - 1) / CHUNK;
	unsigned started = 0;
	shared->next = from;
	fflush(0);
	while (started < options->jobs && started < chunks) {
		const pid_t pid = fork();
		if (!pid)
			work(end);
		if (pid < 0 && !started) {
			fprintf(stderr, "explore: cannot start a process: %s\n", strerror(errno));
			exit(2);
		}
		if (pid < 0)
			break;
		started++;
	}
	wait_for(started, start);
}

static void take_path(struct search_result *result)
{
	unsigned reversed[SEARCH_PATH_MAX], length = 0;
	reversed[length++] = shared->found_step;
	for (uint32_t at = shared->found_state; at; at = state[at].parent)
		reversed[length++] = state[at].step;
	result->path_length = length;
	for (unsigned i = 0; i < length; i++)
		result->path[i] = reversed[length - 1 - i];
}

static void count(struct search_result *result, double start)
{
	result->states = shared->states;
	result->transitions = shared->transitions;
	result->refused = shared->refused;
	result->checked = shared->checked;
	result->pairs = shared->pairs;
	result->asleep = shared->asleep;
	result->seconds = now() - start;
}

/* Makes the machine as it is the first state; once. */
static void begin(void)
{
	static bool begun;
	if (begun)
		return;
	begun = true;
	census_begin();
	canonical_begin();
	census_take(&after);
	canonical_make(&after);
	log_count = 0; /* this is the first state */
	stacks_begin();
	stacks_save(&first_stacks);
}

void search_run(const struct search_options *given, struct search_result *result,
                void (*level)(const struct search_result *result, size_t new_states))
{
	options = given;
	require(search_steps(options) <= SEARCH_STEPS_MAX && options->depth < SEARCH_PATH_MAX && options->jobs > 0);
	require(!options->reduced || (tiny->config.cores > 1 && search_steps(options) <= REDUCED_STEPS_MAX));
	make_table();
	begin();
	*result = (struct search_result){ .end = SEARCH_DEPTH };
	at_state = 0;
	hashes[0] = 1;
	size_t place;
	table_has(hashes[0], &place);
	for (unsigned i = 0; i < awake_words(); i++)
		awake[place * awake_words() + i] = ~0ull;
	shared->states = 1;
	const double start = now();
	size_t from = 0;
	while (result->depth < options->depth) {
		const size_t end = shared->states;
		run_level(from, end, start);
		count(result, start);
		if (shared->stop)
			break;
		result->depth++;
		level(result, result->states - end);
		if (result->states == end) {
			result->end = SEARCH_CLOSED;
			break;
		}
		from = end;
	}
	if (!shared->stop)
		return;
	result->end = shared->found ? SEARCH_FOUND : shared->full ? SEARCH_STATES
	              : options->seconds && now() - start > options->seconds ? SEARCH_TIME : SEARCH_STOPPED;
	if (shared->found)
		take_path(result);
}

void search_replay(const struct search_options *given, const unsigned *path, unsigned length)
{
	options = given;
	if (!shared)
		shared = share(sizeof(*shared));
	begin();
	go_to_first();
	const bool rest = tiny->config.cores == 1;
	for (unsigned i = 0; i < length; i++) {
		const struct step step = search_step(options, path[i]);
		census_take(&before.census);
		if (!do_step(&step, rest))
			fail("step %u cannot be done here", i + 1);
		canonical_make(&after);
		rules_any_state();
		if (step_at_rest())
			rules_state();
	}
	if (options->pairs)
		pairs_replay(options, path, length, go_to_first);
}
