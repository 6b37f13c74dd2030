/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

enum { SERVE_PATIENCE_MS = 60000, LOOK_MS = 20, BUFFER = 4096 };

static struct plan plan;

/* What a client printed and no newline has ended yet. */
static struct output {
	int fd;
	size_t length;
	char text[BUFFER];
} outputs[MAX_PROCESSES];

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Starts it pinned to its core; a client's standard output comes back through a pipe. */
static void start(struct process *p)
{
	struct output *out = &outputs[p - plan.processes];
	int pipe_ends[2] = { -1, -1 };
	cpu_set_t core;

	if (!p->port && pipe2(pipe_ends, O_CLOEXEC) != 0)
		fail("%s: pipe: %s", p->name, strerror(errno));
	p->pid = fork();
	if (p->pid < 0)
		fail("%s: fork: %s", p->name, strerror(errno));
	if (p->pid == 0) {
		CPU_ZERO(&core);
		CPU_SET((size_t)p->cpu, &core);
		if (sched_setaffinity(0, sizeof(core), &core) != 0)
			_exit(126);
		if (!p->port)
			dup2(pipe_ends[1], STDOUT_FILENO);
		execv(p->argv[0], p->argv);
		_exit(127);
	}
	p->running = true;
	out->fd = pipe_ends[0];
	if (pipe_ends[1] >= 0)
		close(pipe_ends[1]);
}

static bool answers_ping(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[8] = "";

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	const bool ok = s >= 0 && connect(s, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			write(s, "PING\r\n", 6) == 6 && read(s, answer, 7) == 7 && !strncmp(answer, "+PONG\r\n", 7);
	if (s >= 0)
		close(s);
	return ok;
}

/* Takes note of processes that have ended; a server must not. */
static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < plan.count; i++) {
			struct process *p = &plan.processes[i];
			if (p->pid != pid || !p->running)
				continue;
			p->running = false;
			plan.clients -= !p->port;
			const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			event("{\"event\":\"exit\",\"app\":\"%s\",\"status\":%d,\"ns\":%llu}", p->name, code, now_ns());
			if (p->port)
				fail("%s ended with status %d", p->name, code);
		}
}

static void start_servers(void)
{
	for (int i = 0; i < plan.count; i++)
		if (plan.processes[i].port)
			start(&plan.processes[i]);
	for (int i = 0; i < plan.count; i++) {
		struct process *p = &plan.processes[i];
		for (int waited = 0; p->port && !answers_ping(p->port); waited += 2) {
			if (waited > SERVE_PATIENCE_MS)
				fail("%s does not answer", p->name);
			reap();
			sleep_ms(2);
		}
		if (p->port)
			event("{\"event\":\"serving\",\"app\":\"%s\",\"cpu\":%d,\"port\":%d,\"ns\":%llu}", p->name,
			      p->cpu, p->port, now_ns());
	}
}

/* Whole lines go out one at a time, so that those of several clients do not mix. */
static void relay(const struct process *p)
{
	struct output *out = &outputs[p - plan.processes];
	const ssize_t n = read(out->fd, out->text + out->length, BUFFER - out->length);

	if (n <= 0) {
		close(out->fd);
		out->fd = -1;
		return;
	}
	out->length += (size_t)n;
	for (char *end; (end = memchr(out->text, '\n', out->length));) {
		const int line = (int)(end - out->text);
		event("{\"event\":\"result\",\"app\":\"%s\",\"cpu\":%d,\"data\":%.*s}", p->name, p->cpu, line,
		      out->text);
		out->length -= (size_t)line + 1;
		memmove(out->text, end + 1, out->length);
	}
	if (out->length == BUFFER)
		fail("a client prints a line of more than %d bytes", BUFFER);
}

static bool relay_all(int timeout_ms)
{
	struct pollfd fds[MAX_PROCESSES];
	bool open = false;

	for (int i = 0; i < plan.count; i++) {
		fds[i] = (struct pollfd){ .fd = plan.processes[i].port ? -1 : outputs[i].fd, .events = POLLIN };
		open |= fds[i].fd >= 0;
	}
	if (poll(fds, (nfds_t)plan.count, timeout_ms) > 0)
		for (int i = 0; i < plan.count; i++)
			if (fds[i].revents)
				relay(&plan.processes[i]);
	return open;
}

/* The clients leave a byte each in the rendezvous file when they have loaded, and when they are done. */
static void look_at_rendezvous(int all, int *reported)
{
	static const char *const barriers[] = { "barrier-1", "barrier-2" };
	struct stat st;

	while (*reported < 2 && plan.rendezvous && stat(plan.rendezvous, &st) == 0 &&
	       st.st_size >= (*reported + 1) * all)
		report_cores(barriers[(*reported)++]);
}

static void run_clients(void)
{
	const int all = plan.clients;
	int reported = 0;

	for (int i = 0; i < plan.count; i++)
		if (!plan.processes[i].port)
			start(&plan.processes[i]);
	while (plan.clients > 0 || relay_all(0)) {
		relay_all(LOOK_MS);
		look_at_rendezvous(all, &reported);
		reap();
	}
}

int main(void)
{
	struct utsname kernel;
	char clocksource[32] = "";
	FILE *file;

	signal(SIGPIPE, SIG_IGN);
	set_up();
	uname(&kernel);
	file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (file && fscanf(file, "%31s", clocksource) != 1)
		clocksource[0] = '\0';
	event("{\"event\":\"boot\",\"kernel\":\"%s\",\"cores\":%ld,\"clocksource\":\"%s\",\"ns\":%llu}", kernel.release,
	      sysconf(_SC_NPROCESSORS_ONLN), clocksource, now_ns());
	read_plan(&plan, "/plan");
	report_memory(&plan, "boot");
	start_servers();
	if (plan.symbols)
		report_symbols(&plan);
	report_memory(&plan, "serving");
	if (plan.clients == 0)
		for (;; sleep_ms(100))
			reap();
	run_clients();
	report_memory(&plan, "end");
	event("{\"event\":\"done\",\"ns\":%llu}", now_ns());
	power_off();
}
