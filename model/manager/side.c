/* SPDX-License-Identifier: BSD-2-Clause */
/* One manager's cluster-manager/root/link/channel.c (a copy, so that it finds our root.h), under names with
 * INSTANCE. */
#define JOIN_(name, instance) name##_##instance
#define JOIN(name, instance)  JOIN_(name, instance)
#define channels_init         JOIN(channels_init, INSTANCE)
#define channel_send          JOIN(channel_send, INSTANCE)
#define channel_send_line     JOIN(channel_send_line, INSTANCE)
#define channel_broadcast     JOIN(channel_broadcast, INSTANCE)
#define channels_work         JOIN(channels_work, INSTANCE)
#define channels_tick         JOIN(channels_tick, INSTANCE)
#define channels_heartbeat    JOIN(channels_heartbeat, INSTANCE)
#define channel_alive         JOIN(channel_alive, INSTANCE)
#define channel_complain      JOIN(channel_complain, INSTANCE)
#define channel_is_watched    JOIN(channel_is_watched, INSTANCE)
#define channel_lose          JOIN(channel_lose, INSTANCE)
#define channel_peer_life     JOIN(channel_peer_life, INSTANCE)

#include "manager-channel.h"
