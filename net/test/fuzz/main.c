/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz-net [--seed N] [--runs N] [--time S] [--stride N] [--steps N] [--modes a,b] [--connection N] [--stack FILE]:
 * runs of N, N + stride, ..., each in a process of its own, until one fails. A run is the same each time; its last line
 * has a hash of all that happened. Modes are drawn from the seed, unless they are said. --connection: tells of that
 * one, on stderr.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fuzz.h"

enum { STEPS = 40000, SETTLES = 40000 /* steps until everything is to settle */, HANG = 600 /* s for SETTLES steps */ };
enum { ANY_MODES = 1 << MODES, TURNS = 20 };

static const char *const mode_names[MODES] = { "loss", "late", "deaths", "data", "words", "small", "many", "hunger" };

struct options {
	uint64_t seed, stride, runs, steps;
	unsigned modes, seconds, connection;
	const char *stack;
};

struct run run;

void fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "net fuzz: seed %lu, step %lu: ", run.seed, run.step);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	fflush(NULL);
	_exit(1);
}

void trace(const struct connection *c, const char *format, ...)
{
	va_list arguments;

	if (c->id != run.traced)
		return;
	fprintf(stderr, "step %lu, %lu us: ", run.step, lab.now / 1000);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
}

uint32_t draw(uint32_t below)
{
	run.random ^= run.random << 13;
	run.random ^= run.random >> 7;
	run.random ^= run.random << 17;
	return (uint32_t)(run.random >> 20) % below;
}

void note(const void *bytes, uint32_t size)
{
	uint64_t word;

	for (uint32_t i = 0; i < size; i += (uint32_t)sizeof(word)) {
		word = lab.now;
		memcpy(&word, (const char *)bytes + i, size - i < sizeof(word) ? size - i : sizeof(word));
		run.hash = (run.hash ^ word ^ lab.now) * 0x9e3779b97f4a7c15ull;
		run.hash ^= run.hash >> 29;
	}
}

static uint64_t mixed(uint64_t seed)
{
	seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ull;
	seed = (seed ^ seed >> 27) * 0x94d049bb133111ebull;
	return seed ^ seed >> 31;
}

/* --- programs --- */

static struct file *open_socket(const struct life *life, int type, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct file *file;

	if (life->calls->socket(AF_INET, type, 0, &file) || file->ops->bind(file, (struct sockaddr *)&at, sizeof(at)))
		fail("no socket for port %u", port);
	return file;
}

void stack_start(unsigned number)
{
	static const size_t heaps[] = { 256 << 20, 64 << 20 }, small_heaps[] = { 16 << 20, 3 << 20 };
	static const uint16_t mtus[] = { MTU, 576, 300 };
	const bool small = run.modes & SMALL;
	struct program *program = &run.program[number];
	const struct life *life;

	lab.random = draw(UINT32_MAX);
	lab.heap = (small ? small_heaps : heaps)[draw(2)];
	lab.mtu = mtus[small ? draw(3) : 0];
	life = life_start(number);
	*program = (struct program){ .listener = open_socket(life, SOCK_STREAM, SERVICE) };
	if (program->listener->ops->listen(program->listener, 64))
		fail("nobody can listen");
	program->datagrams = open_socket(life, SOCK_DGRAM, DATAGRAMS);
	program->blocks = life->calls->blocks();
	frames_look(number);
}

void stack_end(unsigned number)
{
	if (!lab.life[number].calls)
		return;
	run.totals.deaths++;
	run.totals.lent += lab.life[number].calls->lent();
	for (unsigned i = 0; i < run.connections; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct end *end = &run.connection[i].end[side];

			if (run.connection[i].used && end->stack == (int)number) {
				end->gone = true;
				end->file = NULL;
			}
		}
	life_end(number);
}

void stack_poll(unsigned stack)
{
	lab.life[stack].calls->poll();
	connections_accept(stack);
}

