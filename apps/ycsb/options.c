/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Cooper et al. 2010, table 2. */
static const struct workload workloads[] = {
	{ "a", .read = 0.50, .update = 0.50 },
	{ "b", .read = 0.95, .update = 0.05 },
	{ "c", .read = 1.00 },
	{ "d", .read = 0.95, .insert = 0.05, .latest = true },
	{ "e", .scan = 0.95, .insert = 0.05 },
	{ "f", .read = 0.50, .read_modify_write = 0.50 },
};

enum option_id {
	OPTION_HOST = 256, OPTION_PORT, OPTION_NAME, OPTION_WRITER, OPTION_WORKLOAD, OPTION_DISTRIBUTION,
	OPTION_RECORDS, OPTION_OPERATIONS, OPTION_FIELDS, OPTION_FIELD_LENGTH, OPTION_VALUE_SIZE, OPTION_SEED,
	OPTION_PIPELINE, OPTION_THINK, OPTION_LOAD, OPTION_LOAD_FIRST, OPTION_LOAD_COUNT, OPTION_LOAD_PIPELINE,
	OPTION_EXPECT, OPTION_AWAIT, OPTION_RENDEZVOUS, OPTION_PARTIES, OPTION_ALONE, OPTION_CONNECT_TIMEOUT,
	OPTION_SURVIVE, OPTION_WARM, OPTION_RATE, OPTION_SPACING, OPTION_ARRIVALS, OPTION_HELP,
};

static const struct {
	const char *name;
	enum option_id id;
	const char *argument; /* NULL: takes none */
	const char *help;
} table[] = {
	{ "host", OPTION_HOST, "ADDRESS", "server (127.0.0.1)" },
	{ "port", OPTION_PORT, "N", "its port (6379)" },
	{ "workload", OPTION_WORKLOAD, "a|b|c|d|e|f", "core workload (c)" },
	{ "records", OPTION_RECORDS, "N", "records in the whole table (10000)" },
	{ "operations", OPTION_OPERATIONS, "N", "operations of this client; 0 only loads (10000)" },
	{ "warm", OPTION_WARM, "N",
	  "operations before them that are not measured; also report when each of --operations ended (0)" },
	{ "distribution", OPTION_DISTRIBUTION, "zipfian|uniform", "how records are chosen (zipfian, scrambled)" },
	{ "fields", OPTION_FIELDS, "N", "fields of a record (10)" },
	{ "field-length", OPTION_FIELD_LENGTH, "BYTES", "length of a field, at least 24 (100)" },
	{ "value-size", OPTION_VALUE_SIZE, "BYTES", "length of all fields of a record together" },
	{ "pipeline", OPTION_PIPELINE, "N", "operations under way at once (1)" },
	{ "think", OPTION_THINK, "US",
	  "pause before each operation, exponential with this mean (0); not with --pipeline" },
	{ "rate", OPTION_RATE, "N",
	  "operations of this client that arrive a second, answered or not; latencies begin there (each waits for the "
	  "last); not with --pipeline, --think" },
	{ "spacing", OPTION_SPACING, "poisson|even", "how they are spaced (poisson)" },
	{ "arrivals", OPTION_ARRIVALS, "N", "seed of their schedule, beside --seed (1)" },
	{ "load", OPTION_LOAD, NULL, "write the records first" },
	{ "load-first", OPTION_LOAD_FIRST, "N", "first record that this client writes (0); implies --load" },
	{ "load-count", OPTION_LOAD_COUNT, "N", "how many it writes (all from the first on); implies --load" },
	{ "load-pipeline", OPTION_LOAD_PIPELINE, "N", "records under way at once while loading (16)" },
	{ "expect", OPTION_EXPECT, "N", "at the end the server must hold N keys" },
	{ "seed", OPTION_SEED, "N", "of the choice of records and operations (from the name)" },
	{ "name", OPTION_NAME, "NAME", "of this client in the results" },
	{ "writer", OPTION_WRITER, "N", "1..4095, different for each client of a server" },
	{ "await", OPTION_AWAIT, "APPLICATION", "wait until it serves (Skerry only)" },
	{ "rendezvous", OPTION_RENDEZVOUS, "FILE", "meet the other clients at this new, empty file (hosts only)" },
	{ "parties", OPTION_PARTIES, "N", "how many meet at --rendezvous" },
	{ "alone", OPTION_ALONE, NULL, "wait for no other client" },
	{ "connect-timeout", OPTION_CONNECT_TIMEOUT, "S", "try to connect for so many seconds (30)" },
	{ "survive", OPTION_SURVIVE, "S",
	  "when the server is lost during the run, try for so many seconds to reach it again (0)" },
	{ "help", OPTION_HELP, NULL, "this text" },
};
enum { OPTIONS = sizeof(table) / sizeof(table[0]) };

