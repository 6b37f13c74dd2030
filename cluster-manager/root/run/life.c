/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/socket_address.h>
#include "family.h"
#include "life.h"
#include "listeners.h"
#include "map.h"
#include "move.h"
#include "process.h"
#include "report.h"
#include "root.h"
#include "sockets.h"
#include "waiters.h"
#include "writers.h"

static struct report_life life[MAP_MAX_APPLICATIONS]; /* `serving`: that was reported */
static struct listeners reported[MAP_MAX_APPLICATIONS]; /* a program that listens at more cannot fill the mailbox */

static bool life_begin(uint32_t application)
{
	int error = family_start(application);
	life[application] = (struct report_life){ .state = error ? LIFE_FAILED : LIFE_RUNS, .value = (uint32_t)-error };
	if (error)
		report_about(REPORT_FAILED, application, (uint32_t)-error);
	else
		report_about(REPORT_STARTED, application, (uint32_t)(family_memory(application) / 1024));
	if (!error)
		move_started(application);
	return !error;
}

bool life_start(uint32_t application)
{
	if (map->application[application].cluster != ROOT->cluster || process_started(application))
		return false;
	int peer = sockets_used(application) ? sockets_peer(application) : -1;
	if (peer >= 0 && process_started((uint32_t)peer))
		life_end((uint32_t)peer); /* what it knows of the sockets is the former life's */
	if (life_begin(application) && peer >= 0)
		life_begin((uint32_t)peer);
	return true;
}

void life_end(uint32_t application)
{
	family_kill(application);
	waiters_forget(application);
	writers_flush(application);
	life[application] = (struct report_life){ 0 };
	reported[application] = (struct listeners){ 0 };
}

void life_ended(uint32_t application, enum life_state how, uint32_t value)
{
	life[application] = (struct report_life){ .state = how, .value = value };
}

void life_arrived(uint32_t application, uint32_t barrier) { life[application].arrived = barrier; }

struct report_life life_of(uint32_t application)
{
	struct report_life current = life[application];
	current.application = application;
	return current;
}

void life_serving(uint32_t application, uint16_t port, uint32_t address)
{
	const bool serves = !ipv4_is_loopback(address);
	const struct report_serving body = { .application = application, .port = port, .address = address };
	if (listeners_note(&reported[application], (struct listener){ address, port }) ||
	    (serves && !life[application].serving))
		report(REPORT_SERVING, &body, sizeof(body));
	life[application].serving |= serves;
}
