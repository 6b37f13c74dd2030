/* SPDX-License-Identifier: BSD-2-Clause */
#include "counted.h"
#include <stdio.h>

typedef unsigned long long number; /* of printf */

static const char *const classes[LOCK_CLASSES] = { "kernel", "read", "write", "tcb", "endpoint", "notification", "run_queue" };
static const char *const causes[ABORT_CAUSES] = { "explicit", "capacity", "conflict", "debug", "nested", "retry", "other" };

void counted_read(struct core_stat *sum, const struct pair *pairs, uint64_t pair_size, unsigned cores)
{
	*sum = (struct core_stat){ 0 };
	for (unsigned c = 0; c < cores; c++) {
		const struct pair *pair = (const struct pair *)((const char *)pairs + c * pair_size);
		const uint64_t *word = (const uint64_t *)pair->cpu->own.stat;
		for (unsigned i = 0; i < sizeof(*sum) / 8; i++)
			((uint64_t *)sum)[i] += word[i];
	}
}

void counted_print(const struct counted *counted)
{
	struct core_stat of;
	for (unsigned i = 0; i < sizeof(of) / 8; i++)
		((uint64_t *)&of)[i] = ((const uint64_t *)&counted->after)[i] - ((const uint64_t *)&counted->before)[i];
	if (!of.entries)
		return;
	printf(",\"counted\":{\"entries\":%llu,\"locks\":{", (number)of.entries);
	for (unsigned i = 0, shown = 0; i < LOCK_CLASSES; i++) {
		const struct lock_stat *lock = &of.lock[i];
		if (lock->grabs)
			printf("%s\"%s\":{\"grabs\":%llu,\"conflicts\":%llu,\"spins\":%llu,\"wait\":%llu,\"hold\":%llu}", shown++ ? "," : "",
			       classes[i], (number)lock->grabs, (number)lock->conflicts, (number)lock->spins, (number)lock->wait,
			       (number)lock->hold);
	}
	printf("},\"transactions\":{\"begun\":%llu,\"committed\":%llu,\"fallbacks\":%llu,\"aborted\":{",
	       (number)of.transactions.begun, (number)of.transactions.committed, (number)of.transactions.fallbacks);
	for (unsigned i = 0; i < ABORT_CAUSES; i++)
		printf("%s\"%s\":%llu", i ? "," : "", causes[i], (number)of.transactions.aborted[i]);
	printf("}}}");
}
