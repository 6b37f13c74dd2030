/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cables between stacks: frames go there and not through the switch; a far end
 * that dies, starts again, takes nothing, or writes what it likes: programs of a lab.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include "../port_end.h"
#include "lab/lab.h"
#include "test.h"

enum { SERVER, CLIENT, HOSTILE, OUTSIDER, SPEAKER, LAST_WORDS = 3000, SPEAKER_PORT = 7000, MANY = 200 };

static _Atomic bool hostile_ends;
static unsigned reached; /* how often scenarios have come to where the test acts */

/* --- programs --- */

static void await_reached(unsigned count)
{
	while (reached < count)
		lab_turn();
	reached = 0;
}

static void passed(struct life *program, const char *name)
{
	const unsigned place = program->host.number;

	program_finish(program, name);
	life_end(place);
}

/* Until the switch knows this life of the server: before, it answers connections that do not take the cable with a
 * reset. What it knows of the life before may stand there until then. */
static struct life *start_server(void)
{
	struct life *server = program_start(SERVER, server_run);
	const struct port_end *end = &lab.forward.port[SERVER].end;

	program_finish(server, "a server");
	while (end->seen != server->host.info.life || !end->up)
		lab_turn();
	return server;
}

static uint64_t by_switch(unsigned port)
{
	return lab.forward.port[port].frames + lab.forward.port[port].delivered;
}

/* --- scenarios --- */

/* A first segment or two may go through the switch. */
static void frames_take_the_cable(unsigned port)
{
	uint64_t before = by_switch(port);
	struct file *file = connect_server();

	for (uint32_t size = 1; size < 300000; size = size * 3 + 1)
		echo(file, size, size);
	CHECK(by_switch(port) - before < 10);
	close_file(file);
}

static void cable(void) { frames_take_the_cable(CLIENT); }

/* A thread that sleeps again and again names the same deadline while the same timer stands, however late it asks. */
static void deadline_stands(void)
{
	struct file *file = connect_server();
	unsigned same = 0;

	for (unsigned i = 0; i < 10 && !same; i++) { /* again where the timer was due meanwhile */
		uint64_t deadline;

		net_poll();
		deadline = net_deadline();
		lab_wait(2);
		same = net_deadline() == deadline;
	}
	CHECK(same);
	close_file(file);
}

/* Data that was read by MSG_PEEK stays the same, though the far end overwrites it: also where it is on loan. */
static void looked_at(void)
{
	enum { SIZE = 1400 };
	struct file *file = connect_server();
	char bytes[SIZE], seen[SIZE], in[SIZE];
	struct iovec iov = { seen, SIZE };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	echo(file, 1, 1); /* from now on there is a cable */
	fill(bytes, SIZE, 7);
	request(file, REQUEST_ECHO, SIZE);
	CHECK(write_all(file, bytes, SIZE) == SIZE);
	while (file->ops->recvmsg(file, &message, MSG_PEEK) != SIZE)
		program_wait(0);
	CHECK(!memcmp(seen, bytes, SIZE));
	memset((char *)lab.cable[0] + PORT_BUFFERS, 0x5a, 2 * CABLE_SLOTS * PORT_BUFFER);
	CHECK(read_all(file, in, SIZE) == SIZE && !memcmp(in, bytes, SIZE));
	close_file(file);
}

static void no_cable(void)
{
	uint64_t before = by_switch(OUTSIDER);
	struct file *file = connect_server();

	echo(file, 100000, 1);
	CHECK(by_switch(OUTSIDER) - before > 100);
	close_file(file);
}

/* Requests of more connections than the cable has slots, while the server stands still. */
static void full(void)
{
	struct file *file[MANY];
	char bytes[MANY][100], in[100];

	for (unsigned i = 0; i < MANY; i++) {
		file[i] = connect_server();
		fill(bytes[i], sizeof(bytes[i]), i);
	}
	program_pause();
	for (unsigned i = 0; i < MANY; i++) {
		request(file[i], REQUEST_ECHO, sizeof(bytes[i]));
		CHECK(write_all(file[i], bytes[i], sizeof(bytes[i])) == sizeof(bytes[i]));
	}
	for (unsigned i = 0; i < 10; i++)
		net_poll();
	reached++;
	for (unsigned i = 0; i < MANY; i++) {
		CHECK(read_all(file[i], in, sizeof(in)) == sizeof(in) && !memcmp(in, bytes[i], sizeof(in)));
		close_file(file[i]);
	}
}

/* The server dies, on connections on which nothing is under way, and comes again. No timer helps. */
static void death(void)
{
	struct file *idle = connect_server(), *used = connect_server();
	int error;
	char byte;

	echo(used, 1000, 1);
	here->host.still = true;
	reached++;
	CHECK(read_some(idle, &byte, 1) == -ECONNRESET && read_some(used, &byte, 1) == -ECONNRESET);
	CHECK(!connect_to(address_of(SERVER), SERVER_PORT, &error) && error == ECONNREFUSED);
	close_file(idle);
	close_file(used);
	program_pause();
	frames_take_the_cable(CLIENT);
}

