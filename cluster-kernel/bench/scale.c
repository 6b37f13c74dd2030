/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elphinstone's Figures 4 and 5: on each core a client and a server of its own call and answer; before each entry
 * the core works outside the kernel for an exponentially distributed time. The cores share nothing but the kernel.
 *
 * Under `none` each core has a kernel of its own: what no lock can surpass. With unlocked=1 all have one, which is
 * sound only because these pairs have nothing in common; if it is slower than many kernels, the kernel's own lines
 * collide.
 */
#include <stdio.h>
#include "bench.h"
#include "team.h"

struct player {
	_Alignas(128) struct pair pair;
	uint64_t random, mean;
	uint64_t all;              /* entries, ever */
	uint64_t entries;          /* that ended within the window; and of these: */
	uint64_t outside, inside;  /* cycles before and within the kernel */
};

/*
 * One entry after a while; returns when it ended. Fences keep it apart from what is before and after it, as a change of
 * mode does: else the processor would begin the wait for the next while this one still waits for a line.
 */
static inline uint64_t player_play(struct player *player, const struct team *team, uint64_t left, uint64_t number,
                                   uint64_t info)
{
	const struct pair *pair = &player->pair;
	uint64_t entered = cycles_until(left + draw_exponential(&player->random, (double)player->mean));
	__builtin_ia32_lfence();
	pair_enter(pair, number, pair->endpoint, info);
	uint64_t now = cycles_end();
	player->all++;
	if (now >= team->start && now < team->end) {
		player->entries++;
		player->outside += entered - left;
		player->inside += now - entered;
	}
	return now;
}

static void player_run(struct member *self)
{
	struct player *player = self->state;
	const struct pair *pair = &player->pair;
	uint64_t label = 0, now = __builtin_ia32_rdtsc();
	pair_take(pair);
	while (now < self->team->end) {
		label = (label + 1) & 0xffff;
		now = player_play(player, self->team, now, SYS_CALL, message_info(label, 0, 0));
		pair_expect(pair_label(pair->server) == label, "a call went astray");
		now = player_play(player, self->team, now, SYS_REPLY_RECV, message_info(label + 1, 0, 0));
		pair_expect(pair_label(pair->client) == label + 1, "an answer went astray");
	}
}

static void players_make(struct player *players, unsigned cores, bool one_kernel)
{
	struct pair pairs[TEAM_MAX];
	if (one_kernel)
		pairs_make(0, cores, pairs);
	for (unsigned i = 0; i < cores; i++) {
		if (!one_kernel)
			pairs_make(i, 1, &pairs[i]);
		players[i].pair = pairs[i];
	}
}

int bench_scale(struct options *options)
{
	static struct player players[TEAM_MAX];
	static struct team team;
	static struct counted counted;
	struct player sum = { 0 };
	bool one_kernel = regime_excludes() || options->unlocked;
	players_make(players, options->cores, one_kernel);
	for (unsigned i = 0; i < options->cores; i++) {
		players[i].random = draw_seed(options->seed, i);
		players[i].mean = options->delay;
	}
	counted_read(&counted.before, &players[0].pair, sizeof(players[0]), options->cores);
	team_run(&team, options, player_run, players, sizeof(players[0]));
	counted_read(&counted.after, &players[0].pair, sizeof(players[0]), options->cores);

	bench_begin(&team);
	printf(",\"clusters\":%u,\"delay\":%llu,\"window\":%llu,\"per_core\":[", one_kernel ? 1 : options->cores,
	       (unsigned long long)options->delay, (unsigned long long)options->window);
	for (unsigned i = 0; i < options->cores; i++) {
		const struct player *p = &players[i];
		sum.entries += p->entries, sum.outside += p->outside, sum.inside += p->inside, sum.all += p->all;
		printf("%s{\"cpu\":%u,\"entries\":%llu}", i ? "," : "", options->cpu[i],
		       (unsigned long long)p->entries);
	}
	double entries = sum.entries ? (double)sum.entries : 1;
	printf("],\"entries\":%llu,\"all_entries\":%llu,\"outside\":%.1f,\"inside\":%.1f",
	       (unsigned long long)sum.entries, (unsigned long long)sum.all, (double)sum.outside / entries,
	       (double)sum.inside / entries);
	counted_print(&counted);
	printf("}\n");
	return 0;
}
