/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <hdr_histogram.h>

#include "workload.h"

/* The random source of a run's operations. */
struct source {
	const struct options *options;
	struct random random;
	struct zipfian zipfian;
	struct random pauses; /* of their own: records and operations are the same with pauses and without */
	struct arrivals arrivals;
	uint64_t sequence;
	bool paced; /* --think or --rate */
	uint64_t inserted; /* records of its own, from client_inserts() on */
};

static struct operation ring[MAX_PIPELINE]; /* those under way */
static uint32_t ends[MAX_ENDS]; /* not allocated: the heap is the same for any number of operations */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

bool measurement_init(struct measurement *m)
{
	*m = (struct measurement){ 0 };
	return hdr_init(1, 3600ll * 1000000000 / TICK_NS, HISTOGRAM_DIGITS, &m->latency) == 0;
}

void phase_load(struct client *c, struct measurement *m)
{
	const struct options *o = c->options;
	const uint64_t end = o->load_first + o->load_count;
	const uint64_t start_ns = now_ns(CLOCK_MONOTONIC);
	struct operation op = { .parts = OPERATION_INSERT, .stamp = STAMP_LOADED };
	uint64_t sent = o->load_first, done = o->load_first;

	while (done < end) {
		for (; sent < end && sent - done < o->load_pipeline; sent++) {
			op.record = sent;
			if (!client_send(c, &op))
				return;
		}
		for (; done < sent; done++) {
			op.record = done;
			if (!client_finish(c, &op))
				return;
		}
	}
	m->load_records = o->load_count;
	m->load_ns = now_ns(CLOCK_MONOTONIC) - start_ns;
}

static uint64_t seed_of(const struct options *o)
{
	uint64_t seed = o->seed;

	if (seed == 0)
		for (const char *at = o->name; *at; at++)
			seed = random_mix(seed + (unsigned char)*at);
	return seed;
}

/* Sequence numbers begin with the time, so that those of a later run are higher. */
static void source_init(struct source *s, const struct options *o)
{
	s->options = o;
	s->random.state = seed_of(o);
	s->pauses.state = random_mix(s->random.state);
	s->paced = o->think || o->rate;
	s->sequence = now_ns(CLOCK_REALTIME) / 1000000000 << 20;
	s->inserted = 0;
	if (o->distribution == DISTRIBUTION_LATEST)
		zipfian_init(&s->zipfian, o->records, SCRAMBLED_THETA, zipfian_zeta(o->records, SCRAMBLED_THETA));
	else
		scrambled_init(&s->zipfian);
}

/* Returns a record by its age: the one that was inserted last is the most popular. Other clients' inserts are not known
 * here, and not read. */
static uint64_t latest_record(struct source *s)
{
	const struct options *o = s->options;
	const uint64_t age = zipfian_rank(&s->zipfian, random_unit(&s->random));

	return age < s->inserted ? client_inserts(o) + s->inserted - 1 - age : o->records - 1 - (age - s->inserted);
}

/* Completes an operation that does more than read a record. */
static void draw_rest(struct source *s, struct operation *op)
{
	const struct options *o = s->options;

	if (op->parts & OPERATION_UPDATE) {
		op->field = random_next(&s->random) % o->fields;
		op->stamp = stamp_make(o->writer, ++s->sequence);
	} else if (op->parts & OPERATION_INSERT) {
		op->record = client_inserts(o) + s->inserted++;
		op->stamp = STAMP_LOADED;
	} else {
		const uint64_t behind = o->records - op->record, most = behind < MAX_SCAN ? behind : MAX_SCAN;
		op->scan = 1 + (unsigned)(random_next(&s->random) % most);
	}
}

static void draw_operation(struct source *s, struct operation *op)
{
	const struct options *o = s->options;
	const double u = random_unit(&s->random);

	if (u < o->workload->read)
		op->parts = OPERATION_READ;
	else if (u < o->workload->read + o->workload->update)
		op->parts = OPERATION_UPDATE;
	else if (o->workload->insert > 0)
		op->parts = u < o->workload->scan ? OPERATION_SCAN : OPERATION_INSERT;
	else
		op->parts = OPERATION_READ | OPERATION_UPDATE;
	if (o->distribution == DISTRIBUTION_ZIPFIAN)
		op->record = scrambled_record(&s->zipfian, &s->random, o->records);
	else if (o->distribution == DISTRIBUTION_LATEST)
		op->record = latest_record(s);
	else
		op->record = random_next(&s->random) % o->records;
	if (op->parts != OPERATION_READ)
		draw_rest(s, op);
}