__attribute__((noreturn, format(printf, 1, 2))) static void bad(const char *format, ...)
{
	va_list arguments;

	fputs("ycsb: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

static void print_help(void)
{
	puts("Usage: ycsb [OPTION]...\nLoad a Redis server as YCSB does, check every value, report latencies as "
	     "JSON.\n");
	for (int i = 0; i < OPTIONS; i++) {
		char left[64];
		snprintf(left, sizeof(left), "--%s %s", table[i].name, table[i].argument ? table[i].argument : "");
		printf("  %-34s %s\n", left, table[i].help);
	}
	exit(0);
}

static uint64_t parse_number(const char *name, const char *text, uint64_t low, uint64_t high)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0')
		bad("--%s: \"%s\" is not a number", name, text);
	if (errno == ERANGE || value < low || value > high)
		bad("--%s: %s is not within %llu and %llu", name, text, (unsigned long long)low,
		    (unsigned long long)high);
	return value;
}

static const struct workload *find_workload(const char *text)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (!strcasecmp(text, workloads[i].name))
			return &workloads[i];
	bad("--workload: \"%s\" is none of a, b, c, d, e, f", text);
}

static enum distribution find_distribution(const char *text)
{
	if (!strcmp(text, "zipfian"))
		return DISTRIBUTION_ZIPFIAN;
	if (!strcmp(text, "uniform"))
		return DISTRIBUTION_UNIFORM;
	bad("--distribution: \"%s\" is neither zipfian nor uniform", text);
}

static bool is_even(const char *text)
{
	if (strcmp(text, "even") && strcmp(text, "poisson"))
		bad("--spacing: \"%s\" is neither poisson nor even", text);
	return !strcmp(text, "even");
}

/* A name goes into JSON as it is. */
static void set_name(struct options *o, const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length > MAX_NAME)
		bad("--name: must have 1 to %d characters", MAX_NAME);
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
			bad("--name: printable characters without quotes, spaces and backslashes only");
	memcpy(o->name, text, length + 1);
}

static void set_option(struct options *o, enum option_id id, const char *name, const char *text, uint64_t *value_size)
{
	switch (id) {
	case OPTION_HOST: o->host = text; break;
	case OPTION_PORT: o->port = parse_number(name, text, 1, 65535); break;
	case OPTION_NAME: set_name(o, text); break;
	case OPTION_WRITER: o->writer = parse_number(name, text, 1, MAX_WRITER); break;
	case OPTION_WORKLOAD: o->workload = find_workload(text); break;
	case OPTION_DISTRIBUTION: o->distribution = find_distribution(text); break;
	case OPTION_RECORDS: o->records = parse_number(name, text, 1, 1u << 28); break;
	case OPTION_OPERATIONS: o->operations = parse_number(name, text, 0, 1ull << 40); break;
	case OPTION_WARM: o->warm = parse_number(name, text, 0, MAX_WARM); break;
	case OPTION_FIELDS: o->fields = parse_number(name, text, 1, MAX_FIELDS); break;
	case OPTION_FIELD_LENGTH: o->field_length = parse_number(name, text, 24, MAX_FIELD_LENGTH); break;
	case OPTION_VALUE_SIZE: *value_size = parse_number(name, text, 24, (uint64_t)MAX_FIELDS * MAX_FIELD_LENGTH);
		break;
	case OPTION_SEED: o->seed = parse_number(name, text, 1, UINT64_MAX); break;
	case OPTION_PIPELINE: o->pipeline = parse_number(name, text, 1, MAX_PIPELINE); break;
	case OPTION_THINK: o->think = parse_number(name, text, 0, MAX_THINK); break;
	case OPTION_RATE: o->rate = parse_number(name, text, 1, MAX_RATE); break;
	case OPTION_SPACING: o->even = is_even(text); break;
	case OPTION_ARRIVALS: o->arrivals = parse_number(name, text, 1, UINT64_MAX); break;
	case OPTION_LOAD: o->load = true; break;
	case OPTION_LOAD_FIRST: o->load = true; o->load_first = parse_number(name, text, 0, 1u << 28); break;
	case OPTION_LOAD_COUNT: o->load = true; o->load_count = parse_number(name, text, 0, 1u << 28); break;
	case OPTION_LOAD_PIPELINE: o->load_pipeline = parse_number(name, text, 1, MAX_PIPELINE); break;
	case OPTION_EXPECT: o->have_expect = true; o->expect = parse_number(name, text, 0, INT64_MAX); break;
	case OPTION_AWAIT: o->await = text; break;
	case OPTION_RENDEZVOUS: o->rendezvous = text; break;
	case OPTION_PARTIES: o->parties = parse_number(name, text, 1, 4096); break;
	case OPTION_ALONE: o->alone = true; break;
	case OPTION_CONNECT_TIMEOUT: o->connect_timeout = parse_number(name, text, 0, 3600); break;
	case OPTION_SURVIVE: o->survive = parse_number(name, text, 0, 3600); break;
	case OPTION_HELP: print_help();
	}
}

