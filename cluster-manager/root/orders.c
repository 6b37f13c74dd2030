/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include <skerry/mark.h>
#include "orders.h"
#include "power.h"
#include "process.h"
#include "root.h"
#include "sample.h"
#include "stats.h"
#include "string.h"
#include "waiters.h"

static enum application_fate fate[MAP_MAX_APPLICATIONS];
static uint32_t released;

enum application_fate application_fate(uint32_t application) { return fate[application]; }
uint32_t barrier_released(void) { return released; }

static bool start(uint32_t application)
{
	if (map.application[application].cluster != ROOT->cluster || process_started(application))
		return false;
	int error = process_start(application);
	if (error)
		report_about(REPORT_FAILED, application, (uint32_t)-error);
	else
		report_about(REPORT_STARTED, application, (uint32_t)(process_memory(application) / 1024));
	return true;
}

/* Statistics are taken first and sent last, so that all who wait go at once. Between the first two barriers a load runs. */
static void release(uint32_t barrier)
{
	stats_take(barrier);
	if (is_primary() && barrier == 1)
		MARK(1);
	else if (is_primary() && barrier == 2)
		MARK(2);
	released = barrier;
	waiters_wake(WAIT_BARRIER, barrier, SKERRY_OK);
	stats_report();
}

static void finish(void)
{
	stats_take(STATS_END);
	stats_report();
	memory_report();
}

bool order_execute(enum message_type type, const void *body, size_t size)
{
	struct about_application about;
	uint32_t barrier, status;
	switch (type) {
	case ORDER_START:
	case ORDER_SERVING:
	case ORDER_GONE:
		if (size != sizeof(about))
			return false;
		memcpy(&about, body, sizeof(about));
		if (about.application >= map.application_count)
			return false;
		if (type == ORDER_START)
			return start(about.application);
		if (fate[about.application] == FATE_GONE)
			return true;
		fate[about.application] = type == ORDER_SERVING ? FATE_SERVING : FATE_GONE;
		waiters_wake(WAIT_SERVING, about.application, type == ORDER_SERVING ? SKERRY_OK : SKERRY_PEER_DOWN);
		return true;
	case ORDER_RELEASE:
		if (size != sizeof(barrier))
			return false;
		memcpy(&barrier, body, sizeof(barrier));
		release(barrier);
		return true;
	case ORDER_SAMPLE: {
		uint32_t number;
		if (size != sizeof(number))
			return false;
		memcpy(&number, body, sizeof(number));
		sample_report(number);
		return true;
	}
	case ORDER_FINISH:
		finish();
		return size == 0;
	case ORDER_POWER_OFF:
		if (size != sizeof(status))
			return false;
		memcpy(&status, body, sizeof(status));
		if (map_cluster(&map, ROOT->cluster)->devices)
			power_off(status);
		return true;
	default:
		return false;
	}
}
