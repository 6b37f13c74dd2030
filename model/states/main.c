/* SPDX-License-Identifier: BSD-2-Clause */
/* `skerry explore` runs this program: one theme of one regime. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "states.h"

enum { FOUND = 1, USAGE = 2, INTERRUPTED = 130, STATES = 4000000, STATES_MAX = 2000000000, SECONDS_ALONE = 60,
       OPERATIONS_MAX = 256, JOBS_MAX = 64 };

struct arguments {
	const char *replay, *record, *finds;
	const struct theme *theme;
	unsigned depth, cores, budget, seconds, jobs, states;
	bool pairs, reduced, both;
};

void fail(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

static _Noreturn void usage(const char *what, const char *value)
{
	fprintf(stderr, "explore: %s: '%s'\n", what, value);
	exit(USAGE);
}

static unsigned number(const char *option, const char *text, unsigned low, unsigned high)
{
	char *end;
	errno = 0;
	const unsigned long value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < low || value > high) {
		fprintf(stderr, "explore: --%s is a number from %u to %u, not '%s'\n", option, low, high, text);
		exit(USAGE);
	}
	return (unsigned)value;
}

static void list_themes(void)
{
	uint16_t operation[OPERATIONS_MAX];
	for (unsigned i = 0; i < themes_count; i++)
		printf("%s\t%u\t%u\t%u\n", themes[i].name, themes[i].cores, themes[i].depth,
		       theme_operations(&themes[i], operation));
}

static void parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option known[] = {
		{ "theme", required_argument, 0, 't' }, { "depth", required_argument, 0, 'd' },
		{ "cores", required_argument, 0, 'c' }, { "budget", required_argument, 0, 'b' },
		{ "time", required_argument, 0, 's' }, { "jobs", required_argument, 0, 'j' },
		{ "states", required_argument, 0, 'n' }, { "replay", required_argument, 0, 'r' },
		{ "record", required_argument, 0, 'o' }, { "pairs", no_argument, 0, 'p' },
		{ "reduce", no_argument, 0, 'u' }, { "both", no_argument, 0, 'B' },
		{ "finds", required_argument, 0, 'f' }, { "list", no_argument, 0, 'l' }, { 0 },
	};
	int option;
	while ((option = getopt_long(argc, argv, "", known, 0)) != -1) {
		switch (option) {
		case 't':
			arguments->theme = theme_find(optarg);
			if (!arguments->theme)
				usage("no theme is named", optarg);
			break;
		case 'd': arguments->depth = number("depth", optarg, 1, SEARCH_PATH_MAX - 1); break;
		case 'c': arguments->cores = number("cores", optarg, 1, STEP_CORES); break;
		case 'b': arguments->budget = number("budget", optarg, 1, 1000000); break;
		case 's': arguments->seconds = number("time", optarg, 1, 1000000); break;
		case 'j': arguments->jobs = number("jobs", optarg, 1, JOBS_MAX); break;
		case 'n': arguments->states = number("states", optarg, 1, STATES_MAX); break;
		case 'r': arguments->replay = optarg; break;
		case 'o': arguments->record = optarg; break;
		case 'p': arguments->pairs = true; break;
		case 'u': arguments->reduced = true; break;
		case 'B': arguments->both = true; break;
		case 'f': arguments->finds = optarg; break;
		case 'l': list_themes(); exit(0);
		default: exit(USAGE);
		}
	}
	if (optind < argc)
		usage("an argument that is no option", argv[optind]);
}

static void stop(int signal)
{
	(void)signal;
	search_stop();
}

static void print_level(const struct search_result *result, size_t new_states)
{
	printf("depth %u: %zu new, %zu states, %zu transitions, %zu refused, %zu checked, %zu pairs, %.2f s\n",
	       result->depth, new_states, result->states, result->transitions, result->refused, result->checked,
	       result->pairs, result->seconds);
	fflush(stdout);
}

/* Does the path in a process of its own. Returns whether it ended as it should; else `why` is the last line that it
 * printed, or its signal. */
static bool try_path(const struct search_options *options, const unsigned *path, unsigned length, char *why,
                     size_t size)
{
	int pipes[2], status = 0;
	if (pipe(pipes) < 0)
		return true;
	fflush(0);
	const pid_t pid = fork();
	if (!pid) {
		const struct itimerval limit = { .it_value.tv_sec = SECONDS_ALONE };
		dup2(pipes[1], STDERR_FILENO);
		setitimer(ITIMER_VIRTUAL, &limit, 0);
		search_replay(options, path, length);
		_exit(0);
	}
	close(pipes[1]);
	FILE *said = fdopen(pipes[0], "r");
	for (char line[300]; said && fgets(line, sizeof(line), said);)
		snprintf(why, size, "%.*s", (int)strcspn(line, "\n"), line);
	if (said)
		fclose(said);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (signal == SIGVTALRM)
		snprintf(why, size, "the kernel does not return within %d seconds", SECONDS_ALONE);
	else if (signal != SIGABRT || !*why)
		snprintf(why, size, "the kernel crashes: %s", strsignal(signal));
	return false;
}

