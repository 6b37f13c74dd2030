/* SPDX-License-Identifier: BSD-2-Clause */
/* Other clusters that run the same program: all begin and end what is measured together. */
#include "stress.h"

enum { DOORBELL = 0 };

static uint64_t bell[BOOT_MAX_CHANNELS], heard[BOOT_MAX_CHANNELS];

void clusters_init(void)
{
	for (unsigned i = 0; i < ROOT->channel_count; i++) {
		heard[i] = object(OBJECT_NOTIFICATION, 0);
		check_ok(channel_listen(IPC, ROOT_SLOT_CHANNEL + i, DOORBELL, 0, heard[i]));
		bell[i] = slot();
		check_ok(cnode_mint(IPC, ROOT_SLOT_CNODE, bell[i], ROOT_SLOT_CNODE, ROOT_SLOT_CHANNEL + i, RIGHT_WRITE,
		                    DOORBELL));
	}
}

/* The first cluster has a channel to each other one; of these each has its first channel to the first cluster. */
void clusters_meet(void)
{
	const unsigned met = ROOT->cluster ? 1 : ROOT->channel_count;

	for (unsigned i = 0; ROOT->cluster && i < met; i++)
		check_ok(notification_signal(bell[i]));
	for (unsigned i = 0; i < met; i++)
		check_ok(notification_wait(heard[i], 0, 0));
	for (unsigned i = 0; !ROOT->cluster && i < met; i++)
		check_ok(notification_signal(bell[i]));
}
