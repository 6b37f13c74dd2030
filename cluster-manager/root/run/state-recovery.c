/* SPDX-License-Identifier: BSD-2-Clause */
#include "life.h"
#include "loss-record.h"
#include "map.h"
#include "orders.h"
#include "state-recovery.h"
#include "report.h"
#include "root.h"

/* Reports all of its own programs, and those of the primary's that have ended, which no other cluster knows. */
static void report_application(uint32_t application)
{
	uint32_t cluster = map->application[application].cluster;
	struct report_life body = { .application = application };
	if (cluster == ROOT->cluster)
		body = life_of(application);
	if (application_fate(application) == FATE_GONE)
		body.state = LIFE_GONE;
	if ((cluster == ROOT->cluster || cluster == map->primary) && body.state != LIFE_NONE)
		report(REPORT_LIFE, &body, sizeof(body));
}

void state_recovery_report(void)
{
	struct report_recovery end = loss_record_take();
	report_boot(true);
	for (uint32_t i = 0; i < map->application_count; i++)
		report_application(i);
	end.released = barrier_released();
	end.is_over = run_is_over();
	report(REPORT_RECOVERY, &end, sizeof(end));
}
