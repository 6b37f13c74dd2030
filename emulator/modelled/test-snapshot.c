/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of a process with threads: each thread goes on with its registers, stack and storage, waits for what it waited
 * for, and can be joined; files, counters and sockets of a copy are its own. */
#define _GNU_SOURCE
#include "snapshot.h"
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test-common.h"

enum { COPIES = 3, COUNT = 7, STATUS = 40, MINE = 17 };

static char folder[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_copy, waits;
static _Atomic bool runs, ends;
static unsigned threads_moved;
static __thread unsigned mine;

static const char *place(const char *name, unsigned number)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%u/%s", folder, number, name);
	return path;
}

/* ---- the process that is copied ---- */

static void *await_change(void *number)
{
	mine = (unsigned)(uintptr_t)number;
	pthread_mutex_lock(&mutex);
	waits = true;
	while (!is_copy)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return (void *)(uintptr_t)mine;
}

static void *run(void *number)
{
	double halves = 0;
	mine = (unsigned)(uintptr_t)number;
	for (unsigned turns = 0; !ends; turns++) {
		runs = true;
		EXPECT(2 * halves, turns);
		halves += 0.5;
	}
	return (void *)(uintptr_t)mine;
}

static void moved(pid_t was, pid_t is)
{
	EXPECT(was != is, true);
	threads_moved++;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(address.sun_path, path);
	EXPECT(bind(file, (struct sockaddr *)&address, sizeof(address)) | listen(file, 1), 0);
	return file;
}

static void join(pthread_t thread, unsigned number)
{
	void *result;
	EXPECT(pthread_join(thread, &result), 0);
	EXPECT((uintptr_t)result, number);
}

static _Noreturn void end_copy(const struct snapshot_request *request, int file, int counter, int monitor)
{
	struct sockaddr_un address;
	socklen_t size = sizeof(address);
	uint64_t count = 0;
	EXPECT(read(counter, &count, sizeof(count)), sizeof(count));
	EXPECT(count, COUNT);
	EXPECT(getsockname(monitor, (struct sockaddr *)&address, &size), 0);
	EXPECT(strcmp(address.sun_path, place("monitor", (unsigned)request->salt)), 0);
	dprintf(file, "copy %llu", (unsigned long long)request->salt);
	_exit(STATUS + (int)request->salt);
}

static _Noreturn void be_machine(void)
{
	static struct snapshot_request request;
	pthread_t thread[2];
	int file = open(place("file", 0), O_WRONLY | O_CREAT, 0600), counter = eventfd(COUNT, EFD_NONBLOCK);
	int monitor = listen_at(place("monitor", 0));
	dprintf(file, "machine, ");
	EXPECT(pthread_create(&thread[0], NULL, await_change, (void *)MINE), 0);
	EXPECT(pthread_create(&thread[1], NULL, run, (void *)(MINE + 1)), 0);
	for (bool ready = false; !ready;) {
		pthread_mutex_lock(&mutex);
		ready = waits && runs;
		pthread_mutex_unlock(&mutex);
	}
	const char *wrong = snapshot_serve(place("asks", 0), &request, moved);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		_exit(1);
	}
	EXPECT(threads_moved, 3);
	pthread_mutex_lock(&mutex);
	is_copy = true;
	pthread_mutex_unlock(&mutex);
	pthread_cond_signal(&changed);
	ends = true;
	join(thread[0], MINE);
	join(thread[1], MINE + 1);
	EXPECT(strcmp(request.prices, request.salt == 1 ? "" : "some prices"), 0);
	end_copy(&request, file, counter, monitor);
}

/* ---- the one that asks ---- */

static long receive_number(int from)
{
	char text[32] = "";
	for (size_t size = 0; size < sizeof(text) - 1 && !strchr(text, '\n'); size++)
		EXPECT(recv(from, text + size, 1, 0), 1);
	return strtol(text, NULL, 10);
}

static void expect_file(unsigned number, const char *expected)
{
	char text[64] = "";
	int file = open(place("file", number), O_RDONLY);
	EXPECT(read(file, text, sizeof(text) - 1), strlen(expected));
	EXPECT(strcmp(text, expected), 0);
	close(file);
}

static void copies(int asks)
{
	for (unsigned number = 1; number <= COPIES; number++) {
		char expected[64];
		mkdir(place("", number), 0700);
		dprintf(asks, "%u\n%s/%u\n%s\n", number, folder, number, number == 1 ? "" : "some prices");
		EXPECT(receive_number(asks) > 0, true);
		EXPECT(receive_number(asks), (STATUS + number) << 8);
		snprintf(expected, sizeof(expected), "machine, copy %u", number);
		expect_file(number, expected);
		expect_file(0, "machine, ");
	}
}

/* A copy that cannot have its files says so and ends; the machine goes on making copies. */
static void no_folder(int asks)
{
	dprintf(asks, "1\n%s/none\n\n", folder);
	EXPECT(receive_number(asks) > 0, true);
	EXPECT(receive_number(asks), 1 << 8);
}

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *where)
{
	(void)is, (void)kind, (void)where;
	return remove(path);
}

static void clean_up(void) { nftw(folder, remove_one, 4, FTW_DEPTH | FTW_PHYS); }

int main(void)
{
	int status;
	strcpy(folder, "/tmp/skerry-test-snapshot-XXXXXX");
	EXPECT(mkdtemp(folder) != NULL, true);
	mkdir(place("", 0), 0700);
	int listener = listen_at(place("asks", 0));
	pid_t machine = fork();
	if (!machine)
		be_machine();
	atexit(clean_up);
	int asks = accept(listener, NULL, NULL);
	no_folder(asks);
	copies(asks);
	close(asks);
	EXPECT(waitpid(machine, &status, 0), machine);
	EXPECT(status, 0); /* it ends when nobody asks any more */
	return 0;
}