/* Checks and completes options that depend on others. */
static void complete_options(struct options *o, uint64_t value_size)
{
	if (value_size && value_size % o->fields)
		bad("--value-size: %llu does not divide into %u fields", (unsigned long long)value_size, o->fields);
	if (value_size)
		o->field_length = value_size / o->fields;
	if (o->field_length < 24 || o->field_length > MAX_FIELD_LENGTH)
		bad("--value-size: makes fields of %u bytes, fields have 24 to %d", o->field_length, MAX_FIELD_LENGTH);
	if (o->load_count == UINT64_MAX)
		o->load_count = o->load_first < o->records ? o->records - o->load_first : 0;
	if (o->load && o->load_first + o->load_count > o->records)
		bad("--load-count: record %llu is not among the %llu of --records",
		    (unsigned long long)(o->load_first + o->load_count - 1), (unsigned long long)o->records);
	if (o->workload->scan > 0 && o->pipeline > 1)
		bad("--workload e: one operation at a time, without --pipeline");
	if (o->workload->insert > 0 && o->survive)
		bad("--workload %s: without --survive", o->workload->name);
	if (o->workload->latest)
		o->distribution = DISTRIBUTION_LATEST;
	if (o->think && o->pipeline > 1)
		bad("--think: one operation at a time, without --pipeline");
	if (o->rate && (o->think || o->pipeline > 1))
		bad("--rate: one operation at a time, without --pipeline and --think");
	if (!o->rate && (o->even || o->arrivals))
		bad("--%s: is of arrivals, with --rate", o->even ? "spacing" : "arrivals");
	if (o->warm && (o->survive || o->operations > MAX_ENDS))
		bad("--warm: with at most %d operations, without --survive", MAX_ENDS);
	if (!o->rendezvous != !o->parties)
		bad("--rendezvous and --parties go together");
	if (o->rendezvous && o->alone)
		bad("--alone and --rendezvous exclude each other");
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct option longs[OPTIONS + 1] = { 0 };
	uint64_t value_size = 0;
	int at, id;

	*o = (struct options){
		.host = "127.0.0.1", .port = 6379, .workload = find_workload("c"), .records = 10000,
		.operations = 10000, .fields = 10, .field_length = 100, .pipeline = 1, .load_pipeline = 16,
		.load_count = UINT64_MAX, .connect_timeout = 30,
	};
	for (int i = 0; i < OPTIONS; i++)
		longs[i] = (struct option){ table[i].name, table[i].argument ? required_argument : no_argument,
					    NULL, table[i].id };
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":", longs, &at)) != -1) {
		if (id == ':')
			bad("%s needs an argument", argv[optind - 1]);
		if (id == '?')
			bad("unknown option %s; --help lists them", argv[optind - 1]);
		set_option(o, id, longs[at].name, optarg, &value_size);
	}
	if (optind < argc)
		bad("unexpected argument \"%s\"", argv[optind]);
	complete_options(o, value_size);
}