static void start_all(void)
{
	lab_cable(0, 1);
	lab_cable(1, 2);
	lab.bells = draw(2);
	lab.timeout = run.modes & LOSS && draw(2) ? SECOND / 5 : 1000 * SECOND;
	lab_start(STACKS);
	for (unsigned i = 0; i < STACKS; i++)
		stack_start(i);
}

/* --- turns of programs --- */

/* An open end of this stack, or null. */
static struct connection *some_end(unsigned stack, unsigned *side)
{
	struct connection *c = &run.connection[draw(run.connections)];

	*side = c->end[1].stack == (int)stack;
	return c->used && c->end[*side].stack == (int)stack && c->end[*side].file ? c : NULL;
}

static void read_or_write(unsigned stack)
{
	unsigned side;
	struct connection *c = some_end(stack, &side);

	if (!c)
		return;
	if (draw(2))
		end_write(c, side);
	else if (!c->end[side].stopped)
		end_read(c, side, false);
}

/* In a row, without a look at what comes. */
static void write_many(unsigned stack)
{
	for (unsigned i = draw(20); i; i--) {
		unsigned side;
		struct connection *c = some_end(stack, &side);

		if (!c)
			continue;
		end_write(c, side);
		if (once_in(5))
			lab.life[stack].calls->poll();
	}
}

static void close_or_stop(unsigned stack)
{
	unsigned side;
	struct connection *c = some_end(stack, &side);

	if (!c)
		return;
	if (once_in(run.closings))
		draw(2) ? end_close(c, side, once_in(4)) : end_shut(c, side);
	else if (once_in(4))
		c->end[side].stopped = draw(2);
}

static void act(unsigned stack)
{
	const unsigned what = draw(TURNS);

	if (what < 10)
		read_or_write(stack);
	else if (what == 10)
		write_many(stack);
	else if (what == 11 && (run.modes & MANY || once_in(3)))
		connection_open(stack);
	else if (what == 12)
		close_or_stop(stack);
	else if (what == 13) {
		datagrams_send(stack);
		datagrams_take(stack);
	} else
		stack_poll(stack);
	frames_look(stack);
}

static void pass_time(void)
{
	uint32_t passes = draw(20000) * run.pace;

	if (once_in(50))
		passes += draw(5000000);
	if (once_in(1000))
		passes += draw(400000000);
	lab.now += passes;
}

static void step(void)
{
	const unsigned number = draw(STACKS);
	struct program *program = &run.program[number];

	if (!lab.life[number].calls) {
		if (once_in(200))
			stack_start(number);
	} else if (program->stalled) {
		program->stalled--;
	} else {
		act(number);
		program->stalled = once_in(400) ? draw(200) : 0;
	}
	if (once_in(3))
		switch_run();
	pass_time();
	trouble();
	if (once_in(50))
		connections_reap();
}

/* --- runs --- */

static void print_modes(FILE *to, unsigned modes)
{
	const char *before = "";

	for (unsigned i = 0; i < MODES; i++)
		if (modes & 1u << i) {
			fprintf(to, "%s%s", before, mode_names[i]);
			before = ",";
		}
	if (!modes)
		fprintf(to, "none");
}

static unsigned modes_of(const struct options *options, uint64_t seed)
{
	return options->modes == ANY_MODES ? (unsigned)(mixed(~seed) % ANY_MODES) : options->modes;
}

/* Runs differ in more than their modes. */
static void draw_manner(void)
{
	static const unsigned paces[] = { 1, 10, 100, 1000 }, bulks[] = { 4, 4, 2, 1 }, closings[] = { 40, 40, 20, 10 };

	run.pace = paces[draw(4)];
	run.bulk = bulks[draw(4)];
	run.closings = closings[draw(4)];
}

