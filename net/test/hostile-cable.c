/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "../port_end.h"
#include "hostile-cable.h"

static uint32_t chance(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static void lie(struct port_end *end, uint8_t server, uint8_t client)
{
	static const uint32_t lengths[] = { 0, 13, 14, 33, 54, 60, 1514, 1536, 1537, 0xffff, 0x10000, 0x7fffffff,
	                                    0xffffffff };
	uint8_t *frame;

	port_poll(end);
	frame = port_reserve(end);
	if (!frame)
		return;
	for (unsigned i = 0; i < 64; i++)
		frame[i] = (uint8_t)chance();
	memcpy(frame, (uint8_t[]){ 2, 0, 0, 0, 0, server, 2, 0, 0, 0, 0, client, 8, 0, 0x45 }, 15);
	frame[23] = 6;
	port_publish(end, lengths[chance() % (sizeof(lengths) / sizeof(*lengths))]);
}

void hostile_cable(struct network *network, void *cable, unsigned server, unsigned client)
{
	struct port_end end = cable_open(cable, PORT_FROM_SWITCH, layer_life);
	uint32_t *word = cable;
	_Atomic uint64_t *position = cable;

	for (unsigned i = 0; i < 60000; i++) {
		if (i < 20000)
			lie(&end, (uint8_t)server, (uint8_t)client);
		else if (i % 3)
			__atomic_store_n(&word[chance() % (CABLE_SIZE / 4)], i % 2 ? chance() : chance() % 2000,
			                 __ATOMIC_RELAXED);
		else /* indices close to what they are */
			atomic_fetch_add(&position[chance() % (PORT_BUFFERS / 8) & ~7u],
			                 (uint64_t)(int64_t)(int32_t)(chance() % 300 - 150));
		if (i % 16 == 0)
			sem_post(&network->wake[server]);
	}
}
