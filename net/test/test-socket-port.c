/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket protocol between two sides that do not trust each other: the
 * stack's end under programs that make up requests, the program's end under
 * stacks that make up events. Whatever comes, bytes are moved within the
 * buffer of their socket only, and an end that is told of the other's end waits no
 * longer. No lwIP: sockets are made up here, too. Every trial is a process with
 * a seed of its own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../machine.h"
#include "../net.h"
#include "../remote/remote.h"
#include "../stack/serve.h"
#include "test.h"

enum { TRIALS = 300, STEPS = 3000, NUMBERS = 5 };

static char *port;
static uint32_t seed;
static struct ring_end out, in;    /* the hostile side's */
static unsigned moved, sent;       /* calls that moved bytes; messages */
static bool said;                  /* the other side has said that it wants no more of this */

/* Returns a random number below n. */
static uint32_t chance(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* --- what both ends ask of what is around them --- */

void *socket_port_memory(void) { return port; }
void socket_port_wake_peer(void) {}
void *layer_allocate(size_t size) { return calloc(1, size); }
void layer_free(void *memory) { free(memory); }
void console_log(const char *format, ...) { said = format != NULL; }
bool net_poll(void) { return false; }
bool net_prepare_sleep(void) { return true; }

void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	(void)again;
	file->ready = ready;
	if (file->on_ready)
		file->on_ready(file);
}

/* --- sockets of the stack that do as they like --- */

static ssize_t moves(struct file *file, const void *buffer, size_t size, enum socket_side producer)
{
	const char *own = socket_port_buffer(port, file->number, producer), *at = buffer;

	CHECK(file->number < SOCKET_PORT_SOCKETS && size && size <= SOCKET_PORT_BUFFER);
	CHECK(at >= own && at + size <= own + SOCKET_PORT_BUFFER);
	moved++;
	switch (chance(8)) {
	case 0: return -EAGAIN;
	case 1: return chance(20) ? -EAGAIN : -ECONNRESET;
	default: return 1 + chance((uint32_t)size);
	}
}

static ssize_t fake_write(struct file *file, const void *buffer, size_t size)
{
	return moves(file, buffer, size, SOCKET_SIDE_PROGRAM);
}

static ssize_t fake_read(struct file *file, void *buffer, size_t size)
{
	ssize_t n = chance(50) ? moves(file, buffer, size, SOCKET_SIDE_STACK) : 0;

	if (n > 0)
		memset(buffer, 1, (size_t)n);
	return n;
}

static const struct file_operations fake;

static int fake_new(struct file **file)
{
	*file = layer_allocate(sizeof(**file));
	file_init(*file, &fake, 0);
	(*file)->ready = EPOLLOUT;
	return chance(10) ? 0 : (free(*file), -ENOBUFS);
}

int socket_create(int domain, int type, int protocol, struct file **file)
{
	CHECK(domain == AF_INET && type == SOCK_STREAM && !protocol);
	return fake_new(file);
}

static int fake_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	CHECK(file && address && length == sizeof(struct sockaddr_in));
	return chance(2) ? 0 : -EADDRINUSE;
}

static int fake_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	(void)fake_bind(file, address, length);
	return chance(2) ? -EINPROGRESS : -EISCONN;
}

static int fake_listen(struct file *file, int backlog)
{
	(void)backlog;
	return file ? -(int)chance(2) : 0;
}

static int fake_accept(struct file *file, struct file **connection, struct sockaddr *address, socklen_t *length)
{
	CHECK(file && !address && !length);
	return chance(2) ? -EAGAIN : fake_new(connection);
}

static int fake_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	memset(address, 0, *length);
	address->sa_family = AF_INET;
	return file ? 0 : -EINVAL;
}

static int fake_set(struct file *file, int level, int option, const void *value, socklen_t size)
{
	(void)level, (void)option;
	CHECK(file && value && size <= SOCKET_OPTION_BYTES);
	return 0;
}

static int fake_get(struct file *file, int level, int option, void *value, socklen_t *size)
{
	(void)level, (void)option;
	CHECK(file && *size <= SOCKET_OPTION_BYTES);
	memset(value, 0, *size);
	return 0;
}

static int fake_shutdown(struct file *file, int how) { return file && how == SHUT_WR ? 0 : -EINVAL; }
static void fake_close(struct file *file) { free(file); }

static const struct file_operations fake = {
	.name = "made up", .read = fake_read, .write = fake_write, .close = fake_close, .bind = fake_bind,
	.listen = fake_listen, .accept = fake_accept, .connect = fake_connect, .getsockname = fake_name,
	.getpeername = fake_name, .setsockopt = fake_set, .getsockopt = fake_get, .shutdown = fake_shutdown,
};

/* --- the program is hostile --- */

static bool asked; /* a call whose answer has not come */

