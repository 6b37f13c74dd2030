/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include <skerry/span.h>
#include "ranges.h"

static uint64_t end_of(const struct boot_range *r)
{
	return r->base + r->size;
}

static void delete_at(struct ranges *set, uint32_t i)
{
	require(i < set->count && set->count <= RANGES_MAX);
	set->count--;
	for (; i < set->count; i++)
		set->at[i] = set->at[i + 1];
}

static bool insert_at(struct ranges *set, uint32_t i, uint64_t base, uint64_t size)
{
	if (set->count == RANGES_MAX) {
		set->lost += size;
		return false;
	}
	require(size && i <= set->count && base <= UINT64_MAX - size);
	require(!i || end_of(&set->at[i - 1]) < base);
	require(i == set->count || base + size < set->at[i].base);
	for (uint32_t j = set->count; j > i; j--)
		set->at[j] = set->at[j - 1];
	set->at[i] = (struct boot_range){ base, size };
	set->count++;
	return true;
}

void ranges_add(struct ranges *set, uint64_t base, uint64_t size)
{
	uint64_t end = base + size;
	uint32_t i = 0;

	if (end <= base)
		return;
	while (i < set->count && end_of(&set->at[i]) < base)
		i++;
	while (i < set->count && set->at[i].base <= end) { /* touches: take it in */
		if (set->at[i].base < base)
			base = set->at[i].base;
		if (end_of(&set->at[i]) > end)
			end = end_of(&set->at[i]);
		delete_at(set, i);
	}
	insert_at(set, i, base, end - base);
}

void ranges_remove(struct ranges *set, uint64_t base, uint64_t size)
{
	uint64_t end = base + size;

	if (end <= base)
		end = size == 0 ? base : UINT64_MAX;
	for (uint32_t i = 0; i < set->count;) {
		uint64_t low = set->at[i].base, high = end_of(&set->at[i]);

		if (high <= base || low >= end) {
			i++;
			continue;
		}
		delete_at(set, i);
		if (low < base)
			insert_at(set, i++, low, base - low);
		if (high > end && insert_at(set, i, end, high - end))
			i++;
	}
}

uint64_t ranges_common(const struct ranges *set, uint64_t base, uint64_t size)
{
	uint64_t common = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		uint64_t low = set->at[i].base, high = end_of(&set->at[i]);

		if (low < base)
			low = base;
		if (high > base + size)
			high = base + size;
		if (low < high)
			common += high - low;
	}
	return common;
}

void ranges_trim(struct ranges *set, uint64_t align)
{
	require(align && !(align & (align - 1)));
	for (uint32_t i = 0; i < set->count;) {
		uint64_t low = round_up(set->at[i].base, align), high = round_down(end_of(&set->at[i]), align);

		if (low < high)
			set->at[i++] = (struct boot_range){ low, high - low };
		else
			delete_at(set, i);
	}
}

bool ranges_find(const struct ranges *set, const struct ranges *avoid, uint64_t size, uint64_t align,
		 uint64_t *base)
{
	require(size && align && !(align & (align - 1)));
	for (uint32_t i = set->count; i-- > 0;) {
		uint64_t top = end_of(&set->at[i]);

		while (top >= set->at[i].base + size) {
			uint64_t at = round_down(top - size, align);
			uint64_t obstacle = 0;

			if (at < set->at[i].base)
				break;
			for (uint32_t j = 0; j < avoid->count && obstacle == 0; j++)
				if (avoid->at[j].base < at + size && end_of(&avoid->at[j]) > at)
					obstacle = avoid->at[j].base + 1;
			if (obstacle == 0) {
				*base = at;
				return true;
			}
			top = obstacle - 1;
		}
	}
	return false;
}

void ranges_keep_largest(struct ranges *set, uint32_t count)
{
	while (set->count > count) {
		uint32_t smallest = 0;

		for (uint32_t i = 1; i < set->count; i++)
			if (set->at[i].size < set->at[smallest].size)
				smallest = i;
		delete_at(set, smallest);
	}
}

uint64_t ranges_total(const struct ranges *set)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < set->count; i++)
		total += set->at[i].size;
	return total;
}
