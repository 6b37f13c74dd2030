/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/process.h>
#include "family-record.h"
#include "map.h"
#include "root.h"

enum { ALARM = 14, CHILD = 17, CONTINUE = 18, STOP = 19, TERMINAL_STOP = 20, TERMINAL_INPUT = 21,
       TERMINAL_OUTPUT = 22 };
enum { CODE_KERNEL = 0x80, CODE_STOPPED = 5, CODE_CONTINUED = 6 }; /* si_code */

static inline uint64_t bit(uint32_t number) { return 1ull << (number - 1); }

static uint64_t stops(void) { return bit(STOP) | bit(TERMINAL_STOP) | bit(TERMINAL_INPUT) | bit(TERMINAL_OUTPUT); }

static struct member *member_alive(struct family *f, uint32_t pid)
{
	for (unsigned i = 0; i < PROCESS_MEMBERS; i++)
		if (f->member[i].pid == pid && (i == 0 || f->member[i].life == MEMBER_RUNS))
			return &f->member[i];
	return NULL;
}

/* Returns whether no member of the group has a parent in another group of its session (POSIX, 3.264). */
static bool is_orphaned(struct family *f, uint32_t group)
{
	for (unsigned i = 1; i < PROCESS_MEMBERS; i++) {
		const struct member *m = &f->member[i];
		const struct member *parent = m->life == MEMBER_RUNS && m->in.group == group && m->parent
			? member_alive(f, m->parent) : NULL;
		if (parent && parent->in.session == m->in.session && parent->in.group != group)
			return false;
	}
	return true;
}

static bool is_sent(const struct inbox *b, uint32_t number)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->signal[i].number == number)
			return true;
	return false;
}

int family_may_stop(uint32_t application, uint32_t place, uint32_t number)
{
	struct family *f = family[application];
	if (!f || !number || number > TERMINAL_OUTPUT || !(stops() & bit(number)))
		return -SKERRY_BAD_ARGUMENT;
	const struct member *m = &f->member[place];
	return is_sent(&m->inbox, CONTINUE) || (number != STOP && is_orphaned(f, m->in.group)) ? -SKERRY_NO_RIGHTS : 0;
}

void family_stop(uint32_t application, uint32_t place, uint32_t number)
{
	struct member *m = &family[application]->member[place];
	m->inbox.stopped = number;
	m->change = number << 8 | STATUS_STOPPED;
}

bool family_clears(uint32_t application, uint32_t to, uint32_t number)
{
	struct member *m = &family[application]->member[to];
	if (number != CONTINUE) {
		if (number && number <= TERMINAL_OUTPUT && stops() & bit(number))
			inbox_drop(&m->inbox, bit(CONTINUE));
		return false;
	}
	inbox_drop(&m->inbox, stops());
	if (!m->inbox.stopped)
		return false;
	m->inbox.stopped = 0;
	m->change = STATUS_CONTINUED;
	return true;
}

int family_tell(uint32_t application, uint32_t place)
{
	struct family *f = family[application];
	const struct member *m = &f->member[place];
	struct member *parent = m->parent ? member_alive(f, m->parent) : NULL;
	if (!parent)
		return -1;
	const uint32_t stopped = m->inbox.stopped;
	if (!parent->inbox.drops_stops)
		inbox_put(&parent->inbox, &(struct sent_signal){
			.number = CHILD, .sender = m->pid, .code = stopped ? CODE_STOPPED : CODE_CONTINUED,
			.value = stopped ? stopped : CONTINUE });
	return (int)(parent - f->member);
}

/* --- alarms --- */

int family_alarm(uint32_t application, uint32_t place, struct alarm next, struct alarm *before)
{
	const uint64_t now = read_tsc();
	if (!family[application])
		return -SKERRY_NOT_FOUND;
	struct alarm *alarm = &family[application]->member[place].alarm;
	*before = (struct alarm){ !alarm->at ? 0 : alarm->at > now ? alarm->at - now : 1, alarm->each };
	*alarm = next;
	return 0;
}

uint32_t family_alarms(uint32_t application, uint64_t now)
{
	struct family *f = family[application];
	uint32_t places = 0;
	for (uint32_t i = 0; f && i < PROCESS_MEMBERS; i++) {
		struct member *m = &f->member[i];
		if (!m->alarm.at || m->alarm.at > now || !family_runs(application, i))
			continue;
		inbox_put(&m->inbox, &(struct sent_signal){ .number = ALARM, .code = CODE_KERNEL });
		/* those that were missed meanwhile count as this one */
		m->alarm.at = m->alarm.each ? now + m->alarm.each - (now - m->alarm.at) % m->alarm.each : 0;
		places |= 1u << i;
	}
	return places;
}

uint64_t family_next_alarm(void)
{
	uint64_t next = 0;
	for (uint32_t a = 0; a < map->application_count; a++)
		for (uint32_t i = 0; family[a] && i < PROCESS_MEMBERS; i++) {
			const uint64_t at = family_runs(a, i) ? family[a]->member[i].alarm.at : 0;
			next = at && (!next || at < next) ? at : next;
		}
	return next;
}
