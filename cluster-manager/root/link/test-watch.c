/* SPDX-License-Identifier: BSD-2-Clause */
/* Possible contents of a cluster's ledger, and what its watcher concludes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "root.h"
#include "test-check.h"

static uint64_t now = 1000000; /* a cycle is a millisecond */
static uint64_t test_clock(void) { return now; }

#define read_tsc test_clock
#include "watch.c"

enum { CLUSTERS = 4, CORES = 3, RANDOM_PAGES = 3000, CORE_MS = 3000, MANAGER_MS = 5000,
       TIMEOUT_TICKS = CORE_MS / TIMER_MS };

static struct root_info *root;

static struct cluster_map test_map;
const struct cluster_map *map = &test_map;
static struct ledger *ledger; /* of clusters 0, which is ours, to 3 */
static unsigned mails, losses;
static bool channel_is_up = true;

void *own_memory(uint64_t size) { return calloc(1, size); }
void channel_is_watched(uint32_t cluster, const _Atomic uint32_t *life) { CHECK(cluster < CLUSTERS && life); }

bool channel_lose(uint32_t cluster, const char *text)
{
	CHECK(cluster && cluster < CLUSTERS && strlen(text) > 10);
	losses++;
	return channel_is_up;
}

int mailbox_put(const struct mail *mail)
{
	CHECK(mail->kind == MAIL_PEER_LOST && mail->size == strlen(mail->body) + 1);
	mails++;
	return 0;
}

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	exit(1);
}

/* Everybody lives, as if nothing had happened. */
static void begin(void)
{
	memset(ledger, 0, CLUSTERS * sizeof(*ledger));
	for (uint32_t i = 0; i < watched_count; i++) {
		struct watched *w = &watched[i];
		memset(w->core, 0, w->room * sizeof(*w->core));
		*w = (struct watched){ .ledger = w->ledger, .cluster = w->cluster, .cores = w->cores, .room = w->room,
		                       .core = w->core, .life = 1, .next_life = 1 };
	}
	for (unsigned i = 0; i < CLUSTERS; i++) {
		ledger[i].kernel.magic = ledger[i].manager.magic = LEDGER_MAGIC;
		ledger[i].kernel.state = LEDGER_RUNNING;
	}
	watch_tick();
}

enum { ALL_CORES = (1 << CORES) - 1, TIMER = 1 << CORES, MANAGER = 2 << CORES, ALL = ALL_CORES | TIMER | MANAGER };

/* `ticks` of `ms` each, during which of cluster 1 only these signs are given, and all of the others. */
static void pass(unsigned ticks, unsigned ms, unsigned signs)
{
	while (ticks--) {
		now += ms;
		for (unsigned i = 1; i < CLUSTERS; i++) {
			unsigned given = i == 1 ? signs : ALL;
			for (unsigned c = 0; c < CORES; c++)
				ledger[i].kernel.beats[c] += given >> c & 1;
			ledger[i].manager.ticks += !!(given & TIMER);
			ledger[i].manager.passes += !!(given & MANAGER);
		}
		watch_tick();
		CHECK(!watch_verdict(2) && !watch_verdict(3));
	}
}

/* Exactly these signs end, and that is the verdict: not before its time, and soon after it. */
static void ends(unsigned signs, unsigned timeout, enum watch_reason reason, uint32_t core, const char *words)
{
	const unsigned tick = timer_ms();
	begin();
	pass(10, tick, ALL);
	pass(timeout / tick, tick, signs);
	CHECK(!watch_verdict(1));
	pass(2, tick, signs);
	const struct watch_verdict *v = watch_verdict(1);
	CHECK(v && v->reason == reason && v->core == core && strstr(v->text, words));
	CHECK(v && v->silent_ms >= timeout && v->silent_ms <= timeout + 3 * tick);
}

/* Timeouts of machines whose cores do not take turns, and of those whose deployments set them. */
static void other_timeout(void)
{
	static const unsigned timeout[] = { 100, 120, 499, 1000, 60000 };
	for (unsigned i = 0; i < sizeof(timeout) / sizeof(timeout[0]); i++) {
		root->patience_ms = timeout[i];
		CHECK(timer_ms() >= 10 && timer_ms() <= 50 && timer_ms() * 10 <= timeout[i]);
		ends(0, timeout[i], WATCH_STOPPED, 0, "cores have stopped");
		ends(ALL & ~2u, timeout[i], WATCH_CORE, 1, "core 1 hangs");
		ends(ALL & ~MANAGER, timeout[i] * 5 / 3, WATCH_MANAGER, WATCH_NO_CORE, "main loop");
	}
	root->patience_ms = CORE_MS;
}

