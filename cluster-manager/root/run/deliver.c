/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the mailbox: an order is executed, a report goes to the run, a text to the ports. */
#include "channel.h"
#include "console.h"
#include "deliver.h"
#include "loss-record.h"
#include "map.h"
#include "orders.h"
#include "power.h"
#include "state-recovery.h"
#include "cluster-restart.h"
#include "root.h"
#include "reports.h"
#include "signs.h"
#include "run.h"
#include "texts.h"
#include "writers.h"

enum { WORK_BUDGET = 32 /* messages that a call handles; loading a program is one */ };

static bool is_last;         /* the machine is to be switched off */
static uint32_t last_status;

void mail_then_power_off(uint32_t status)
{
	is_last = true;
	last_status = status;
}

/*
 * Returns whether the ports have room for the lines that a message of another cluster makes there. Unless it is known
 * to make none, a message needs room: each line waits where a port is behind, and this manager's thread with it.
 */
static bool has_room(uint32_t cluster, uint16_t type, size_t size)
{
	const size_t head = sizeof(struct about_application);
	switch (type) {
	case REPORT_CONSOLE:
	case REPORT_RESULT:
		return writers_came(cluster, size < head ? 0 : size - head);
	case REPORT_ARRIVED:
	case REPORT_SAMPLE_CORE:
	case REPORT_SAMPLE:
		return true;
	case REPORT_STATS_CORE:
	case REPORT_STATS:
	case REPORT_LOCKS:
	case REPORT_MEMORY:
		return writers_report_came(cluster, size, true);
	default:
		return writers_report_came(cluster, size, false);
	}
}

/* Orders come from the primary only, reports come to the primary only. Null, or what the sender did wrong. */
static const char *mail_take(const struct mail *mail)
{
	enum message_type type = (enum message_type)mail->type;
	bool is_report = type >= REPORT_BOOT;
	if (is_report && mail->kind == MAIL_PEER && is_primary() && !has_room(mail->cluster, mail->type, mail->size))
		return "sent more than the console and the results have room for";
	if (is_report ? is_primary() && report_take(mail->cluster, type, mail->body, mail->size)
		      : mail->cluster == map->primary && order_execute(type, mail->body, mail->size))
		return NULL;
	return "sent what it may not send so";
}

static void peer_lost(uint32_t cluster, const char *text)
{
	if (signs_are_spoilt()) /* this cluster failed: words that only it writes were overwritten; the others see it */
		return;
	if (!is_primary() && cluster == map->primary)
		writers_primary_lost();
	console_print("cluster %u is gone: %s", cluster, text);
	cluster_restart_lost(cluster);
	if (!is_primary() && cluster == map->primary && cluster_restart_is_pending(cluster)) {
		loss_record_primary(text);
		order_cluster_lost(cluster);
	}
	if (is_primary())
		run_cluster_lost(cluster, text);
	else if (cluster == map->primary && !cluster_restart_is_pending(cluster) && map->shutdown_when_done &&
	         map_cluster(map, ROOT->cluster)->devices)
		mail_then_power_off(1); /* no other cluster is left to order it */
}

static void deliver_one(const struct mail *mail)
{
	switch (mail->kind) {
	case MAIL_PEER_LOST:
		peer_lost(mail->cluster, mail->body);
		break;
	case MAIL_PEER_BACK:
		if (mail->cluster == map->primary)
			state_recovery_report();
		break;
	case MAIL_PEER: {
		const char *wrong = mail_take(mail);
		if (wrong)
			channel_complain(mail->cluster, wrong);
		break;
	}
	default:
		if (mail->type == REPORT_CONSOLE) /* a line of this manager's own (console.h) */
			text_pass(REPORT_CONSOLE, ABOUT_MANAGER, mail->body, mail->size);
		else
			mail_take(mail); /* a stale one, such as a report of a program that is gone, has no effect */
	}
}

/* A full mailbox is no reason to hang: the run ends with a verdict where an order or report of its own is lost. */
static void check_lost(void)
{
	bool harmful;
	uint32_t lost = mailbox_lost(&harmful);
	if (!lost)
		return;
	console_print("%u messages of this manager to itself were lost: its mailbox was full", lost);
	if (harmful && is_primary())
		run_happened(RUN_EVENT_MAIL_LOST, 0, 0);
}

bool mail_deliver(void)
{
	struct mail mail;
	check_lost();
	for (unsigned i = 0; i < WORK_BUDGET; i++) {
		if (!mailbox_take(&mail)) {
			if (is_last)
				power_off(last_status);
			is_last = false;
			return false;
		}
		deliver_one(&mail);
	}
	return true;
}
