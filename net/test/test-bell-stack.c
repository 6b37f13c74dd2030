/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bell word of a program with lwIP: it says that the program sleeps before the last look at each ring, and that it
 * is awake before all other looks; and a cable's far end is woken once for each sleep of its own. A switch in another
 * cluster finds the ring's flag instead.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../port_end.h"
#include "lab/lab.h"
#include "test.h"

enum { STACK, CABLED };

static struct port_end far_end; /* of the cable */
static struct file *file;
static unsigned looks;
static bool about_to_sleep, remote; /* remote: the switch is in another cluster */

static struct bell *word_of(unsigned place) { return (struct bell *)(lab.bell + place * BELL_SIZE); }

static void look(void)
{
	CHECK((word_of(STACK)->sleeps & 1) == about_to_sleep);
	looks++;
}

static void awake(void)
{
	about_to_sleep = false;
	net_poll();
	CHECK(!(word_of(STACK)->sleeps & 1));
}

static void asleep(void)
{
	about_to_sleep = true;
	net_prepare_sleep();
	CHECK(word_of(STACK)->sleeps & 1);
	CHECK(atomic_load(&port_ring(lab.port + STACK * PORT_SIZE, PORT_FROM_SWITCH)->wanted) == remote);
}

static void takes_turns(void)
{
	uint64_t rung = 0;

	for (unsigned i = 0; i < 3; i++) {
		looks = 0;
		awake();
		CHECK(looks >= 2); /* the port, and the cable */
		CHECK(!bell_rings(word_of(STACK), &rung));
		looks = 0;
		asleep();
		CHECK(looks >= 2);
		CHECK(bell_rings(word_of(STACK), &rung) && !bell_rings(word_of(STACK), &rung));
		asleep(); /* another thread of the program has looked at something else */
		CHECK(bell_rings(word_of(STACK), &rung));
	}
}

/* A packet by the cable; how often it wakes the far end. */
static unsigned send_packet(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7),
	                          .sin_addr.s_addr = address_of(CABLED) };
	struct iovec iov = { "packet", 6 };
	struct msghdr header = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1 };
	const unsigned before = lab.life[CABLED].wakes;
	uint32_t length;

	CHECK(file->ops->sendmsg(file, &header, 0) == 6);
	awake();
	CHECK(port_peek(&far_end, &length));
	port_release(&far_end);
	return lab.life[CABLED].wakes - before;
}

static void wakes(void)
{
	CHECK(send_packet() == 0);
	bell_arm(word_of(CABLED));
	CHECK(send_packet() == 1);
	CHECK(send_packet() == 0); /* it has been signalled already */
	bell_arm(word_of(CABLED));
	CHECK(send_packet() == 1);
	bell_awake(word_of(CABLED));
	CHECK(send_packet() == 0);
}

static void run(void)
{
	lab_cable(STACK, CABLED);
	lab_start(2);
	here = life_start(STACK);
	if (remote)
		here->host.switch_bell = NULL;
	far_end = cable_open(lab.cable[0], PORT_FROM_SWITCH, 2);
	far_end.bell = word_of(STACK);
	CHECK(socket_create(AF_INET, SOCK_DGRAM, 0, &file) == 0);
	while (!far_end.up || !lab.forward.port[STACK].end.up) {
		lab_pass(1);
		port_poll(&far_end);
	}
	net_poll();
	*here->calls->before_look = look;
	takes_turns();
	wakes();
}

int main(int count, char **arguments)
{
	int status;

	lab_begin(count, arguments);
	for (unsigned i = 0; i < 2; i++) {
		const pid_t pid = fork();

		remote = i;
		if (!pid) {
			run();
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
	return 0;
}
