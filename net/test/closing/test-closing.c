/* SPDX-License-Identifier: BSD-2-Clause */
/* A program closes a socket, and the peer does not take the last data: what the stack process does. The sockets are
 * made up here. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include "../../lwip/budget.h"
#include "../../machine.h"
#include "../../net.h"
#include "../../stack/serve.h"
#include "../test.h"

enum { LEFT = 100 };

static char *port;
static struct ring_end out, in;
static unsigned numbers;

/* the socket that is open */
static struct {
	int limit, limits; /* TCP_USER_TIMEOUT, and how often it was set */
	struct linger linger;
	bool takes, closed;
} now;

void *socket_port_memory(void) { return port; }
void socket_port_wake_peer(void) {}
void *layer_allocate(size_t size) { return calloc(1, size); }
void layer_free(void *memory) { free(memory); }
void console_log(const char *format, ...) { CHECK(!format); }
bool net_poll(void) { return false; }
bool net_prepare_sleep(void) { return true; }
void file_ready_again(struct file *file, uint32_t ready, uint32_t again) { (void)again; file->ready = ready; }

static ssize_t fake_write(struct file *file, const void *buffer, size_t size)
{
	return file && buffer && now.takes ? (ssize_t)size : -EAGAIN;
}
static ssize_t fake_read(struct file *file, void *buffer, size_t size) { return file && buffer && size ? -EAGAIN : 0; }
static int fake_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	return file && address && length ? -EINPROGRESS : 0;
}

static int fake_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	memset(address, 0, *length);
	address->sa_family = AF_INET;
	return file ? 0 : -EINVAL;
}

static int fake_set(struct file *file, int level, int option, const void *value, socklen_t size)
{
	(void)file;
	if (level == IPPROTO_TCP && option == TCP_USER_TIMEOUT) {
		memcpy(&now.limit, value, sizeof(now.limit));
		now.limits++;
	} else if (option == SO_LINGER) {
		memcpy(&now.linger, value, sizeof(now.linger));
	}
	return size ? 0 : -EINVAL;
}

static int fake_get(struct file *file, int level, int option, void *value, socklen_t *size)
{
	(void)file;
	if (level == SOL_SOCKET && option == SO_LINGER)
		memcpy(value, &now.linger, *size);
	else if (level == IPPROTO_TCP && option == TCP_USER_TIMEOUT)
		memcpy(value, &now.limit, *size);
	else
		memset(value, 0, *size);
	return 0;
}

static void fake_close(struct file *file)
{
	now.closed = true;
	free(file);
}

static const struct file_operations fake = {
	.name = "made up", .read = fake_read, .write = fake_write, .close = fake_close, .connect = fake_connect,
	.getsockname = fake_name, .getpeername = fake_name, .setsockopt = fake_set, .getsockopt = fake_get,
};

int socket_create(int domain, int type, int protocol, struct file **file)
{
	CHECK(domain == AF_INET && type == SOCK_STREAM && !protocol);
	*file = layer_allocate(sizeof(**file));
	file_init(*file, &fake, 0);
	(*file)->ready = EPOLLOUT;
	return 0;
}

static void ask(struct socket_request request)
{
	struct socket_request *slot = ring_reserve(&out);

	CHECK(slot);
	request.socket = (uint16_t)numbers;
	*slot = request;
	ring_publish(&out);
	serve_pass();
	while (ring_peek(&in))
		ring_release(&in);
}

static void set(int level, int option, const void *value, uint32_t size)
{
	struct socket_request request = { .kind = SOCKET_SET_OPTION, .level = level, .option = option, .size = size };

	memcpy(request.data, value, size);
	ask(request);
}

/* A connection with data that its peer does not take. */
static void open_connection(int limit, struct linger linger)
{
	numbers++;
	memset(&now, 0, sizeof(now));
	ask((struct socket_request){ .kind = SOCKET_OPEN });
	ask((struct socket_request){ .kind = SOCKET_CONNECT, .address = { .ipv4 = 1, .port = 1 } });
	ask((struct socket_request){ .kind = SOCKET_UPDATE, .written = LEFT });
	if (limit)
		set(IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
	set(SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	CHECK(served_socket(numbers)->flags == SOCKET_CONNECTED && served_socket(numbers)->taken == 0);
	now.limits = 0;
}

static void close_connection(void)
{
	ask((struct socket_request){ .kind = SOCKET_UPDATE, .written = LEFT, .flags = SOCKET_CLOSE });
}

static void closes(int limit, int expected)
{
	open_connection(limit, (struct linger){ 0 });
	close_connection();
	CHECK(!now.closed && now.limit == expected && now.limits == (limit != expected));
	now.takes = true;
	served_pending(served_socket(numbers));
	serve_pass();
	CHECK(now.closed);
}

static void closes_with(struct linger linger, bool reset)
{
	open_connection(0, linger);
	close_connection();
	CHECK(now.closed == reset);
}

/* Data in the buffer of a socket without a connection is never taken. */
static void closes_unconnected(void)
{
	numbers++;
	memset(&now, 0, sizeof(now));
	ask((struct socket_request){ .kind = SOCKET_OPEN });
	close_connection();
	CHECK(now.closed);
}

int main(void)
{
	struct socket_port_header *header;

	port = mmap(NULL, SOCKET_PORT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(port != MAP_FAILED);
	header = (void *)port;
	out = ring_producer(socket_port_ring(port, SOCKET_SIDE_PROGRAM), SOCKET_PORT_SLOTS);
	in = ring_consumer(socket_port_ring(port, SOCKET_SIDE_STACK), SOCKET_PORT_SLOTS);
	serve_start();
	closes(0, BUDGET_TIMEOUT);
	closes(BUDGET_TIMEOUT + 1, BUDGET_TIMEOUT);
	closes(5000, 5000);
	closes_with((struct linger){ .l_onoff = 1 }, true);
	closes_with((struct linger){ .l_onoff = 1, .l_linger = 5 }, false);
	closes_unconnected();
	/* its program ends when it has closed: the time that is left stays */
	open_connection(0, (struct linger){ 0 });
	close_connection();
	now.limits = 0;
	atomic_store(&header->gone[SOCKET_SIDE_PROGRAM], 1);
	serve_pass();
	CHECK(!now.limits && !now.closed);
	return 0;
}