static void signs_end(void)
{
	ends(TIMER | MANAGER, CORE_MS, WATCH_STOPPED, 0, "cores have stopped");
	ends(0, CORE_MS, WATCH_STOPPED, 0, "cores have stopped");
	for (unsigned c = 0; c < CORES; c++)
		ends(ALL & ~(1u << c), CORE_MS, WATCH_CORE, c, "hangs");
	ends(ALL & ~(1u | TIMER | MANAGER), CORE_MS, WATCH_CORE, 0, "core 0 hangs");
	ends(ALL & ~TIMER, CORE_MS, WATCH_TIMER, WATCH_NO_CORE, "timer");
	ends(ALL & ~MANAGER, MANAGER_MS, WATCH_MANAGER, WATCH_NO_CORE, "main loop");
}

/* Beats of two cores end a tick apart: the silence that is told is that of the core that was silent for too long. */
static void end_apart(void)
{
	const unsigned tick = timer_ms();
	begin();
	pass(10, tick, ALL);
	pass(1, tick, 1u);
	pass(CORE_MS / tick + 1, tick, 0);
	CHECK(watch_verdict(1) && watch_verdict(1)->reason == WATCH_STOPPED && watch_verdict(1)->silent_ms > CORE_MS);
}

/* Neither many ticks in no time, nor much time with few ticks, is a silence; nor is a manager that has not begun. */
static void timeout(void)
{
	begin();
	pass(100 * TIMEOUT_TICKS, 0, 0);
	CHECK(!watch_verdict(1));
	begin();
	pass(TIMEOUT_TICKS, 100000, 0);
	CHECK(!watch_verdict(1));
	begin();
	ledger[1].manager.magic = 0;
	for (unsigned i = 0; i < watched_count; i++)
		watched[i].manager_started = false;
	pass(10 * TIMEOUT_TICKS, TIMER_MS, ALL_CORES);
	CHECK(!watch_verdict(1));
	begin();
	ledger[1].kernel.magic = 0;
	for (unsigned i = 0; i < watched_count; i++)
		watched[i].started = false;
	pass(10 * TIMEOUT_TICKS, TIMER_MS, 0);
	CHECK(!watch_verdict(1));
}

static void last_words(void)
{
	begin();
	ledger_last_words(&ledger[1].kernel, LEDGER_EXCEPTION, 2, "exception in the kernel");
	pass(1, TIMER_MS, ALL);
	const struct watch_verdict *v = watch_verdict(1);
	CHECK(v && v->reason == WATCH_PANIC && v->core == 2 &&
	      !strcmp(v->text, "its kernel panicked on core 2: exception in the kernel"));
	losses = mails = 0;
	CHECK(watch_console_is_taken());
	watch_report();
	watch_report();
	CHECK(losses == 1 && !mails); /* the loss is told while the kernel's report is on its way to the console */
	pass(WATCH_WORDS_MS / TIMER_MS, TIMER_MS, ALL);
	CHECK(!watch_console_is_taken());
	begin();
	CHECK(!watch_words_are_said());
	ledger[1].kernel.said_at = now;
	ledger_last_words(&ledger[1].kernel, LEDGER_EXCEPTION, 2, "exception in the kernel");
	CHECK(watch_words_are_said() && !watch_console_is_taken());
	ledger_report_ended(&ledger[1].kernel);
	CHECK(watch_words_are_said());
	ledger[1].kernel.state = LEDGER_DYING;
	pass(1, TIMER_MS, ALL);
	CHECK(!watch_words_are_said() && watch_console_is_taken() && watch_verdict(1)->silent_ms == TIMER_MS);
	ledger_report_ended(&ledger[1].kernel);
	CHECK(!watch_console_is_taken());
	watch_report();
	CHECK(losses == 2 && !mails);
	channel_is_up = false;
	begin();
	ledger_last_words(&ledger[1].kernel, LEDGER_PANIC, CORES,
	                  "much longer than the sixty-four characters for which the ledger has room at all");
	pass(1 + WATCH_WORDS_MS / TIMER_MS, TIMER_MS, ALL);
	watch_report();
	CHECK(losses == 3 && mails == 1);
	CHECK(v->core == WATCH_NO_CORE && strstr(v->text, "panicked: much longer than"));
}

static bool is_sound(const struct watch_verdict *v)
{
	size_t length = strnlen(v->text, sizeof(v->text));
	for (size_t i = 0; i < length; i++)
		if (v->text[i] < 0x20 || v->text[i] > 0x7e)
			return false;
	return length && length < sizeof(v->text) && v->reason <= WATCH_MANAGER &&
	       (v->core < CORES || v->core == WATCH_NO_CORE);
}

