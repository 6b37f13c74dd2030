/* SPDX-License-Identifier: BSD-2-Clause */
/* The sockets with data that lwIP has not been asked to send yet, in the order of their first write. */
#include <skerry/require.h>
#include "socket.h"

static struct socket *unsent_first, **unsent_end = &unsent_first;

void unsent_put(struct socket *socket)
{
	if (socket->unsent)
		return;
	require(socket->pcb && !*unsent_end);
	socket->unsent = true;
	socket->next_unsent = NULL;
	*unsent_end = socket; /* in order: the first may have its data in the ring's next slot already */
	unsent_end = &socket->next_unsent;
}

void unsent_remove(struct socket *socket)
{
	struct socket **link = &unsent_first;

	if (!socket->unsent)
		return;
	while (*link != socket) {
		require(*link);
		link = &(*link)->next_unsent;
	}
	*link = socket->next_unsent;
	if (!*link)
		unsent_end = link;
	socket->unsent = false;
}

struct socket *unsent_take(void)
{
	struct socket *socket = unsent_first;

	if (!socket)
		return NULL;
	require(socket->unsent && socket->pcb);
	unsent_first = socket->next_unsent;
	if (!unsent_first)
		unsent_end = &unsent_first;
	socket->unsent = false;
	return socket;
}
