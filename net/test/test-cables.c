/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cables between stacks: frames go there and not through the switch; a far end
 * that dies, starts again, takes nothing, or writes what it likes. Each program
 * is a process; this one is their cluster-manager.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../port_end.h"
#include "client.h"
#include "server.h"
#include "test.h"

enum { SERVER, CLIENT, HOSTILE, OUTSIDER, SPEAKER, LAST_WORDS = 3000, SPEAKER_PORT = 7000, MANY = 200 };

static struct network *network;
static struct {
	sem_t reached, go; /* of a scenario: it has come to where this process acts; it may go on */
} *stage;

/* --- programs --- */

static pid_t start(void (*program)(void), unsigned port)
{
	pid_t pid;

	layer_life += 2;
	pid = fork();
	if (pid)
		return pid;
	layer_start(network, port);
	program();
	_exit(0);
}

static void bury(pid_t pid, unsigned port)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	network_close(port);
}

static void passed(pid_t pid, const char *name)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	printf("%s %s\n", status ? "failed:" : "passed:", name);
	if (status)
		exit(1);
}

static void tell(void) { sem_post(&stage->reached); }

static void await(sem_t *sem)
{
	while (sem_wait(sem))
		CHECK(errno == EINTR);
}

/*
 * Until the switch knows this life of the server: before, it answers connections that do not take the cable with a
 * reset. What it knows of the life before may stand there until then.
 */
static pid_t start_server(void)
{
	pid_t server = start(server_run, SERVER);
	const volatile struct port_end *end = &network->forward.port[SERVER].end;

	network_await_server(network);
	while (end->seen != layer_life || !end->up)
		sched_yield();
	return server;
}

static uint64_t by_switch(unsigned port)
{
	return network->forward.port[port].frames + network->forward.port[port].delivered;
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
		uint64_t deadline, later;

		net_poll();
		deadline = net_deadline();
		for (later = layer_in(2); clock_cycles() < later;)
			;
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
		layer_wait(0);
	CHECK(!memcmp(seen, bytes, SIZE));
	memset((char *)network->cable[0] + PORT_BUFFERS, 0x5a, 2 * CABLE_SLOTS * PORT_BUFFER);
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
	tell();
	await(&stage->go);
	for (unsigned i = 0; i < MANY; i++) {
		request(file[i], REQUEST_ECHO, sizeof(bytes[i]));
		CHECK(write_all(file[i], bytes[i], sizeof(bytes[i])) == sizeof(bytes[i]));
	}
	for (unsigned i = 0; i < 10; i++)
		net_poll();
	tell();
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
	layer_still = true;
	tell();
	CHECK(read_some(idle, &byte, 1) == -ECONNRESET && read_some(used, &byte, 1) == -ECONNRESET);
	CHECK(!connect_to(layer_address(SERVER), SERVER_PORT, &error) && error == ECONNREFUSED);
	close_file(idle);
	close_file(used);
	tell();
	await(&stage->go);
	frames_take_the_cable(CLIENT);
}

/* The server dies with the request to connect in its ring. */
static void connecting(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
	                          .sin_addr.s_addr = layer_address(SERVER) };
	struct file *file = connect_server(); /* from now on there is a cable */
	uint64_t before;

	echo(file, 1, 1);
	tell();
	await(&stage->go);
	layer_still = true;
	before = by_switch(CLIENT);
	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file) == 0);
	CHECK(file->ops->connect(file, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
	net_poll();
	CHECK(by_switch(CLIENT) == before);
	tell();
	while (!(file->ready & (EPOLLOUT | EPOLLERR)))
		layer_wait(0);
	CHECK(pending_error(file) == ECONNREFUSED);
}

static bool says_goodbye;

/* Writes and ends, with or without the connection's end. */
static void speak(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(SPEAKER_PORT) };
	struct file *listener, *file;
	char bytes[LAST_WORDS];

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listener->ops->listen(listener, 5) == 0);
	layer_serving();
	while (!(listener->ready & EPOLLIN))
		layer_wait(0);
	CHECK(listener->ops->accept(listener, &file, NULL, NULL) == 0);
	while (!(file->ready & EPOLLIN)) /* the listener is awake */
		layer_wait(0);
	fill(bytes, sizeof(bytes), 5);
	CHECK(write_all(file, bytes, sizeof(bytes)) == sizeof(bytes));
	if (says_goodbye)
		file->ops->shutdown(file, SHUT_WR);
	net_poll();
}

