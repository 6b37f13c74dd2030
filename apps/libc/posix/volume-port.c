/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's end of the file ports (skerry/file_port.h). */
#include <errno.h>
#include <string.h>
#include "platform.h"
#include "volume.h"

static struct {
	bool greeted;   /* the server has forgotten a former life */
	uint64_t asked; /* number of the last request */
} state[PROCESS_MAX_VOLUMES];

static struct file_port *port_of(unsigned volume)
{
	require(volume && volume <= platform_info()->volume_count);
	return platform_volume(volume - 1);
}

/* Waits until the server has answered or ended. A signal that is late ends a wait early: so look again. */
static long exchange(unsigned volume, struct file_request *request, struct file_answer *answer)
{
	struct file_port *port = port_of(volume);
	const uint64_t number = ++state[volume - 1].asked;

	request->life = platform_info()->life;
	memcpy(&port->request, request, sizeof(*request));
	file_port_ask(port, number);
	platform_volume_ask(volume - 1);
	while (!file_port_is_answered(port, number)) {
		if (atomic_load_explicit(&port->gone, memory_order_acquire))
			return -EIO;
		platform_volume_wait(volume - 1);
	}
	memcpy(answer, &port->answer, sizeof(*answer));
	return answer->status > 0 || answer->status < -4095 ? -EIO : answer->status;
}

static long greet(unsigned volume)
{
	struct file_request hello = { .operation = FILE_HELLO, .handle = FILE_PORT_VERSION };
	struct file_answer answer;

	state[volume - 1].asked = platform_info()->life;
	const long error = exchange(volume, &hello, &answer);
	state[volume - 1].greeted = !error;
	return error;
}

long volume_ask(unsigned volume, struct file_request *request, struct file_answer *answer)
{
	struct file_answer own;

	require(layer_is_locked() && state[volume - 1].greeted);
	return exchange(volume, request, answer ? answer : &own);
}

/* Only when the server has forgotten a former life does it leave the data area alone. */
char *volume_data(unsigned volume)
{
	require(layer_is_locked());
	return state[volume - 1].greeted || !greet(volume) ? file_port_data(port_of(volume)) : 0;
}
