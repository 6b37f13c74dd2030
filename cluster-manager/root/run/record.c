/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/stat_read.h>
#include "map.h"
#include "record.h"
#include "root.h"
#include "vspace.h"

static const size_t head = offsetof(struct report_record, word);

uint32_t record_cores(void) { return ROOT->cpu_count; }

const struct core_stat *record_read(uint32_t core)
{
	static struct core_stat one;
	one = (struct core_stat){ 0 }; /* what a core has not counted is not read */
	stat_read((const volatile struct core_stat *)ROOT_STAT_VADDR + core, &one, read_tsc);
	return &one;
}

size_t record_make(struct report_brief *report, uint32_t number, uint32_t core, const struct core_stat *stat)
{
	report->number = number;
	report->core = core;
	return head + stat_pack(report->word, stat, true) * sizeof(report->word[0]);
}

bool records_open(struct records *records, uint32_t place)
{
	if (!records->core)
		records->core = own_memory(map->cluster[place].cpu_count * sizeof(struct sample_core));
	return records->core != NULL;
}

const char *records_take(struct records *records, bool awaited, uint32_t place, const struct report_record *report,
                         size_t size)
{
	static struct core_stat unpacked;
	const struct map_cluster *cluster = &map->cluster[place];
	const size_t words = (size - head) / sizeof(report->word[0]);
	if (size < head || size % sizeof(report->word[0]))
		return "sent a record of counters that is cut off";
	if (report->core >= cluster->cpu_count)
		return "sent a record of counters of a core that it has not";
	const char *wrong = stat_unpack(&unpacked, report->word, words, true);
	if (wrong || !awaited)
		return wrong;
	struct sample_core *core = &records->core[report->core];
	core->cpu = cluster->cpu[report->core];
	core->words = (uint32_t)words;
	memcpy(core->word, report->word, words * sizeof(core->word[0]));
	boot_cores_add(&records->came, report->core);
	return NULL;
}

bool records_complete(const struct records *records, uint32_t place)
{
	return boot_cores_count(&records->came) == map->cluster[place].cpu_count;
}