static void think_time(struct source *s)
{
	uint64_t ns = (uint64_t)(1000 * random_exponential(&s->pauses, s->options->think));
	struct timespec pause = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

/* Returns the next arrival, when it has come. */
static uint64_t await_arrival(struct source *s)
{
	const uint64_t ns = arrivals_next(&s->arrivals);
	const struct timespec until = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	if (now_ns(CLOCK_MONOTONIC) < ns)
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
	return ns;
}

/* Waits before an operation (--think, --rate). Returns when its latency begins. Out of line: a closed loop without
 * pauses never comes here. */
__attribute__((noinline, cold)) static uint64_t await_operation(struct source *s)
{
	if (s->options->rate)
		return await_arrival(s);
	think_time(s);
	return now_ns(CLOCK_MONOTONIC);
}

static uint64_t to_ticks(uint64_t ns) { return (ns + TICK_NS / 2) / TICK_NS; }

/* Returns the time of the answer. */
static uint64_t record_latency(struct measurement *m, const struct operation *op)
{
	const uint64_t now = now_ns(CLOCK_MONOTONIC), taken = now - op->start_ns;

	hdr_record_value(m->latency, (int64_t)to_ticks(taken));
	m->sum_ns += taken;
	if (taken > m->max_ns)
		m->max_ns = taken;
	m->operations++;
	m->reads += !!(op->parts & (OPERATION_READ | OPERATION_SCAN));
	m->updates += !!(op->parts & (OPERATION_UPDATE | OPERATION_INSERT));
	return now;
}

static void end_gap(const struct client *c, struct measurement *m, uint64_t now)
{
	const uint64_t ns = now - m->gaps.since_ns;

	if (ns > m->gaps.longest_ns)
		m->gaps.longest_ns = ns;
	report_gap(c, m, now);
	m->gaps.since_ns = 0;
}

/* Records an answer in a run that survives the loss of its server. */
static void record_answer(const struct client *c, struct measurement *m)
{
	m->answered_ns = now_ns(CLOCK_MONOTONIC);
	timeline_add(&m->timeline, m->answered_ns);
	if (m->gaps.since_ns)
		end_gap(c, m, m->answered_ns);
}

/* The server is lost, and with it the answers to `sent` - `done` operations of the ring. Whether it was reached
 * again. */
static bool go_on(struct client *c, struct measurement *m, const struct source *s, uint64_t done, uint64_t sent)
{
	if (!c->life.survives)
		return false;
	if (!m->gaps.since_ns) {
		m->gaps.since_ns = m->answered_ns;
		m->gaps.count++;
	}
	for (; done < sent; done++) {
		m->gaps.reads += !(ring[done % MAX_PIPELINE].parts & OPERATION_UPDATE);
		m->gaps.updates += !!(ring[done % MAX_PIPELINE].parts & OPERATION_UPDATE);
	}
	return client_return(c, stamp_make(c->options->writer, s->sequence + 1));
}

/*
 * Returns whether the server's reply buffer for this connection fits the run's replies and keeps its size. Redis 7
 * resizes it some ten times a second, at first to what the loader's short replies need
 * (clientsCronResizeOutputBuffer()); while a record does not fit, each read costs it a list of blocks and a writev().
 * True where the server does not report sizes.
 */
static bool reply_buffer_settled(const struct client *c)
{
	enum { LARGEST = 16 << 10, KEPT = LARGEST / 2 }; /* PROTO_REPLY_CHUNK_BYTES; not shrunk above half of it */
	const struct options *o = c->options;
	const struct reply_buffer *b = &c->reply_buffer;

	if (b->size >= LARGEST)
		return b->peak < b->size ? b->peak >= KEPT
					 : (uint64_t)o->fields * o->field_length * o->pipeline >= KEPT;
	return !b->size || b->peak < b->size;
}

/* Reads records that this client has loaded, as many at once as in the run: others may not be there yet. */
static void warm_reads(struct client *c, struct measurement *m, struct source *source)
{
	const struct options *o = c->options;
	unsigned sent = 0;

	for (; sent < o->pipeline; sent++) {
		struct operation *op = &ring[sent];
		draw_operation(source, op);
		op->parts = OPERATION_READ;
		op->record = o->load_first + (m->reads + sent) % o->load_count;
		op->start_ns = now_ns(CLOCK_MONOTONIC);
		if (!client_send(c, op))
			return;
	}
	for (unsigned done = 0; done < sent && client_finish(c, &ring[done]); done++)
		record_latency(m, &ring[done]);
}

/* Does what phase_run() does, so that the same code runs, until the reply buffer has settled. That takes 0.2 s; a server
 * with many connections resizes each once a second. After 10 s the run begins all the same. */
void phase_warm(struct client *c, struct measurement *m)
{
	enum { READS = 8, MOST_ROUNDS = 500 };
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct source source;

	if (!c->options->load_count || !c->options->operations)
		return;
	source_init(&source, c->options);
	for (unsigned round = 1; round <= MOST_ROUNDS && !c->lost; round++) {
		warm_reads(c, m, &source);
		if (m->reads < READS)
			continue;
		if (!client_ask_reply_buffer(c) || reply_buffer_settled(c))
			break;
		nanosleep(&pause, NULL);
	}
	if (!c->lost)
		warm_reads(c, m, &source);
	hdr_reset(m->latency);
	m->operations = m->reads = m->sum_ns = m->max_ns = 0;
}

/* Records the answer to operation `number`, 0..; the clock starts when the last of the warming ones is answered. */
static void record_operation(const struct client *c, struct measurement *m, uint64_t number)
{
	const uint64_t warm = c->options->warm;

	if (number >= warm) {
		const uint64_t now = record_latency(m, &ring[number % MAX_PIPELINE]);
		if (m->ends)
			m->ends[number - warm] = (uint32_t)to_ticks(now - m->start_ns);
	} else if (number + 1 == warm) {
		m->start_ns = now_ns(CLOCK_MONOTONIC);
		m->arrivals.before_ns = ring[number % MAX_PIPELINE].start_ns;
	}
	if (c->life.survives)
		record_answer(c, m);
}

void phase_run(struct client *c, struct measurement *m)
{
	const struct options *o = c->options;
	const uint64_t all = o->operations ? o->warm + o->operations : 0;
	struct source source;
	uint64_t sent = 0, done = 0;

	source_init(&source, o);
	m->ends = o->warm ? ends : NULL;
	m->start_ns = m->answered_ns = now_ns(CLOCK_MONOTONIC);
	m->arrivals.before_ns = m->start_ns;
	timeline_init(&m->timeline, m->start_ns);
	if (o->rate)
		arrivals_init(&source.arrivals, m->start_ns, o->rate, o->even,
			      random_mix(source.pauses.state ^ o->arrivals));
	while (done < all && !c->lost) {
		for (; sent < all && sent - done < o->pipeline; sent++) {
			struct operation *op = &ring[sent % MAX_PIPELINE];
			draw_operation(&source, op);
			op->start_ns = source.paced ? await_operation(&source) : now_ns(CLOCK_MONOTONIC);
			if (!client_send(c, op))
				break;
		}
		for (; done < sent && client_finish(c, &ring[done % MAX_PIPELINE]); done++)
			record_operation(c, m, done);
		if (c->lost && go_on(c, m, &source, done, sent))
			done = sent;
	}
	m->end_ns = now_ns(CLOCK_MONOTONIC);
	m->arrivals.last_ns = sent ? ring[(sent - 1) % MAX_PIPELINE].start_ns : m->start_ns;
	if (m->gaps.since_ns)
		end_gap(c, m, m->end_ns);
	c->life.survives = false;
}

void phase_expect(struct client *c)
{
	uint64_t keys;

	if (!c->options->have_expect || c->life.number || !client_count_keys(c, &keys) || keys == c->options->expect ||
	    (keys > c->options->expect && c->options->workload->insert > 0))
		return;
	c->wrong++;
	fprintf(stderr, "ycsb: %s: the server holds %llu keys, not %llu\n", c->options->name, (unsigned long long)keys,
		(unsigned long long)c->options->expect);
}

void phase_memory(struct client *c)
{
	if (client_ask_memory(c) || c->lost)
		return;
	c->errors++;
	fprintf(stderr, "ycsb: %s: the server does not say how much memory it uses\n", c->options->name);
}
