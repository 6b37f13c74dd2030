/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs with bodies. These call socket_create(), net_poll() and others of skerry/posix.h, which are those of the
 * program whose turn it is, and block by program_wait().
 */
#pragma once

#include <sys/types.h>
#include "lab.h"

extern struct life *here; /* the program whose turn it is; a test that plays one by hand sets it */

/* A program with this body, at a place where none runs; beside a stack process if lab.apart. When the body returns, the
 * program lives on, for its peers may still send. */
struct life *program_start(unsigned place, void (*body)(void));
/* Turns until the body has returned or called program_passed(). Prints that it has, and after how long. */
void program_finish(struct life *, const char *name);
void program_passed(void);
/* The same, and the program has no more turns; nobody is told. Does not return. */
_Noreturn void program_vanish(void);
static inline unsigned own_place(void) { return here->host.number; }

/* Sleeps until something is ready or `deadline` (ns; 0: none) passes; then false. */
bool program_wait(uint64_t deadline);
void settle(unsigned ms); /* blocks for so long */
/* The program has no turns until the test gives it some by life_continue(). */
void program_pause(void);
void life_continue(struct life *);
static inline uint64_t in_ms(unsigned ms) { return lab.now + ms * MILLISECOND; }

/* Watches a file as an edge-triggered epoll. */
void file_watch(struct file *, uint32_t events);
/* Returns what that would tell of it since it was last asked, 0: nothing. */
uint32_t file_watched(const struct file *);
void file_edge(const struct file *, uint32_t events);

/* The blocking calls; size moved, or negative. `read_all` ends early at the end of the stream. */
ssize_t read_some(struct file *, void *buffer, size_t size);
ssize_t read_all(struct file *, void *buffer, size_t size);
ssize_t write_all(struct file *, const void *buffer, size_t size);
/* A connected socket, or null with `*error` set. */
struct file *connect_to(uint32_t ipv4, uint16_t port, int *error);
/* A socket that listens there. */
struct file *listen_at(uint16_t port, int backlog);
int pending_error(struct file *); /* SO_ERROR */
static inline void close_file(struct file *file) { file->ops->close(file); }

/* --- turns.c, network.c --- */

struct life *life_start_apart(unsigned place);
void fiber_start(struct life *, void (*body)(void));
/* Runs it until it sleeps. */
void fiber_resume(struct life *);
/* When it sleeps, until when (0: until it is woken). */
uint64_t fiber_deadline(const struct life *);
void fiber_end(struct life *);
