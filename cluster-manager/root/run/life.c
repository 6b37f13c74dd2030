/* SPDX-License-Identifier: BSD-2-Clause */
#include "life.h"
#include "map.h"
#include "process.h"
#include "report.h"
#include "root.h"
#include "sockets.h"
#include "waiters.h"
#include "writers.h"

static bool told[MAP_MAX_APPLICATIONS]; /* that it serves */

static bool start(uint32_t application)
{
	int error = process_start(application);
	if (error)
		report_about(REPORT_FAILED, application, (uint32_t)-error);
	else
		report_about(REPORT_STARTED, application, (uint32_t)(process_memory(application) / 1024));
	return !error;
}

bool life_start(uint32_t application)
{
	if (map->application[application].cluster != ROOT->cluster || process_started(application))
		return false;
	int peer = sockets_used(application) ? sockets_peer(application) : -1;
	if (peer >= 0 && process_started((uint32_t)peer))
		life_end((uint32_t)peer); /* what it knows of the sockets is the former life's */
	if (start(application) && peer >= 0)
		start((uint32_t)peer);
	return true;
}

void life_end(uint32_t application)
{
	process_kill(application);
	waiters_forget(application);
	writers_flush(application);
	told[application] = false;
}

void life_serving(uint32_t application)
{
	if (!told[application])
		report_about(REPORT_SERVING, application, 0);
	told[application] = true;
}
