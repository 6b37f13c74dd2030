/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's end of the file ports (skerry/file_port.h). */
#include <errno.h>
#include <string.h>
#include "platform.h"
#include "volume.h"

#ifndef LAYER_FAMILY
static struct {
	bool greeted;   /* the server has forgotten a former life */
	uint64_t asked; /* number of the last request */
} state[PROCESS_MAX_VOLUMES];

static bool is_greeted(unsigned volume) { return state[volume - 1].greeted; }
static void set_greeted(unsigned volume, bool greeted) { state[volume - 1].greeted = greeted; }
static uint64_t last_asked(unsigned volume) { return state[volume - 1].asked; }
static void set_asked(unsigned volume, uint64_t number) { state[volume - 1].asked = number; }
static void set_opening(unsigned volume, uint64_t number) { (void)volume, (void)number; }
static uint64_t volume_life(void) { return platform_info()->life; }
#else
static struct family_volume alone[PROCESS_MAX_VOLUMES]; /* of a program that is one process */

static struct family_volume *state_of(unsigned volume)
{
	return volume_is_shared() ? volume_shared(volume) : &alone[volume - 1];
}
static bool is_greeted(unsigned volume) { return family_get(&state_of(volume)->greeted); }
static void set_greeted(unsigned volume, bool greeted) { family_set(&state_of(volume)->greeted, greeted); }
static uint64_t last_asked(unsigned volume) { return family_get(&state_of(volume)->asked); }
static void set_asked(unsigned volume, uint64_t number) { family_set(&state_of(volume)->asked, number); }
static void set_opening(unsigned volume, uint64_t number) { family_set(&state_of(volume)->opening, number); }
#endif

static struct file_port *port_of(unsigned volume)
{
	require(volume && volume <= platform_info()->volume_count);
	return platform_volume(volume - 1);
}

static bool is_gone(const struct file_port *port) { return atomic_load_explicit(&port->gone, memory_order_acquire); }

/*
 * Rings the server and waits until it has answered the request or ended. A signal that is late ends a wait early: so
 * look again. Hazard: a wait for a server that has ended before. Nobody signals that again, so it is not rung.
 */
static bool ring(unsigned volume, uint64_t number)
{
	const struct file_port *port = port_of(volume);

	if (!is_gone(port))
		platform_volume_ask(volume - 1);
	while (!file_port_is_answered(port, number)) {
		if (is_gone(port))
			return false;
		platform_volume_wait(volume - 1);
	}
	return true;
}

static long exchange(unsigned volume, struct file_request *request, struct file_answer *answer)
{
	struct file_port *port = port_of(volume);
	const uint64_t number = last_asked(volume) + 1;

	request->life = volume_life();
	memcpy(&port->request, request, sizeof(*request));
	if (request->operation == FILE_OPEN)
		set_opening(volume, number);
	set_asked(volume, number);
	file_port_ask(port, number);
	if (!ring(volume, number))
		return -EIO;
	memcpy(answer, &port->answer, sizeof(*answer));
	return answer->status > 0 || answer->status < -4095 ? -EIO : answer->status;
}

static long greet(unsigned volume)
{
	struct file_request hello = { .operation = FILE_HELLO, .handle = FILE_PORT_VERSION };
	struct file_answer answer;

	if (last_asked(volume) < volume_life())
		set_asked(volume, volume_life());
	const long error = exchange(volume, &hello, &answer);
	set_greeted(volume, !error);
	return error;
}

long volume_ask(unsigned volume, struct file_request *request, struct file_answer *answer)
{
	struct file_answer own;

	require(layer_is_locked() && is_greeted(volume));
	return exchange(volume, request, answer ? answer : &own);
}

/* Only when the server has forgotten a former life does it leave the data area alone. */
char *volume_data(unsigned volume)
{
	require(layer_is_locked());
	return is_greeted(volume) || !greet(volume) ? file_port_data(port_of(volume)) : 0;
}

#ifdef LAYER_FAMILY

/* A number that its process could not pass on before it ended is no request. */
static bool is_asked(unsigned volume)
{
	return last_asked(volume) && file_port_asked(port_of(volume)) == last_asked(volume);
}

/* The process that asked may have ended before it could ring: the server is rung again. */
void volume_settle(unsigned volume)
{
	if (is_asked(volume) && !file_port_is_answered(port_of(volume), last_asked(volume)))
		ring(volume, last_asked(volume));
}

bool volume_last_answer(unsigned volume, struct file_answer *answer)
{
	if (!is_asked(volume) || !file_port_is_answered(port_of(volume), last_asked(volume)))
		return false;
	memcpy(answer, &port_of(volume)->answer, sizeof(*answer));
	return !answer->status;
}

#endif