/* Returns a request that a program might make of this socket now. */
static struct socket_request sensible(const struct served *s)
{
	struct socket_request r = { .socket = (uint16_t)served_number(s), .kind = SOCKET_UPDATE };
	uint32_t room = SOCKET_PORT_BUFFER - (s->written - s->taken), held = s->arrived - s->read;

	if (!s->file) {
		r.kind = SOCKET_OPEN;
		for (unsigned i = 0; i < NUMBERS; i++)
			if (served_socket(i)->listening && served_socket(i)->file && chance(2)) {
				r.kind = SOCKET_ACCEPT;
				r.value = (int32_t)i;
			}
		return r;
	}
	if (!asked && !chance(4)) {
		r.kind = (uint16_t)(SOCKET_BIND + chance(SOCKET_GET_OPTION - SOCKET_BIND + 1));
		if (r.kind == SOCKET_ACCEPT)
			r.kind = SOCKET_LISTEN;
		r.size = chance(SOCKET_OPTION_BYTES + 1);
	}
	r.written = s->written + chance(room + 1);
	r.read = s->read + chance(held + 1);
	r.flags = chance(40) ? 0 : chance(8);
	return r;
}

/* The same with something that no program says. */
static void spoil(struct socket_request *r)
{
	switch (chance(6)) {
	case 0: r->socket = (uint16_t)chance(0x10000); break;
	case 1: r->kind = (uint16_t)chance(20); break;
	case 2: r->written = chance(UINT32_MAX); break;
	case 3: r->read = chance(UINT32_MAX); break;
	case 4: r->size = chance(UINT32_MAX); break;
	default: r->value = (int32_t)chance(UINT32_MAX); r->flags = chance(UINT32_MAX);
	}
}

static void some_request(bool wild)
{
	const struct served *s = served_socket(chance(NUMBERS));
	struct socket_request r = sensible(s), *slot;

	if (!wild && ((r.kind != SOCKET_UPDATE && asked) || s->closing || (!s->file && s->changed)))
		return;
	slot = ring_reserve(&out);
	if (!slot)
		return;
	asked |= r.kind != SOCKET_UPDATE;
	if (wild)
		spoil(&r);
	*slot = r;
	ring_publish(&out);
	sent++;
}

