/* SPDX-License-Identifier: BSD-2-Clause */
#include "counted.h"
#include <stdbool.h>
#include <stdio.h>
#include "stat_fields.h"

typedef unsigned long long number; /* of printf */

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

/* Members of an object: the counters of a part of a record, and no maxima, of which a difference says nothing. */
static void print_members(const void *record, const struct stat_field *field, unsigned fields)
{
	const char *comma = "";
	for (; fields; field++, fields--)
		if (field->count == 1 && (field->kind == STAT_KIND_COUNT || field->kind == STAT_KIND_CYCLES)) {
			printf("%s\"%s\":%llu", comma, field->name, (number)((const uint64_t *)record)[field->word]);
			comma = ",";
		}
}

void counted_print(const struct counted *counted)
{
	struct core_stat of;
	for (unsigned i = 0; i < sizeof(of) / 8; i++)
		((uint64_t *)&of)[i] = ((const uint64_t *)&counted->after)[i] - ((const uint64_t *)&counted->before)[i];
	if (!of.entries)
		return;
	printf(",\"counted\":{");
	print_members(&of, stat_core_fields, STAT_LENGTH(stat_core_fields));
	printf(",\"locks\":{");
	for (unsigned i = 0, shown = 0; i < LOCK_CLASSES; i++) {
		if (!of.lock[i].acquisitions)
			continue;
		printf("%s\"%s\":{", shown++ ? "," : "", stat_class_names[i]);
		print_members(&of.lock[i], stat_lock_fields, STAT_LENGTH(stat_lock_fields));
		printf("}");
	}
	printf("},\"transactions\":{");
	print_members(&of.transactions, stat_transaction_fields, STAT_LENGTH(stat_transaction_fields));
	printf(",\"aborted\":{");
	for (unsigned i = 0; i < ABORT_CAUSES; i++)
		printf("%s\"%s\":%llu", i ? "," : "", stat_cause_names[i], (number)of.transactions.aborted[i]);
	printf("}}}");
}