static void listen_to_the_last(void)
{
	int error;
	char bytes[LAST_WORDS], in[LAST_WORDS + 1];
	struct file *file = connect_to(layer_address(SPEAKER), SPEAKER_PORT, &error);

	CHECK(file && write_all(file, "x", 1) == 1);
	net_poll();
	tell();
	await(&stage->go); /* it has written, and is no more */
	layer_still = true;
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
 * buffers, while the server reads them.
 */
static void hostile_cable(void *cable, uint8_t server, uint8_t client)
{
	struct port_end end = cable_open(cable, PORT_FROM_SWITCH, layer_life);
	uint32_t *word = cable;
	_Atomic uint64_t *position = cable;

	for (unsigned i = 0; i < 60000; i++) {
		if (i < 20000)
			lie(&end, server, client);
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

static void others(void)
{
	struct file *file = connect_server();

	tell();
	for (unsigned i = 0; i < 300; i++)
		echo(file, 1 + i * 97, i);
	close_file(file);
}

/* --- what happens in their order --- */

static void with_full_ring(pid_t server)
{
	pid_t client = start(full, CLIENT);

	await(&stage->reached);
	kill(server, SIGSTOP);
	sem_post(&stage->go);
	await(&stage->reached);
	kill(server, SIGCONT);
	passed(client, "full");
	network_close(CLIENT);
}

static pid_t with_death(pid_t server)
{
	pid_t client = start(death, CLIENT);

	await(&stage->reached);
	bury(server, SERVER);
	await(&stage->reached);
	server = start_server();
	sem_post(&stage->go);
	passed(client, "death");
	network_close(CLIENT);
	return server;
}

static void with_connecting(pid_t server)
{
	pid_t client = start(connecting, CLIENT);

	await(&stage->reached);
	kill(server, SIGSTOP);
	sem_post(&stage->go);
	await(&stage->reached);
	bury(server, SERVER);
	passed(client, "connecting");
	network_close(CLIENT);
}

static void with_last_words(bool goodbye)
{
	pid_t speaker, client;

	says_goodbye = goodbye;
	speaker = start(speak, SPEAKER);
	network_await_server(network);
	client = start(listen_to_the_last, CLIENT);
	await(&stage->reached);
	CHECK(waitpid(speaker, NULL, 0) == speaker);
	network_close(SPEAKER);
	sem_post(&stage->go);
	passed(client, goodbye ? "last words and an end" : "last words");
	network_close(CLIENT);
}

static void with_hostile(pid_t server)
{
	pid_t client = start(others, CLIENT), outsider = start(others, OUTSIDER), enemy;

	await(&stage->reached);
	await(&stage->reached);
	layer_life += 2;
	enemy = fork();
	if (!enemy) {
		hostile_cable(network->cable[1], SERVER, CLIENT);
		_exit(0);
	}
	passed(client, "beside a hostile cable, by cable");
	passed(outsider, "beside a hostile cable, through the switch");
	passed(enemy, "hostile");
	CHECK(waitpid(server, NULL, WNOHANG) == 0); /* lives */
	network_close(HOSTILE);
}

static void successor(void) { frames_take_the_cable(HOSTILE); }

int main(void)
{
	pid_t server;

	setvbuf(stdout, NULL, _IOLBF, 0);
	network = network_start();
	network_timeout(network, 1);
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(&stage->reached, 1, 0);
	sem_init(&stage->go, 1, 0);
	network_cable(network, CLIENT, SERVER);
	network_cable(network, SERVER, HOSTILE);
	network_cable(network, CLIENT, SPEAKER);
	server = start_server();
	passed(start(cable, CLIENT), "cable");
	network_close(CLIENT);
	passed(start(deadline_stands, CLIENT), "a deadline that stands");
	network_close(CLIENT);
	passed(start(looked_at, CLIENT), "bytes that were looked at");
	network_close(CLIENT);
	passed(start(no_cable, OUTSIDER), "no cable");
	with_full_ring(server);
	server = with_death(server);
	with_hostile(server);
	passed(start(successor, HOSTILE), "the successor of a hostile one");
	network_close(HOSTILE);
	with_connecting(server);
	with_last_words(false);
	with_last_words(true);
	return 0;
}
