/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"
#include <stdlib.h>
#include <skerry/require.h>
#include "sets.h"
#include "table.h"

/* An instruction that moved a line. */
struct mover {
	uint64_t pc, moves, wait;
};

/* A core's accesses to a line. Bytes are bits. */
struct user {
	uint64_t read, written; /* bytes, ever */
	uint64_t touched;       /* since it fetched the line */
	uint64_t foreign;       /* written by others since it fetched the line */
	uint64_t fetched;       /* what was foreign when it fetched the line */
	bool has_fetched;
};

struct followed {
	uint64_t line; /* first: the table's */
	uint64_t address;
	uint64_t reads, writes, upgrades, wait;
	uint64_t cores[SET_WORDS];
	uint64_t fetches, useless; /* of those that are over */
	struct mover *mover;
	unsigned movers;
	struct user user[];
};

static struct table lines;
static unsigned core_count;

void lines_make(unsigned cores)
{
	require(cores && cores <= MOST_CORES);
	core_count = cores;
	table_make(&lines);
}

static void drop_followed(void *followed) { free(((struct followed *)followed)->mover); }
void lines_reset(void) { table_clear(&lines, drop_followed); }
void lines_free(void) { table_free(&lines, drop_followed); }

static struct followed *follow_line(uint64_t line)
{
	struct followed *f = table_find(&lines, line);
	if (!f) {
		f = table_add(&lines, line, sizeof(*f) + core_count * sizeof(struct user));
		for (unsigned i = 0; i < core_count; i++)
			f->user[i].foreign = ~0ull; /* what was written before is not known */
	}
	return f;
}

static void count_mover(struct followed *f, uint64_t pc, uint64_t wait)
{
	unsigned i = 0;
	while (i < f->movers && f->mover[i].pc != pc)
		i++;
	if (i == f->movers) {
		f->mover = realloc(f->mover, (f->movers + 1) * sizeof(*f->mover));
		if (!f->mover)
			abort();
		f->mover[f->movers++] = (struct mover){ .pc = pc };
	}
	f->mover[i].moves++;
	f->mover[i].wait += wait;
}

static bool is_useless(const struct user *u) { return !(u->touched & u->fetched); }

void lines_moved(const struct movement *movement, const struct touch *touch)
{
	struct followed *f = follow_line(movement->line);
	struct user *u = &f->user[movement->core];
	require(movement->core < core_count && movement->core == touch->core);
	f->address = touch->address & ~63ull;
	set_add(f->cores, movement->core);
	for (unsigned w = 0; w < set_words(core_count); w++)
		f->cores[w] |= movement->others[w];
	f->wait += movement->wait;
	count_mover(f, touch->pc, movement->wait);
	if (movement->upgrade) {
		f->upgrades++;
		return;
	}
	*(movement->store ? &f->writes : &f->reads) += 1;
	if (u->has_fetched) {
		f->fetches++;
		f->useless += is_useless(u);
	}
	u->has_fetched = true;
	u->fetched = u->foreign;
	u->foreign = u->touched = 0;
}

static uint64_t bytes_of(const struct touch *touch)
{
	require(touch->offset < 64 && touch->size);
	unsigned size = touch->offset + touch->size > 64 ? 64 - touch->offset : touch->size;
	return (size == 64 ? ~0ull : (1ull << size) - 1) << touch->offset;
}

void lines_touched(const struct touch *touch)
{
	struct followed *f = table_find(&lines, touch->line);
	if (!f)
		return;
	uint64_t bytes = bytes_of(touch);
	struct user *u = &f->user[touch->core];
	require(touch->core < core_count);
	u->touched |= bytes;
	if (!touch->store) {
		u->read |= bytes;
		return;
	}
	u->written |= bytes;
	for (unsigned i = 0; i < core_count; i++)
		if (i != touch->core)
			f->user[i].foreign |= bytes;
}

/* ---- the result ---- */

static uint64_t moves_of(const struct followed *f) { return f->reads + f->writes + f->upgrades; }

static int hotter_line(const void *a, const void *b)
{
	const struct followed *x = *(struct followed *const *)a, *y = *(struct followed *const *)b;
	uint64_t of_x = moves_of(x), of_y = moves_of(y);
	return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : (x->line > y->line) - (x->line < y->line);
}

static int hotter_mover(const void *a, const void *b)
{
	const struct mover *x = a, *y = b;
	return x->moves != y->moves ? (x->moves < y->moves) - (x->moves > y->moves) : (x->pc > y->pc) - (x->pc < y->pc);
}

#define NUMBER(value) (unsigned long long)(value)

static void write_line(FILE *out, struct followed *f)
{
	uint64_t fetches = f->fetches, useless = f->useless;
	for (unsigned i = 0; i < core_count; i++)
		if (f->user[i].has_fetched) { /* its last fetch, as far as it is known */
			fetches++;
			useless += is_useless(&f->user[i]);
		}
	fprintf(out,
	        "{\"physical\":%llu,\"address\":%llu,\"reads\":%llu,\"writes\":%llu,\"upgrades\":%llu,\"wait\":%llu,",
	        NUMBER(f->line << 6), NUMBER(f->address), NUMBER(f->reads), NUMBER(f->writes), NUMBER(f->upgrades),
	        NUMBER(f->wait / UNIT));
	fprintf(out, "\"fetches\":%llu,\"useless\":%llu,\"users\":[", NUMBER(fetches), NUMBER(useless));
	const char *between = "";
	for (unsigned i = 0; i < core_count; i++)
		if (set_has(f->cores, i)) {
			fprintf(out, "%s{\"core\":%u,\"read\":%llu,\"written\":%llu}", between, i,
			        NUMBER(f->user[i].read), NUMBER(f->user[i].written));
			between = ",";
		}
	fputs("],\"instructions\":[", out);
	qsort(f->mover, f->movers, sizeof(*f->mover), hotter_mover);
	for (unsigned i = 0; i < f->movers; i++)
		fprintf(out, "%s{\"pc\":%llu,\"moves\":%llu,\"wait\":%llu}", i ? "," : "", NUMBER(f->mover[i].pc),
		        NUMBER(f->mover[i].moves), NUMBER(f->mover[i].wait / UNIT));
	fputs("]}", out);
}

void lines_write(FILE *out, unsigned most)
{
	void **sorted = table_sorted(&lines, hotter_line);
	uint64_t moves = 0;
	for (uint64_t i = 0; sorted[i]; i++)
		moves += moves_of(sorted[i]);
	fprintf(out, "\"moves\":%llu,\"lines\":%llu,\"hottest\":[", NUMBER(moves), NUMBER(lines.used));
	for (uint64_t i = 0; sorted[i] && i < most; i++) {
		fputs(i ? "," : "", out);
		write_line(out, sorted[i]);
	}
	fputs("]", out);
	free(sorted);
}
