/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <skerry/stat_view.h>
#include "stat_fields.h"

static void fields_add(void *to, const void *from, const struct stat_field *field, unsigned fields)
{
	for (; fields; field++, fields--)
		for (unsigned i = field->word; i < field->word + (unsigned)field->count; i++) {
			uint64_t *sum = (uint64_t *)to + i, of = ((const uint64_t *)from)[i];
			if (field->kind != STAT_KIND_MAX && field->kind != STAT_KIND_MOMENT)
				*sum += of;
			else if (field->kind == STAT_KIND_MAX && of > *sum)
				*sum = of;
		}
}

#define ADD(to, from, kind) fields_add(to, from, stat_##kind##_fields, STAT_LENGTH(stat_##kind##_fields))

void stat_add(struct core_stat *sum, const struct core_stat *of)
{
	sum->layout = STAT_LAYOUT;
	ADD(sum, of, core);
	ADD(&sum->transactions, &of->transactions, transaction);
	ADD(&sum->writers, &of->writers, writer);
	for (unsigned i = 0; i < LOCK_CLASSES; i++)
		ADD(&sum->lock[i], &of->lock[i], lock);
}

struct lock_stat stat_kernel_locks(const struct core_stat *stat)
{
	struct lock_stat sum = { 0 };
	for (unsigned i = LOCK_CLASS_KERNEL; i <= LOCK_CLASS_WRITE; i++)
		ADD(&sum, &stat->lock[i], lock);
	return sum;
}

/* Members of an object, each with its comma. */
static void members(struct text *t, const char *prefix, const void *record, const struct stat_field *field,
                    unsigned fields)
{
	for (; fields; field++, fields--) {
		bool counted = field->kind == STAT_KIND_COUNT || field->kind == STAT_KIND_CYCLES ||
		               field->kind == STAT_KIND_MAX;
		if (counted && field->count == 1)
			text_format(t, ",\"%s%s\":%lu", prefix, field->name, ((const uint64_t *)record)[field->word]);
	}
}

void stat_json_core(struct text *t, unsigned cpu, unsigned core, const struct core_stat *stat)
{
	const struct lock_stat lock = stat_kernel_locks(stat);
	text_format(t, "{\"cpu\":%u,\"core\":%u,\"tsc\":%lu,\"idle\":%lu,\"started\":%lu", cpu, core, stat->updated,
		    stat->idle_cycles, stat->started);
	members(t, "", stat, stat_core_fields + 1, STAT_LENGTH(stat_core_fields) - 1); /* idle_cycles is `idle` */
	members(t, "lock_", &lock, stat_lock_fields, STAT_LENGTH(stat_lock_fields));
	text_format(t, ",\"commits\":%lu}", stat->transactions.committed);
}

void stat_json_words(struct text *t, const struct core_stat *stat)
{
	const uint64_t *word = (const uint64_t *)stat;
	const char *comma = "";
	text_format(t, ",\"words\":[");
	for (unsigned i = 0; i < sizeof(*stat) / 8; i++) {
		if (!word[i])
			continue;
		text_format(t, "%s[%u,%lu]", comma, i, word[i]);
		comma = ",";
	}
	text_format(t, "]");
}