/* Every byte at every place of the text, and every number where a number is expected: within bounds, and printable. */
static void hostile_words(void)
{
	static const uint32_t numbers[] = { 0, 1, 2, 3, 4, 59, 60, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff };
	enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };
	struct ledger_kernel *k = &ledger[1].kernel;
	struct ledger_words words;
	for (unsigned place = 0; place < LEDGER_TEXT; place++)
		for (unsigned byte = 0; byte < 256; byte++) {
			begin();
			memset(k->text, 'x', LEDGER_TEXT);
			((unsigned char *)k->text)[place] = (unsigned char)byte;
			k->state = LEDGER_DYING;
			CHECK(ledger_read_words(k, CORES, &words) &&
			      strlen(words.text) == (byte ? LEDGER_TEXT : place));
			pass(1, TIMER_MS, ALL);
			CHECK(watch_verdict(1) && is_sound(watch_verdict(1)));
		}
	for (unsigned i = 0; i < NUMBERS * NUMBERS * NUMBERS; i++) {
		begin();
		k->state = numbers[i % NUMBERS];
		k->reason = numbers[i / NUMBERS % NUMBERS];
		k->core = numbers[i / NUMBERS / NUMBERS];
		bool spoke = k->state == LEDGER_DYING || k->state == LEDGER_DEAD;
		CHECK(ledger_read_words(k, CORES, &words) == spoke);
		CHECK(!spoke || words.reason < LEDGER_REASONS);
		CHECK(!spoke || words.core == (k->core < CORES ? k->core : LEDGER_NO_CORE));
		pass(1, TIMER_MS, ALL);
		CHECK(!watch_verdict(1) == !spoke);
	}
}

/* Pages of random bytes, other ones at each tick, with and without what the watcher asks for first. */
static void hostile_pages(void)
{
	srandom(1);
	for (unsigned i = 0; i < RANDOM_PAGES; i++) {
		begin();
		for (unsigned tick = 0; tick < 2 * TIMEOUT_TICKS / 10; tick++) {
			for (size_t w = 0; w < sizeof(ledger[1]) / 4; w++)
				((uint32_t *)&ledger[1])[w] = (uint32_t)random();
			if (i & 1)
				ledger[1].kernel.magic = LEDGER_MAGIC;
			if (i & 2)
				ledger[1].kernel.state = LEDGER_DYING;
			pass(1, 10 * TIMER_MS, ALL);
			CHECK(!watch_verdict(1) || is_sound(watch_verdict(1)));
		}
		CHECK(!watch_verdict(1) == !(i & 2));
	}
}

/* The next life of a cluster is watched when its manager's watcher is told of it, and not because its ledger says
 * so. */
static void lives(void)
{
	begin();
	ledger[1].kernel.state = LEDGER_DYING;
	pass(1, TIMER_MS, ALL);
	CHECK(watch_verdict(1) && watch_life(1) == 1 && !watch_is_another(1));
	ledger[1].kernel.life = 2;
	ledger[1].kernel.state = LEDGER_RUNNING;
	pass(1, TIMER_MS, ALL);
	CHECK(watch_verdict(1) && watch_is_another(1) && !watch_is_another(2));
	watch_again(1, 2);
	CHECK(watch_verdict(1) && watch_life(1) == 2 && !watch_is_back(1)); /* from the next tick on */
	pass(1, TIMER_MS, ALL);
	CHECK(!watch_verdict(1) && watch_is_back(1) && !watch_is_another(1));
	ledger[1].manager.magic = 0;
	CHECK(!watch_is_back(1));
	ledger[1].manager.magic = LEDGER_MAGIC;
	pass(CORE_MS / TIMER_MS + 2, TIMER_MS, 0);
	CHECK(watch_verdict(1) && watch_verdict(1)->reason == WATCH_STOPPED); /* it dies as others do */
}

int main(void)
{
	root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	ledger = test_place(ROOT_LEDGER_VADDR, CLUSTERS * sizeof(*ledger));
	if (!root || !ledger)
		return SKIPPED;
	root->tsc_hz = 1000;
	root->patience_ms = CORE_MS;
	root->ledger_count = CLUSTERS;
	test_map.cluster_count = CLUSTERS;
	for (uint32_t i = 0; i < CLUSTERS; i++) {
		root->ledger[i].cluster = i;
		test_map.cluster[i].number = i;
		test_map.cluster[i].cpu_count = CORES;
	}
	watch_init();
	CHECK(watched_count == CLUSTERS - 1);
	signs_end();
	end_apart();
	other_timeout();
	timeout();
	last_words();
	hostile_words();
	hostile_pages();
	lives();
	return failures != 0;
}
