/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "listeners.h"
#include "map.h"
#include "published.h"
#include "sockets.h"

static struct published {
	bool started;
	struct listeners listeners;
} published[MAP_MAX_APPLICATIONS];

void published_new_life(uint32_t application)
{
	require(application < MAP_MAX_APPLICATIONS);
	const int peer = sockets_peer(application);
	published[application] = (struct published){ 0 };
	if (peer >= 0)
		published[peer] = (struct published){ 0 };
}

bool published_start(uint32_t application)
{
	const bool first = !published[application].started;
	published[application].started = true;
	return first;
}

bool published_listener(uint32_t application, struct listener listener)
{
	return listeners_note(&published[application].listeners, listener);
}