/* The server dies with the request to connect in its ring. */
static void connecting(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
	                          .sin_addr.s_addr = address_of(SERVER) };
	struct file *file = connect_server(); /* from now on there is a cable */
	uint64_t before;

	echo(file, 1, 1);
	program_pause();
	here->host.still = true;
	before = by_switch(CLIENT);
	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file) == 0);
	CHECK(file->ops->connect(file, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
	net_poll();
	CHECK(by_switch(CLIENT) == before);
	reached++;
	while (!(file->ready & (EPOLLOUT | EPOLLERR)))
		program_wait(0);
	CHECK(pending_error(file) == ECONNREFUSED);
}

static bool says_goodbye;

/* Writes and ends, with or without the connection's end. */
static void speak(void)
{
	struct file *listener = listen_at(SPEAKER_PORT, 5), *file;
	char bytes[LAST_WORDS];

	reached++;
	while (!(listener->ready & EPOLLIN))
		program_wait(0);
	CHECK(listener->ops->accept(listener, &file, NULL, NULL) == 0);
	while (!(file->ready & EPOLLIN)) /* the listener is awake */
		program_wait(0);
	fill(bytes, sizeof(bytes), 5);
	CHECK(write_all(file, bytes, sizeof(bytes)) == sizeof(bytes));
	if (says_goodbye)
		file->ops->shutdown(file, SHUT_WR);
	net_poll();
	program_vanish();
}

static void listen_to_the_last(void)
{
	int error;
	char bytes[LAST_WORDS], in[LAST_WORDS + 1];
	struct file *file = connect_to(address_of(SPEAKER), SPEAKER_PORT, &error);

	CHECK(file && write_all(file, "x", 1) == 1);
	net_poll();
	program_pause(); /* until it has written, and is no more */
	here->host.still = true;
	fill(bytes, sizeof(bytes), 5);
	CHECK(read_all(file, in, LAST_WORDS) == LAST_WORDS && !memcmp(in, bytes, LAST_WORDS));
	CHECK(read_some(file, in, 1) == (says_goodbye ? 0 : -ECONNRESET));
}

/* --- beside a hostile far end --- */

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

/*
 * The far end of a server's cable: frames that lie, in a client's name, then every word of the cable's head and
 * buffers. A thread, so that the server finds them written while it reads.
 */
static void *hostile_cable(void *cable)
{
	struct port_end end = cable_open(cable, PORT_FROM_SWITCH, lab.lives += 2);
	uint32_t *word = cable;
	_Atomic uint64_t *position = cable;

	for (unsigned i = 0; i < 60000; i++) {
		if (i < 20000)
			lie(&end, SERVER, CLIENT);
		else if (i % 3)
			__atomic_store_n(&word[chance() % (CABLE_SIZE / 4)], i % 2 ? chance() : chance() % 2000,
			                 __ATOMIC_RELAXED);
		else /* indices close to what they are */
			atomic_fetch_add(&position[chance() % (PORT_BUFFERS / 8) & ~7u],
			                 (uint64_t)(int64_t)(int32_t)(chance() % 300 - 150));
		if (i % 64 == 0)
			sched_yield();
	}
	hostile_ends = true;
	return NULL;
}

static void others(void)
{
	struct file *file = connect_server();

	reached++;
	for (unsigned i = 0; i < 300; i++)
		echo(file, 1 + i * 97, i);
	close_file(file);
}

/* --- what happens in their order --- */

static void until_pause(const struct life *program)
{
	while (!program->stopped)
		lab_turn();
}

static void with_full_ring(struct life *server)
{
	struct life *client = program_start(CLIENT, full);

	until_pause(client);
	server->stopped = true;
	life_continue(client);
	await_reached(1);
	life_continue(server);
	passed(client, "full");
}

static struct life *with_death(void)
{
	struct life *client = program_start(CLIENT, death), *server;

	await_reached(1);
	life_end(SERVER);
	until_pause(client);
	server = start_server();
	life_continue(client);
	passed(client, "death");
	return server;
}

static void with_connecting(struct life *server)
{
	struct life *client = program_start(CLIENT, connecting);

	until_pause(client);
	server->stopped = true;
	life_continue(client);
	await_reached(1);
	life_end(SERVER);
	passed(client, "connecting");
}

static void with_last_words(bool goodbye)
{
	struct life *speaker, *client;

	says_goodbye = goodbye;
	speaker = program_start(SPEAKER, speak);
	await_reached(1);
	client = program_start(CLIENT, listen_to_the_last);
	until_pause(client);
	passed(speaker, "a speaker");
	life_continue(client);
	passed(client, goodbye ? "last words and an end" : "last words");
}

static void with_hostile(struct life *server)
{
	struct life *client = program_start(CLIENT, others), *outsider = program_start(OUTSIDER, others);
	pthread_t enemy;

	await_reached(2);
	lab.unchecked = true;
	CHECK(!pthread_create(&enemy, NULL, hostile_cable, lab.cable[1]));
	while (!hostile_ends) {
		life_wake(server);
		lab_turn();
	}
	CHECK(!pthread_join(enemy, NULL));
	passed(client, "beside a hostile cable, by cable");
	passed(outsider, "beside a hostile cable, through the switch");
	place_close(HOSTILE);
	lab.unchecked = false;
}

static void successor(void) { frames_take_the_cable(HOSTILE); }

int main(int count, char **arguments)
{
	struct life *server;

	lab_begin(count, arguments);
	lab.timeout = SECOND;
	lab_cable(CLIENT, SERVER);
	lab_cable(SERVER, HOSTILE);
	lab_cable(CLIENT, SPEAKER);
	lab_start(SPEAKER + 1);
	server = start_server();
	passed(program_start(CLIENT, cable), "cable");
	passed(program_start(CLIENT, deadline_stands), "a deadline that stands");
	passed(program_start(CLIENT, looked_at), "bytes that were looked at");
	passed(program_start(OUTSIDER, no_cable), "no cable");
	with_full_ring(server);
	server = with_death();
	with_hostile(server);
	passed(program_start(HOSTILE, successor), "the successor of a hostile one");
	with_connecting(server);
	with_last_words(false);
	with_last_words(true);
	return 0;
}
