/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab.h"
#include <errno.h>
#include <netinet/in.h>
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include "../test.h"

enum { STACK_SIZE = 1 << 18, LONGEST = 3600 /* s of the lab's clock, of one body */ };

struct fiber {
	char *stack;
	void *at;   /* its stack pointer while it sleeps */
	void *fake; /* ASan's */
	void (*body)(void);
	uint64_t until;
	bool passed;
};

struct life *here;

static void *turns_at; /* the same of those who give turns */
static const void *turns_stack;
static size_t turns_size;

/* --- bodies --- */

/* Stores the stack pointer and goes on at another one. (ASan clears the whole stack's shadow in swapcontext().) */
__attribute__((naked, noinline)) static void switch_stack(void **from __attribute__((unused)),
                                                          void *to __attribute__((unused)))
{
	__asm__("push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi); mov %rsi, %rsp;"
	        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret");
}

static void begin_fiber(void)
{
	__sanitizer_finish_switch_fiber(NULL, &turns_stack, &turns_size);
	here->fiber->body();
	here->fiber->passed = true;
	for (;;)
		program_wait(0);
}

void fiber_start(struct life *life, void (*body)(void))
{
	enum { SAVED = 6 /* registers */ };
	struct fiber *fiber = calloc(1, sizeof(*fiber));

	CHECK(fiber);
	fiber->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
	                    0);
	CHECK(fiber->stack != MAP_FAILED && !mprotect(fiber->stack, BELL_SIZE, PROT_NONE));
	fiber->body = body;
	void (**top)(void) = (void *)(fiber->stack + STACK_SIZE - 16);
	*top = begin_fiber; /* which finds the stack as a called function does */
	fiber->at = top - SAVED;
	life->fiber = fiber;
}

void fiber_resume(struct life *life)
{
	void *fake;

	__sanitizer_start_switch_fiber(&fake, life->fiber->stack, STACK_SIZE);
	switch_stack(&turns_at, life->fiber->at);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

static void sleep_until(uint64_t until)
{
	struct fiber *fiber = here->fiber;

	fiber->until = until;
	__sanitizer_start_switch_fiber(&fiber->fake, turns_stack, turns_size);
	switch_stack(&fiber->at, turns_at);
	__sanitizer_finish_switch_fiber(fiber->fake, &turns_stack, &turns_size);
}

uint64_t fiber_deadline(const struct life *life) { return life->fiber->until; }

void fiber_end(struct life *life)
{
	if (!life->fiber)
		return;
	__asan_unpoison_memory_region(life->fiber->stack, STACK_SIZE);
	munmap(life->fiber->stack, STACK_SIZE);
	free(life->fiber);
	life->fiber = NULL;
}

static void serve(void)
{
	here->calls->serve_start();
	for (;;) {
		while (here->calls->serve_pass())
			;
		if (here->calls->serve_prepare_sleep())
			sleep_until(here->calls->deadline());
	}
}

struct life *program_start(unsigned place, void (*body)(void))
{
	struct life *life = lab.apart ? life_start_apart(place) : life_start(place);

	if (lab.apart)
		fiber_start(&lab.life[place], serve);
	fiber_start(life, body);
	return life;
}

void program_passed(void) { here->fiber->passed = true; }

void program_vanish(void)
{
	program_passed();
	lab.life[own_place()].stopped = here->stopped = true;
	for (;;)
		sleep_until(0);
}

void program_finish(struct life *life, const char *name)
{
	const uint64_t start = lab.now;

	while (!life->fiber->passed) {
		lab_turn();
		if (lab.now - start > LONGEST * SECOND)
			fail("%s does not end", name);
	}
	printf("passed: %s, after %lu ms\n", name, (lab.now - start) / MILLISECOND);
}

/* --- skerry/posix.h, for the program whose turn it is --- */

int socket_create(int domain, int type, int protocol, struct file **out)
{
	return here->calls->socket(domain, type, protocol, out);
}

bool net_poll(void) { return here->calls->poll(); }
uint64_t net_deadline(void) { return here->calls->deadline(); }
bool net_prepare_sleep(void) { return here->calls->prepare_sleep(); }

bool program_wait(uint64_t deadline)
{
	uint64_t until = deadline, timer;

	if (net_poll())
		return true;
	if (deadline && lab.now >= deadline)
		return false;
	if (!net_prepare_sleep())
		return true;
	timer = net_deadline();
	if (timer && (!until || timer < until))
		until = timer;
	sleep_until(until);
	return true;
}

void settle(unsigned ms)
{
	const uint64_t deadline = in_ms(ms);

	while (program_wait(deadline))
		;
}

void program_pause(void)
{
	here->stopped = true;
	sleep_until(0);
}

void life_continue(struct life *life)
{
	life->stopped = false;
	life_wake(life);
}

/* --- edge-triggered watches --- */

enum { WATCHED = 8 };
static struct {
	const struct file *file;
	uint32_t wanted, seen;
} watched[WATCHED];

/* Its state then is the first edge. */
void file_watch(struct file *file, uint32_t events)
{
	static unsigned count;

	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].file == file) /* one that was closed */
			watched[i].file = 0;
	file->edge_triggered = true;
	watched[count % WATCHED].file = file;
	watched[count % WATCHED].wanted = events | EPOLLERR | EPOLLHUP;
	watched[count++ % WATCHED].seen = file->ready;
}

void file_edge(const struct file *file, uint32_t events)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].file == file)
			watched[i].seen |= events;
}

uint32_t file_watched(const struct file *file)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].file == file && watched[i].seen & watched[i].wanted) {
			watched[i].seen = 0;
			return file->ready & watched[i].wanted;
		}
	return 0;
}

/* --- calls that block --- */

ssize_t read_some(struct file *file, void *buffer, size_t size)
{
	ssize_t n;

	while ((n = file->ops->read(file, buffer, size)) == -EAGAIN)
		while (!(file->ready & (EPOLLIN | EPOLLHUP | EPOLLERR)))
			program_wait(0);
	return n;
}

ssize_t read_all(struct file *file, void *buffer, size_t size)
{
	ssize_t done = 0, n = 1;

	for (; n && (size_t)done < size; done += n) {
		n = read_some(file, (char *)buffer + done, size - (size_t)done);
		if (n < 0)
			return n;
	}
	return done;
}

ssize_t write_all(struct file *file, const void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t n = file->ops->write(file, (const char *)buffer + done, size - done);

		if (n < 0 && n != -EAGAIN)
			return n;
		done += n > 0 ? (size_t)n : 0;
		while (done < size && !(file->ready & (EPOLLOUT | EPOLLHUP | EPOLLERR)))
			program_wait(0);
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
			program_wait(0);
		*error = pending_error(file);
	}
	if (!*error)
		return file;
	close_file(file);
	return NULL;
}

struct file *listen_at(uint16_t port, int backlog)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct file *listener;

	CHECK(socket_create(AF_INET, SOCK_STREAM, 0, &listener) == 0);
	CHECK(listener->ops->bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listener->ops->listen(listener, backlog) == 0);
	return listener;
}
