/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>
#include "../machine.h"
#include "../stack/serve.h"
#include "layer.h"
#include "test.h"

enum { TIMEOUT_OF_ALL = 1000 /* s: longer than a test runs */ };

static struct network *network;
static unsigned own_port, own_cable[NETWORK_CABLES];
static sem_t *own_wake;
static struct process_info info;
static size_t allocated;
size_t layer_heap = 256 << 20;
uint64_t layer_life = 2;
bool layer_still;
static uint64_t cycles_per_second;

/* --- the switch process --- */

/* Whoever has lwIP of this port. */
static void wake_port(void *unused, unsigned port)
{
	(void)unused;
	sem_post(network->apart[port] ? &network->stack_wake[port] : &network->wake[port]);
}

static void wait_until(sem_t *sem, uint64_t deadline)
{
	uint64_t now = clock_cycles();
	struct timespec until;
	unsigned __int128 left = deadline > now ? deadline - now : 0;

	if (!deadline) {
		sem_wait(sem);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	left = left * 1000000000 / cycles_per_second + (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(left / 1000000000);
	until.tv_nsec = (long)(left % 1000000000);
	sem_timedwait(sem, &until);
}

/* As the cluster-manager does: only its own bell word can be written by a process. The last word is the switch's. */
static void protect_bells(unsigned own)
{
	CHECK(!mprotect(network->bell, sizeof(network->bell), PROT_READ));
	CHECK(!mprotect(network->bell[own], BELL_SIZE, PROT_READ | PROT_WRITE));
}

static _Noreturn void run_switch(void)
{
	struct forward *forward = &network->forward;

	protect_bells(NETWORK_PORTS);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		while (forward_pass(forward, clock_cycles()))
			forward_signal(forward, wake_port, NULL);
		if (forward_last_pass(forward, clock_cycles()))
			forward_signal(forward, wake_port, NULL);
		else
			wait_until(&network->switch_wake, forward->deadline);
	}
}

static void measure_clock(void)
{
	struct timespec a, b;
	uint64_t start = clock_cycles();

	clock_gettime(CLOCK_MONOTONIC, &a);
	usleep(50000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	cycles_per_second = (clock_cycles() - start) * 1000000000 /
			    (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
}

void network_timeout(struct network *shared, unsigned seconds)
{
	shared->forward.timeout = cycles_per_second * seconds;
}

struct network *network_start(void)
{
	struct process_port table[NETWORK_PORTS];

	measure_clock();
	network = mmap(NULL, sizeof(*network), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(network != MAP_FAILED);
	sem_init(&network->switch_wake, 1, 0);
	sem_init(&network->serving, 1, 0);
	for (unsigned i = 0; i < NETWORK_PORTS; i++) {
		table[i] = (struct process_port){ .mac = { 2, 0, 0, 0, 0, (uint8_t)i }, .ipv4 = layer_address(i) };
		sem_init(&network->wake[i], 1, 0);
		sem_init(&network->stack_wake[i], 1, 0);
	}
	forward_init(&network->forward, table, NETWORK_PORTS, network->port, 0, 2);
	forward_bells(&network->forward, table, (struct bell *)network->bell[NETWORK_PORTS], network->bell);
	network_timeout(network, TIMEOUT_OF_ALL);
	if (!fork())
		run_switch();
	return network;
}

void network_cable(struct network *shared, unsigned from, unsigned to)
{
	CHECK(shared->cables < NETWORK_CABLES);
	shared->cable_end[shared->cables][0] = from;
	shared->cable_end[shared->cables++][1] = to;
}

static void close_side(void *memory, enum port_direction side)
{
	port_close((struct port_epochs *)((char *)memory + PORT_EPOCHS), side);
}

void network_close(unsigned port)
{
	for (unsigned i = 0; i < network->cables; i++)
		for (unsigned side = 0; side < 2; side++)
			if (network->cable_end[i][side] == port) {
				close_side(network->cable[i], side);
				wake_port(NULL, network->cable_end[i][!side]);
			}
	close_side(network->port[port], PORT_TO_SWITCH);
	sem_post(&network->switch_wake);
}

/* --- what the socket layer asks of the POSIX layer --- */

uint32_t layer_address(unsigned port) { return htonl(0x0a000001 + port); }

void layer_start(struct network *shared, unsigned port)
{
	network = shared;
	own_port = port;
	own_wake = &network->wake[port];
	protect_bells(port);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	info.heap_size = layer_heap;
	info.life = layer_life;
	info.network = (struct process_network){
		.present = 1, .ipv4 = layer_address(port), .netmask = htonl(0xffffff00),
		.mac = { 2, 0, 0, 0, 0, (uint8_t)port }, .mtu = 1500,
	};
	info.port_count = 0;
	for (unsigned i = 0; i < network->cables; i++)
		for (unsigned side = 0; side < 2; side++)
			if (network->cable_end[i][side] == port) {
				unsigned peer = network->cable_end[i][!side];

				own_cable[info.port_count] = i;
				info.port[info.port_count++] = (struct process_port){
					.mac = { 2, 0, 0, 0, 0, (uint8_t)peer }, .ipv4 = layer_address(peer),
					.upper = side == PORT_TO_SWITCH,
				};
			}
}

static _Noreturn void run_stack(struct network *shared, unsigned port)
{
	layer_start(shared, port);
	own_wake = &network->stack_wake[port];
	info.sockets = 1;
	serve_start();
	for (;;) {
		while (serve_pass())
			;
		if (serve_prepare_sleep())
			wait_until(own_wake, net_deadline());
	}
}

pid_t layer_start_apart(struct network *shared, unsigned port)
{
	pid_t stack;

	shared->apart[port] = true;
	stack = fork();
	if (!stack)
		run_stack(shared, port);
	layer_start(shared, port);
	info.network.present = 0;
	info.sockets = 1;
	return stack;
}

void layer_serving(void) { sem_post(&network->serving); }

void network_await_server(struct network *shared)
{
	while (sem_wait(&shared->serving))
		CHECK(errno == EINTR);
}

void layer_end(unsigned port, enum socket_side side)
{
	struct socket_port_header *header = (void *)network->sockets[port];

	atomic_store(&header->gone[side], 1);
	sem_post(side == SOCKET_SIDE_STACK ? &network->wake[port] : &network->stack_wake[port]);
}

void *socket_port_memory(void) { return network->sockets[own_port]; }

void socket_port_wake_peer(void)
{
	bool of_stack = own_wake == &network->stack_wake[own_port];

	sem_post(of_stack ? &network->wake[own_port] : &network->stack_wake[own_port]);
}

void *interface_memory(void) { return network->port[own_port]; }
void interface_wake_peer(void) { sem_post(&network->switch_wake); }
const struct bell *interface_bell(void) { return (const struct bell *)network->bell[NETWORK_PORTS]; }
struct bell *own_bell(void) { return (struct bell *)network->bell[own_port]; }
void *cable_memory(unsigned cable) { return network->cable[own_cable[cable]]; }

static unsigned cable_peer(unsigned cable)
{
	const unsigned *end = network->cable_end[own_cable[cable]];

	return end[0] == own_port ? end[1] : end[0];
}

void cable_wake_peer(unsigned cable) { wake_port(NULL, cable_peer(cable)); }
const struct bell *cable_bell(unsigned cable) { return (const struct bell *)network->bell[cable_peer(cable)]; }

const struct process_info *process_info(void) { return &info; }
uint64_t clock_cycles(void) { return __rdtsc(); }
uint64_t clock_cycles_per_second(void) { return cycles_per_second; }
uint64_t clock_milliseconds(void)
{
	static uint64_t stood;
	const uint64_t now = clock_cycles(); /* exactly: deadlines are compared with cycles */

	if (!layer_still || !stood)
		stood = now / cycles_per_second * 1000 + now % cycles_per_second * 1000 / cycles_per_second;
	return stood;
}
size_t layer_allocated(void) { return allocated; }

void random_bytes(void *to, size_t size) { CHECK(getentropy(to, size) == 0); }

void console_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	uint32_t fresh = ready & ~file->ready;

	file->ready = ready;
	again &= ready;
	if ((fresh || again) && file->on_ready)
		file->on_ready(file);
	if (file->edge_triggered)
		file_edge(file, fresh | again);
}

void *layer_allocate(size_t size)
{
	size_t *block = allocated + size > info.heap_size ? NULL : calloc(1, size + 16);

	if (!block)
		return NULL;
	*block = size;
	allocated += size;
	return block + 2;
}

void layer_free(void *memory)
{
	if (!memory)
		return;
	allocated -= ((size_t *)memory)[-2];
	free((size_t *)memory - 2);
}

/* --- blocking --- */

bool layer_wait(uint64_t deadline)
{
	uint64_t until = deadline, timer;

	if (net_poll())
		return true;
	if (deadline && clock_cycles() >= deadline)
		return false;
	if (!net_prepare_sleep())
		return true;
	timer = net_deadline();
	if (timer && (!until || timer < until))
		until = timer;
	wait_until(own_wake, until);
	return true;
}

bool event_wait(uint64_t deadline) { return layer_wait(deadline); }
void event_notify(void) {} /* each process has one thread */

uint64_t layer_in(unsigned milliseconds) { return clock_cycles() + cycles_per_second / 1000 * milliseconds; }

ssize_t read_some(struct file *file, void *buffer, size_t size)
{
	ssize_t n;

	while ((n = file->ops->read(file, buffer, size)) == -EAGAIN)
		while (!(file->ready & (EPOLLIN | EPOLLHUP | EPOLLERR)))
			layer_wait(0);
	return n;
}

ssize_t read_all(struct file *file, void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read_some(file, (char *)buffer + done, size - done);

		if (n < 0)
			return n;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t write_all(struct file *file, const void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = file->ops->write(file, (const char *)buffer + done, size - done);

		if (n < 0 && n != -EAGAIN)
			return n;
		if (n > 0)
			done += (size_t)n;
		while (done < size && !(file->ready & (EPOLLOUT | EPOLLHUP | EPOLLERR)))
			layer_wait(0);
	}
	return (ssize_t)done;
}

int pending_error(struct file *file)
{
	int error = 0;
	socklen_t size = sizeof(error);

	CHECK(file->ops->getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
	return error;
}

struct file *connect_to(uint32_t ipv4, uint16_t port, int *error)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = ipv4 };
	struct file *file;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &file) == 0);
	*error = -file->ops->connect(file, (struct sockaddr *)&to, sizeof(to));
	if (*error == EINPROGRESS) {
		while (!(file->ready & EPOLLOUT))
			layer_wait(0);
		*error = pending_error(file);
	}
	if (!*error)
		return file;
	file->ops->close(file);
	return NULL;
}
