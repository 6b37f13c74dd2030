/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/manager.h>
#include "family.h"
#include "platform.h"

/* Programs ask these, outside of any call of the layer: no signal makes them ask twice. */
static int ask_word(enum manager_request request, uint64_t word)
{
	calls_enter();
	const int error = platform_manager_word(request, word);
	calls_leave();
	return error;
}

static int ask_text(enum manager_request request, const char *text, uint64_t *answer)
{
	calls_enter();
	const int error = platform_manager_text(request, text, strlen(text), answer);
	calls_leave();
	return error;
}

const struct process_info *process_info(void) { return platform_info(); }

int manager_result(const char *json) { return ask_text(MANAGER_RESULT, json, 0); }
int manager_barrier(unsigned number) { return ask_word(MANAGER_BARRIER, number); }
int manager_serving(void) { return manager_listens(0); }
int manager_listens(uint16_t port) { return manager_listens_at(port, 0); }

enum { KEPT_MOST = 16 };

static struct {
	bool later;
	unsigned count;
	uint64_t word[KEPT_MOST];
} kept; /* between manager_listens_later() and manager_listens_now() */

int manager_listens_at(uint16_t port, uint32_t ipv4)
{
	const uint64_t word = (uint64_t)ipv4 << 32 | port;

	if (!kept.later)
		return ask_word(MANAGER_SERVING, word);
	if (kept.count < KEPT_MOST)
		kept.word[kept.count++] = word;
	return 0;
}

void manager_listens_later(void) { kept.later = true; }

void manager_listens_now(void)
{
	kept.later = false;
	for (; kept.count; kept.count--)
		ask_word(MANAGER_SERVING, kept.word[kept.count - 1]);
}

int manager_await(const char *name) { return ask_text(MANAGER_AWAIT, name, 0); }

int manager_sample(void) { return ask_word(MANAGER_SAMPLE, 0); }

int manager_sample_read(unsigned kind, unsigned index, unsigned core, void *record, size_t size)
{
	const uint64_t which[3] = { kind, index, core };

	calls_enter();
	const int error = platform_manager_record(MANAGER_SAMPLE_READ, which, record, size);
	calls_leave();
	return error;
}

int manager_lookup(const char *name, uint32_t *ipv4)
{
	uint64_t answer = 0;
	const int error = ask_text(MANAGER_LOOKUP, name, &answer);

	*ipv4 = (uint32_t)answer;
	return error;
}