static int report(const struct arguments *arguments, const struct search_options *options,
                  const struct search_result *result)
{
	char why[300] = "";
	struct record record = { .theme = arguments->theme, .cores = arguments->cores, .budget = arguments->budget,
		                 .pairs = arguments->pairs, .steps = result->path_length };
	snprintf(record.regime, sizeof(record.regime), "%.*s", (int)(strlen(REGIME_HEADER) - 2), REGIME_HEADER);
	if (try_path(options, result->path, result->path_length, why, sizeof(why)))
		snprintf(why, sizeof(why), "a rule is broken, and not when the path is repeated");
	printf("found: %s\n", why);
	for (unsigned i = 0; i < result->path_length; i++) {
		record.step[i] = search_step(options, result->path[i]);
		printf("step %u: ", i + 1);
		record_print_step(stdout, &record.step[i]);
	}
	if (arguments->record && !record_write(arguments->record, &record)) {
		fprintf(stderr, "explore: cannot write %s: %s\n", arguments->record, strerror(errno));
		return USAGE;
	}
	return !arguments->finds || !strstr(why, arguments->finds) ? FOUND : 0;
}

/* Explores once more, reduced. Returns whether that has the same states, or a find at the same depth. */
static bool agrees(struct search_options *options, const struct search_result *plain)
{
	static struct search_result reduced;
	options->reduced = true;
	search_run(options, &reduced, print_level);
	const bool same = reduced.end == plain->end && reduced.path_length == plain->path_length &&
	                  (plain->end == SEARCH_FOUND ||
	                   (reduced.states == plain->states && reduced.checked == plain->checked));
	printf("reduced: %zu states, %zu transitions, %zu steps left out, %.2f s\n", reduced.states,
	       reduced.transitions, reduced.asleep, reduced.seconds);
	if (!same)
		printf("found: reduced, the search has other states: %zu, %zu checked, a path of %u steps\n",
		       reduced.states, reduced.checked, reduced.path_length);
	return same;
}

static int explore(struct arguments *arguments, struct search_options *options)
{
	static struct search_result result;
	static const char *const ends[] = { "the depth is reached", "there are no further states",
		                            "the limit of states is reached; --states raises it", "the time is over",
		                            "interrupted", "found" };
	search_run(options, &result, print_level);
	printf("%s: %u levels, %zu states, %zu transitions, %zu refused, %zu checked, %zu pairs, %.2f s, %zu MiB\n",
	       ends[result.end], result.depth, result.states, result.transitions, result.refused, result.checked,
	       result.pairs, result.seconds, search_bytes(result.states) >> 20);
	if (options->reduced)
		printf("left out: %zu steps that commute with others\n", result.asleep);
	if (arguments->both && result.end != SEARCH_STOPPED && !agrees(options, &result))
		return FOUND;
	if (result.end == SEARCH_FOUND)
		return report(arguments, options, &result);
	return result.end == SEARCH_STOPPED ? INTERRUPTED : arguments->finds ? FOUND : 0;
}

/* Repeats a path; prints its steps, and what is found. */
static int replay(const struct record *record, struct search_options *options)
{
	static unsigned path[SEARCH_PATH_MAX];
	char why[300] = "";
	for (unsigned i = 0; i < record->steps; i++) {
		const uint16_t number = (uint16_t)(record->step[i].operation - operations);
		unsigned place = 0;
		while (place < options->operations && options->operation[place] != number)
			place++;
		if (place == options->operations) {
			fprintf(stderr, "explore: step %u: theme '%s' has no operation '%s'\n", i + 1,
			        record->theme->name, operations[number].name);
			return USAGE;
		}
		path[i] = (record->step[i].core * options->operations + place) * 2 + record->step[i].part;
		printf("step %u: ", i + 1);
		record_print_step(stdout, &record->step[i]);
	}
	if (try_path(options, path, record->steps, why, sizeof(why))) {
		printf("passed: %u steps\n", record->steps);
		return 0;
	}
	printf("found: %s\n", why);
	return FOUND;
}

int main(int argc, char **argv)
{
	static uint16_t operation[OPERATIONS_MAX];
	static struct record record;
	struct arguments arguments = { .theme = &themes[0], .budget = 1, .jobs = 1, .states = STATES };
	parse(argc, argv, &arguments);
	if (arguments.replay) {
		record_read(arguments.replay, &record);
		arguments.theme = record.theme;
		arguments.cores = record.cores;
		arguments.budget = record.budget;
		arguments.pairs = record.pairs;
	}
	arguments.cores = arguments.cores ? arguments.cores : arguments.theme->cores;
	if (arguments.pairs && arguments.cores > 1) {
		fprintf(stderr, "explore: --pairs is for one core\n");
		return USAGE;
	}
	if ((arguments.reduced || arguments.both) && arguments.cores == 1) {
		fprintf(stderr, "explore: --reduce and --both are for several cores\n");
		return USAGE;
	}
	const struct tiny_config config = { .cores = arguments.cores, .budget = arguments.budget,
		                            .start = arguments.theme->start | (arguments.pairs ? START_DIRTY : 0) };
	tiny_make(&config);
	struct search_options options = { .depth = arguments.depth ? arguments.depth : arguments.theme->depth,
		.states_max = arguments.states, .seconds = arguments.seconds, .jobs = arguments.jobs,
		.pairs = arguments.pairs, .reduced = arguments.reduced, .operation = operation,
		.operations = theme_operations(arguments.theme, operation) };
	if (arguments.replay)
		return replay(&record, &options);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	return explore(&arguments, &options);
}
