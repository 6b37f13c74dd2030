/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include <string.h>
#include <skerry/mark.h>
#include "life.h"
#include "map.h"
#include "orders.h"
#include "ports.h"
#include "power.h"
#include "root.h"
#include "sample.h"
#include "stats.h"
#include "waiters.h"
#include "writers.h"

static enum application_fate fate[MAP_MAX_APPLICATIONS];
static uint32_t released;
static bool is_over;

enum application_fate application_fate(uint32_t application) { return fate[application]; }
uint32_t barrier_released(void) { return released; }
bool run_is_over(void) { return is_over; }

/* Statistics are taken first and sent last, so that all waiters go on at once. Between the first two barriers a load
 * runs. */
static void barrier_release(uint32_t barrier)
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

static void run_finish(void)
{
	is_over = true;
	if (is_primary())
		MARK(9);
	stats_take(STATS_END);
	stats_report();
	memory_report();
}

static bool execute_about(enum message_type type, uint32_t application, uint32_t value)
{
	if (type == ORDER_START)
		return life_start(application);
	if (fate[application] == FATE_GONE)
		return true;
	fate[application] = type == ORDER_SERVING ? FATE_SERVING : type == ORDER_DOWN ? FATE_PENDING : FATE_GONE;
	if (type == ORDER_GONE || (type == ORDER_DOWN && value == DOWN_LOST))
		ports_ended(application);
	if (type == ORDER_DOWN)
		return true; /* it will be started again: its waiters go on waiting */
	waiters_wake(WAIT_SERVING, application, type == ORDER_SERVING ? SKERRY_OK : SKERRY_PEER_DOWN);
	return true;
}

void order_cluster_lost(uint32_t cluster)
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (map->application[i].cluster == cluster)
			execute_about(ORDER_DOWN, i, DOWN_LOST);
}

bool order_execute(enum message_type type, const void *body, size_t size)
{
	struct about_application about;
	uint32_t barrier, status;
	switch (type) {
	case ORDER_START:
		if (is_primary())
			MARK(0);
		/* fall through */
	case ORDER_SERVING:
	case ORDER_GONE:
	case ORDER_DOWN:
		if (size != sizeof(about))
			return false;
		memcpy(&about, body, sizeof(about));
		return about.application < map->application_count &&
		       execute_about(type, about.application, about.value);
	case ORDER_RELEASE:
		if (size != sizeof(barrier))
			return false;
		memcpy(&barrier, body, sizeof(barrier));
		barrier_release(barrier);
		return true;
	case ORDER_RELEASED:
		if (size != sizeof(released))
			return false;
		memcpy(&released, body, sizeof(released));
		return true;
	case ORDER_WRITTEN: {
		uint32_t bytes;
		if (size != sizeof(bytes))
			return false;
		memcpy(&bytes, body, sizeof(bytes));
		writers_written(bytes);
		return true;
	}
	case ORDER_SAMPLE: {
		uint32_t number;
		if (size != sizeof(number))
			return false;
		memcpy(&number, body, sizeof(number));
		sample_report(number);
		return true;
	}
	case ORDER_FINISH:
		if (size != 0)
			return false;
		run_finish();
		return true;
	case ORDER_POWER_OFF:
		if (size != sizeof(status))
			return false;
		memcpy(&status, body, sizeof(status));
		if (map_cluster(map, ROOT->cluster)->devices)
			power_off(status);
		return true;
	default:
		return false;
	}
}
