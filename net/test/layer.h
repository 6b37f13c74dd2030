/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host process as a program on Skerry: as much of the POSIX layer as the
 * socket layer needs, and a port in memory shared with a switch process; or
 * with a stack process, which has that port then.
 * One thread; what blocks does it like the real layer.
 */
#pragma once

#include <semaphore.h>
#include <skerry/posix.h>
#include <skerry/process.h>
#include <skerry/socket_port.h>
#include <sys/types.h>
#include "../switch/forward.h"

enum { NETWORK_PORTS = 21, NETWORK_CABLES = 5 };

struct network {
	struct forward forward; /* the switch process's; its counters are there for others to read */
	sem_t switch_wake;
	sem_t serving; /* posted once, by the server */
	sem_t wake[NETWORK_PORTS];
	sem_t stack_wake[NETWORK_PORTS]; /* of stack processes; `wake` is their programs' then */
	bool apart[NETWORK_PORTS];       /* there is one */
	unsigned cable_end[NETWORK_CABLES][2]; /* ports; the first is in the place of a stack */
	unsigned cables;
	_Alignas(4096) char cable[NETWORK_CABLES][CABLE_SIZE];
	_Alignas(4096) char port[NETWORK_PORTS][PORT_SIZE];
	/* of the process with the port's lwIP; the last is the switch's */
	_Alignas(4096) char bell[NETWORK_PORTS + 1][BELL_SIZE];
	_Alignas(4096) char sockets[NETWORK_PORTS][SOCKET_PORT_SIZE];
};

/* Shared memory and a running switch, which drops no frame, however busy the host. Before any process is started. */
struct network *network_start(void);
/* From now on the switch waits so long for a full ring; while nothing is under way. */
void network_timeout(struct network *network, unsigned seconds);
extern size_t layer_heap; /* what layer_allocate() gives at most, in processes started from now on */
/* A cable between the stacks of two ports, from their next starts on. */
void network_cable(struct network *network, unsigned from, unsigned to);
/* As the cluster-manager does when a port's program, or its stack, has stopped: closes its ends, and wakes the programs
 * at the others. */
void network_close(unsigned port);
extern uint64_t layer_life; /* of what is started next */
extern bool layer_still;    /* lwIP's clock stands still: nothing happens by its timers */
/* This process has port `port` from now on: address 10.0.0.(port + 1). */
void layer_start(struct network *network, unsigned port);
/* The same with a stack process beside it. Returns its process number. */
pid_t layer_start_apart(struct network *network, unsigned port);
/* As the cluster-manager does: the stack, or the program, of this port has ended. */
void layer_end(unsigned port, enum socket_side side);
/* The server listens; wait until it does. A client that is earlier is refused, as it should be. */
void layer_serving(void);
void network_await_server(struct network *network);
uint32_t layer_address(unsigned port); /* network byte order */
size_t layer_allocated(void);          /* bytes that layer_allocate() gave and did not get back */

/* Watches a file as an edge-triggered epoll; returns what that would tell of it since it was last asked, 0: nothing.
 * file.c */
void file_watch(struct file *, uint32_t events);
uint32_t file_watched(const struct file *);
void file_edge(struct file *, uint32_t events);

/* Sleep until something is ready or `deadline` (TSC; 0: none) passes; then false. */
bool layer_wait(uint64_t deadline);
uint64_t layer_in(unsigned milliseconds); /* a deadline */

/* The blocking calls; size moved, or negative. `read_all` ends early at the end of the stream. */
ssize_t read_some(struct file *file, void *buffer, size_t size);
ssize_t read_all(struct file *file, void *buffer, size_t size);
ssize_t write_all(struct file *file, const void *buffer, size_t size);
/* A connected socket, or null with `*error` set. */
struct file *connect_to(uint32_t ipv4, uint16_t port, int *error);
int pending_error(struct file *file); /* SO_ERROR */