static void hostile_program(void)
{
	struct socket_event *event;

	out = ring_producer(socket_port_ring(port, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	in = ring_consumer(socket_port_ring(port, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
	serve_start();
	for (unsigned step = 0; step < STEPS && !said; step++) {
		some_request(step > 200 && !chance(50));
		serve_pass();
		while (chance(4) && (event = ring_peek(&in))) {
			asked &= event->kind != SOCKET_ANSWER;
			ring_release(&in);
		}
		for (unsigned i = 0; i < NUMBERS; i++) {
			struct served *s = served_socket(i);

			CHECK(s->written - s->taken <= SOCKET_PORT_BUFFER &&
			      s->arrived - s->read <= SOCKET_PORT_BUFFER);
			if (s->file && !chance(10))
				file_ready_again(s->file, EPOLLIN | EPOLLOUT, 0);
		}
		serve_prepare_sleep();
	}
	for (unsigned i = 0; i < 1000; i++) /* what is left comes to an end: a stack without a program rests */
		serve_pass();
}

/* --- the stack is hostile --- */

static uint32_t arrived[SOCKET_PORT_SOCKETS];

/* Returns an answer that a stack might give to this request. */
static struct socket_event proper(const struct socket_request *r)
{
	struct socket_event e = { .kind = SOCKET_ANSWER, .socket = r->socket, .taken = r->written };

	if (r->kind == SOCKET_CONNECT)
		e.value = -EINPROGRESS;
	if (r->kind == SOCKET_OPEN || r->kind == SOCKET_ACCEPT)
		arrived[r->socket] = 0;
	if (r->kind == SOCKET_GET_OPTION)
		e.size = sizeof(int);
	if (r->kind != SOCKET_UPDATE)
		return e;
	e.kind = SOCKET_CHANGED;
	e.flags = r->flags & SOCKET_CLOSE ? SOCKET_CLOSED
	          : SOCKET_CONNECTED | SOCKET_ACCEPTABLE | (chance(50) ? 0 : SOCKET_ENDED);
	arrived[r->socket] += chance(SOCKET_PORT_BUFFER - (arrived[r->socket] - r->read) + 1);
	e.arrived = arrived[r->socket];
	return e;
}

static void lie(struct socket_event *e)
{
	switch (chance(6)) {
	case 0: e->socket = (uint16_t)chance(SOCKET_PORT_SOCKETS * 2); break;
	case 1: e->kind = (uint16_t)chance(5); break;
	case 2: e->taken = chance(UINT32_MAX); break;
	case 3: e->arrived = chance(UINT32_MAX); break;
	case 4: e->flags = chance(32); break;
	default: e->value = (int32_t)chance(UINT32_MAX); e->size = chance(UINT32_MAX);
	}
}

static void tell(const struct socket_request *request, bool wild)
{
	struct socket_event *e = ring_reserve(&out);

	if (!e)
		return;
	*e = proper(request);
	if (wild)
		lie(e);
	ring_publish(&out);
	sent++;
}

static void some_event(bool wild)
{
	struct socket_request *slot = ring_peek(&in), request;

	if (!slot)
		return;
	request = *slot;
	ring_release(&in);
	tell(&request, wild);
	if (request.kind == SOCKET_CONNECT || request.kind == SOCKET_LISTEN) { /* somebody answers, somebody comes */
		request.kind = SOCKET_UPDATE;
		tell(&request, false);
	}
}

void event_notify(void) {} /* there is one thread */

/* A waiter for an answer gets one; where the stack never sends it, the error for its end. */
bool event_wait(uint64_t deadline)
{
	static unsigned waits;
	struct socket_port_header *header = (void *)port;

	CHECK(!deadline && ++waits < STEPS * 10);
	if (waits > STEPS)
		atomic_store(&header->gone[SOCKET_SIDE_STACK], 1);
	remote_backend.poll();
	remote_backend.prepare_sleep();
	some_event(sent > 100 && !chance(50));
	remote_backend.poll();
	return true;
}

static void use(struct file **file)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct file *other;
	static char bytes[10000];
	int number = 1;
	socklen_t size = sizeof(number);
	ssize_t n = 0;

	if (!*file) {
		if (remote_backend.socket(file))
			*file = NULL;
		return;
	}
	switch (chance(8)) {
	case 0: (*file)->ops->connect(*file, (struct sockaddr *)&address, sizeof(address)); break;
	case 1: (*file)->ops->listen(*file, 1); break;
	case 2: n = (*file)->ops->write(*file, bytes, sizeof(bytes)); break;
	case 3: n = (*file)->ops->read(*file, bytes, sizeof(bytes)); break;
	case 4: (*file)->ops->getsockopt(*file, SOL_SOCKET, SO_TYPE, &number, &size); break;
	case 5: (*file)->ops->setsockopt(*file, SOL_SOCKET, SO_KEEPALIVE, &number, sizeof(number)); break;
	case 6:
		if (!(*file)->ops->accept(*file, &other, NULL, NULL))
			other->ops->close(other);
		break;
	default:
		if (chance(10))
			break;
		file_put(*file);
		*file = NULL;
	}
	CHECK(n <= SOCKET_PORT_BUFFER && size <= sizeof(number));
	moved += n > 0;
}

static void hostile_stack(void)
{
	struct file *file[NUMBERS] = { NULL };

	out = ring_producer(socket_port_ring(port, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
	in = ring_consumer(socket_port_ring(port, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	remote_backend.start();
	for (unsigned step = 0; step < STEPS && !remote_gone(); step++) {
		use(&file[chance(NUMBERS)]);
		while (chance(3) && ring_peek(&in))
			some_event(sent > 100 && !chance(50));
		remote_backend.poll();
	}
	if (!remote_gone())
		return;
	for (unsigned i = 0; i < NUMBERS; i++) {
		struct remote_socket *s = file[i] ? remote_of(file[i]) : NULL;

		CHECK(!s || s->state == REMOTE_NEW || s->state == REMOTE_LISTENING || s->state == REMOTE_FAILED);
		CHECK(remote_backend.socket(&file[i]) == -ENETDOWN);
	}
}

/* --- trials --- */

struct outcome {
	unsigned moved, sent, said;
};

static struct outcome run(void (*trial)(void))
{
	struct outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct outcome total;

	for (unsigned i = 0; i < TRIALS; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			seed = i * 7919 + 1;
			port = mmap(NULL, SOCKET_PORT_SIZE, PROT_READ | PROT_WRITE,
			            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			CHECK(port != MAP_FAILED);
			trial();
			shared->moved += moved;
			shared->sent += sent;
			shared->said += said;
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		if (status)
			fprintf(stderr, "trial %u ended with status 0x%x\n", i, (unsigned)status);
		CHECK(!status);
	}
	total = *shared;
	munmap(shared, sizeof(*shared));
	printf("%u messages, %u moves of bytes, %u of %u trials ended the connection\n", total.sent, total.moved,
	       total.said, TRIALS);
	return total;
}

int main(void)
{
	struct outcome programs, stacks;

	setvbuf(stdout, NULL, _IOLBF, 0);
	programs = run(hostile_program);
	stacks = run(hostile_stack);
	/* otherwise this has tried nothing */
	CHECK(programs.moved > TRIALS && programs.said > TRIALS / 2 && programs.sent > 100 * TRIALS);
	CHECK(stacks.moved > TRIALS && stacks.said > TRIALS / 2 && stacks.sent > 20 * TRIALS);
	return 0;
}