static _Noreturn void run_seed(const struct options *options, uint64_t seed)
{
	const struct totals *totals = &run.totals;

	run.seed = seed;
	run.modes = modes_of(options, seed);
	run.random = mixed(seed) | 1;
	lab.now = 1000000000;
	run.connections = run.modes & MANY ? CONNECTIONS : FEW;
	run.traced = options->connection;
	draw_manner();
	trouble_start();
	start_all();
	for (run.step = 0; run.step < options->steps; run.step++) {
		if (run.step % SETTLES == 0)
			alarm(HANG);
		step();
		if (run.step % SETTLES == SETTLES - 1 || run.step == options->steps - 1)
			settle_all();
	}
	for (unsigned i = 0; i < STACKS; i++)
		run.totals.lent += lab.life[i].calls->lent();
	printf("seed %lu, %lu steps, ", seed, options->steps);
	print_modes(stdout, run.modes);
	printf(": %u connections (%u accepted), %lu KB, %lu frames (%lu lost, %lu late), %lu lent, %lu deaths, %lu s; "
	       "hash %016lx\n", run.opened, totals->accepted, totals->read >> 10, totals->frames, totals->lost,
	       totals->late, totals->lent, totals->deaths, lab.now / 1000000000,
	       run.hash);
	fflush(NULL);
	_exit(0);
}

/* Returns whether it did well. */
static bool run_apart(const struct options *options, const char *program, uint64_t seed)
{
	const pid_t child = fork();
	int status;

	if (!child)
		run_seed(options, seed);
	if (child < 0)
		fail("no process");
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail("a process that is lost");
	if (!status)
		return true;
	printf("seed %lu failed", seed);
	if (WIFSIGNALED(status))
		printf(WTERMSIG(status) == SIGALRM ? ", without an end" : ", by signal %d", WTERMSIG(status));
	printf("; repeat: %s --seed %lu --steps %lu --modes ", program, seed, options->steps);
	print_modes(stdout, modes_of(options, seed));
	printf("\n");
	fflush(NULL);
	return false;
}

static unsigned modes_in(char *names)
{
	unsigned modes = 0;

	for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
		unsigned i;

		for (i = 0; i < MODES && strcmp(name, mode_names[i]); i++)
			;
		if (i == MODES && strcmp(name, "none")) {
			fprintf(stderr, "net fuzz: no mode %s\n", name);
			exit(2);
		}
		modes |= i < MODES ? 1u << i : 0;
	}
	return modes;
}

static uint64_t number_in(const char *text)
{
	char *end;
	const uint64_t number = strtoull(text, &end, 10);

	if (end != text && !*end)
		return number;
	fprintf(stderr, "net fuzz: not a number: %s\n", text);
	exit(2);
}

static struct options options_in(int count, char **arguments)
{
	static const struct option known[] = {
		{ "seed", 1, NULL, 's' }, { "runs", 1, NULL, 'r' }, { "time", 1, NULL, 't' },
		{ "stride", 1, NULL, 'j' }, { "steps", 1, NULL, 'n' },
		{ "modes", 1, NULL, 'm' }, { "connection", 1, NULL, 'c' }, { "stack", 1, NULL, 'f' }, { 0 },
	};
	struct options options = { .seed = 1, .stride = 1, .steps = STEPS, .modes = ANY_MODES };

	for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;)
		switch (option) {
		case 's': options.seed = number_in(optarg); break;
		case 'r': options.runs = number_in(optarg); break;
		case 't': options.seconds = (unsigned)number_in(optarg); break;
		case 'j': options.stride = number_in(optarg); break;
		case 'n': options.steps = number_in(optarg); break;
		case 'm': options.modes = modes_in(optarg); break;
		case 'c': options.connection = (unsigned)number_in(optarg); break;
		case 'f': options.stack = optarg; break;
		default: exit(2);
		}
	if (!options.runs)
		options.runs = options.seconds ? UINT64_MAX : 1;
	return options;
}

int main(int count, char **arguments)
{
	const struct options options = options_in(count, arguments);
	const time_t end = time(NULL) + options.seconds;
	char own[4096];

	snprintf(own, sizeof(own), "%s-stack.so", arguments[0]);
	module_read(options.stack ? options.stack : own);
	for (uint64_t i = 0; i < options.runs && (!options.seconds || time(NULL) < end); i++)
		if (!run_apart(&options, arguments[0], options.seed + i * options.stride))
			return 1;
	return 0;
}
