/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of processes that stop, go on, or want to be sent an alarm; and their threads that look again. */
#include <skerry/require.h>
#include "family.h"
#include "family-stops.h"
#include "inbox.h"
#include "map.h"
#include "request.h"
#include "root.h"
#include "timer.h"

/*
 * Has the process take its signals, wherever its first thread is. Its threads that wait for a child ask again. So does
 * the writer of a text, which the manager keeps: else the text would be written twice.
 */
void member_interrupt(uint32_t application, uint32_t place)
{
	const struct inbox *inbox = family_inbox(application, place);
	if (!inbox || !inbox_is_due(inbox))
		return;
	waiters_wake(WAIT_CHILD, wait_key(application, place), 0);
	waiters_wake(WAIT_CONSOLE, application, 0);
	family_interrupt(application, place);
}

/* A child has ended, stopped or gone on: its parent's threads that wait look again. */
void child_changed(uint32_t application, int parent)
{
	if (parent < 0)
		return;
	waiters_wake(WAIT_CHILD, wait_key(application, (uint32_t)parent), 0);
	member_interrupt(application, (uint32_t)parent);
}

int request_stop(struct request *r)
{
	if (message_words(r->m.info) < 1)
		return -SKERRY_TRUNCATED;
	if (r->m.word[0] > UINT32_MAX)
		return -SKERRY_BAD_ARGUMENT;
	int error = family_may_stop(r->application, r->place, (uint32_t)r->m.word[0]);
	if (!error)
		error = request_keep(r, WAIT_STOPPED, wait_key(r->application, r->place));
	if (error)
		return error;
	family_stop(r->application, r->place, (uint32_t)r->m.word[0]);
	child_changed(r->application, family_tell(r->application, r->place));
	return 0;
}

void member_clears(uint32_t application, uint32_t to, uint32_t number)
{
	if (!family_clears(application, to, number))
		return;
	waiters_wake(WAIT_STOPPED, wait_key(application, to), 0);
	child_changed(application, family_tell(application, to));
}

int request_alarm(struct request *r, struct message *answer)
{
	struct alarm before;
	if (message_words(r->m.info) < 2)
		return -SKERRY_TRUNCATED;
	int error = family_alarm(r->application, r->place, (struct alarm){ r->m.word[0], r->m.word[1] }, &before);
	if (error)
		return error;
	timer_alarm(family_next_alarm());
	answer->word[0] = before.at;
	answer->word[1] = before.each;
	answer->info = message_info(0, 0, 2);
	return 0;
}

void alarms_tick(void)
{
	const uint64_t now = read_tsc();
	for (uint32_t application = 0; application < map->application_count; application++) {
		const uint32_t places = family_alarms(application, now);
		for (uint32_t place = 0; place < PROCESS_MEMBERS; place++)
			if (places >> place & 1)
				member_interrupt(application, place);
	}
	timer_alarm(family_next_alarm());
}
