/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one system call again and again and prints how many a second. Its objects are its own: started on several
 * cores, it shares the kernel's lock with the others and nothing else. `none` and `lock` never enter the kernel.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <skerry/manager.h>
#include <skerry/process.h>
#include <skerry/stubs.h>

enum { BATCH = 16, ROUNDS = 160, WARM = 32, POOL_BITS = 14 };
/* Slots of the process's CNode that the POSIX layer leaves free. */
enum {
	SLOT_POOL = 200, SLOT_ENDPOINT, SLOT_REPLY, SLOT_NOTIFICATION, SLOT_TABLES, TABLES = 3,
	SLOT_MANY = SLOT_TABLES + TABLES, /* BATCH frames or notifications */
};
_Static_assert(SLOT_MANY + BATCH <= PROCESS_SLOT_CABLE_WAKE, "they fit");
#define PAGES 0x0000650000000000ull /* where nothing is mapped, and no page table is */
#define IPC   ((struct ipc_buffer *)PROCESS_IPC_VADDR)

struct kind {
	const char *name;
	int (*prepare)(void);
	int (*one)(unsigned i);  /* what is counted and timed */
	int (*undo)(unsigned i); /* behind each batch, not timed; NULL: nothing */
};

static int make(enum skerry_object object, unsigned bits, uint64_t slot, unsigned count)
{
	return untyped_retype(IPC, PROCESS_SLOT_UNTYPED, object, bits, PROCESS_SLOT_CNODE, slot, count);
}

static int nothing(void) { return 0; }
static int none(unsigned i) { return (int)i < 0; }

static int lock(unsigned i)
{
	static atomic_int taken;

	while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
		__builtin_ia32_pause();
	atomic_store_explicit(&taken, 0, memory_order_release);
	return (int)i < 0;
}

static int make_notification(void) { return make(OBJECT_NOTIFICATION, 0, SLOT_NOTIFICATION, 1); }
static int signal_own(unsigned i) { return i < BATCH ? notification_signal(SLOT_NOTIFICATION) : -1; }

/* A system call that finds nothing to do. */
static int null_call(unsigned i)
{
	uint64_t word;
	const int error = notification_poll(SLOT_NOTIFICATION, &word);

	return i < BATCH && !word ? error : -1;
}

static void *serve(void *unused)
{
	struct message m = { 0 };
	int error = ipc_receive(SLOT_ENDPOINT, SLOT_REPLY, &m);

	while (!error)
		error = ipc_reply_receive(SLOT_ENDPOINT, SLOT_REPLY, &m);
	return unused;
}

static int make_server(void)
{
	pthread_t server;
	int error = make(OBJECT_ENDPOINT, 0, SLOT_ENDPOINT, 1);

	if (!error)
		error = make(OBJECT_REPLY, 0, SLOT_REPLY, 1);
	return error ? error : -pthread_create(&server, NULL, serve, NULL);
}

static int call(unsigned i)
{
	struct message m = { .info = message_info(1, 0, 1), .word = { i } };

	return ipc_call(SLOT_ENDPOINT, &m);
}

static int map(unsigned i)
{
	return frame_map(IPC, SLOT_MANY + i, PROCESS_SLOT_VSPACE, PAGES + i * 4096ull, RIGHT_READ | RIGHT_WRITE,
	                 CACHE_WRITE_BACK);
}

static int unmap(unsigned i) { return frame_unmap(SLOT_MANY + i); }

static int make_frames(void)
{
	int error = make(OBJECT_FRAME_4K, 0, SLOT_MANY, BATCH);

	if (!error)
		error = make(OBJECT_PAGE_TABLE, 0, SLOT_TABLES, TABLES);
	for (unsigned i = 0; !error && i < TABLES; i++)
		error = page_table_map(IPC, SLOT_TABLES + i, PROCESS_SLOT_VSPACE, PAGES);
	return error;
}

static int make_mapped(void)
{
	int error = make_frames();

	for (unsigned i = 0; !error && i < BATCH; i++)
		error = map(i);
	return error;
}

static int make_pool(void) { return make(OBJECT_UNTYPED, POOL_BITS, SLOT_POOL, 1); }

static int retype(unsigned i)
{
	return untyped_retype(IPC, SLOT_POOL, OBJECT_NOTIFICATION, 0, PROCESS_SLOT_CNODE, SLOT_MANY + i, 1);
}

static int revoke(unsigned i) { return i ? 0 : cnode_revoke(PROCESS_SLOT_CNODE, SLOT_POOL); }

static const struct kind kinds[] = {
	{ "none", nothing, none, NULL },
	{ "lock", nothing, lock, NULL },
	{ "null", make_notification, null_call, NULL },
	{ "signal", make_notification, signal_own, NULL },
	{ "call", make_server, call, NULL },
	{ "map", make_frames, map, unmap },
	{ "unmap", make_mapped, unmap, map },
	{ "retype", make_pool, retype, revoke },
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Turns of a loop without memory, as many as `mean` on average. */
static void compute(unsigned mean)
{
	static uint64_t state = 1;

	for (uint64_t left = mean ? (state >> 33) % (2ull * mean) : 0; left; left--)
		__asm__ volatile("" : "+r"(left));
	state = state * 6364136223846793005ull + 1442695040888963407ull;
}

/* Returns the seconds of so many rounds, whole batches, without what undoes them. */
static double run(const struct kind *kind, unsigned rounds, unsigned between)
{
	double seconds = 0;
	int error = 0;

	for (unsigned done = 0; done < rounds; done += BATCH) {
		const double begin = now();
		for (unsigned i = 0; !error && i < BATCH; i++) {
			compute(between);
			error = kind->one(i);
		}
		seconds += now() - begin;
		for (unsigned i = 0; kind->undo && !error && i < BATCH; i++)
			error = kind->undo(i);
	}
	if (error) {
		fprintf(stderr, "entries: %s: error %d\n", kind->name, -error);
		exit(1);
	}
	return seconds;
}

static const struct kind *kind_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct kind *kind = argc > 1 ? kind_of(argv[1]) : NULL;
	const long rounds = argc > 2 ? atol(argv[2]) : ROUNDS, between = argc > 3 ? atol(argv[3]) : 0;

	if (!kind || rounds < BATCH || rounds > 1 << 20 || rounds % BATCH || between < 0 || between > 1 << 20) {
		fprintf(stderr, "usage: entries none|lock|null|signal|call|map|unmap|retype [ROUNDS [TURNS]]\n"
		                "ROUNDS: a multiple of %d. TURNS: of a loop, before each\n", BATCH);
		return 2;
	}
	const int error = kind->prepare();
	if (error) {
		fprintf(stderr, "entries: %s: no objects for it, error %d\n", kind->name, -error);
		return 1;
	}
	manager_barrier(1);
	run(kind, WARM, (unsigned)between); /* a modelled machine's caches begin empty */
	const double seconds = run(kind, (unsigned)rounds, (unsigned)between);
	run(kind, WARM, (unsigned)between); /* the others are still measured, beside this one as before */
	manager_barrier(2);
	printf("skerry-metric: %s %.0f calls/s\n", kind->name, (double)rounds / seconds);
	return 0;
}
