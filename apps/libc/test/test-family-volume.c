/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of a volume that processes share, over a server of one file: a child ends before each access to shared words
 * and around each request. The manager's part follows, and the parent finds its own file as it should be, no lock, and
 * at the server no handle but its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "family.h"
#include "family-stream.h"
#include "platform.h"
#include "volume.h"

enum { PARENT, CHILD, INODE = 7, CONTENT = 4096, ENDED = 3 };

/* The server. Its memory is its own: the processes do not use it. */
struct server {
	bool open[FILE_HANDLES];
	uint64_t served;
	uint32_t size;
	char content[CONTENT];
};

static struct family_area *const area = (struct family_area *)PROCESS_FAMILY_VADDR;
static struct file_port *port;
static struct server *server;
static struct process_info info = { .places = 2, .volume_count = 1, .life = 1000 };
static unsigned steps, ends_at, failures;

int process_id = 1;
_Atomic int layer_held = 1;
struct thread threads[THREADS_MAX];

#define CHECK(condition) ((condition) ? (void)0 : fails(__LINE__, #condition))
static void fails(int line, const char *condition)
{
	failures++;
	printf("line %d, step %u: %s\n", line, ends_at, condition);
	fflush(stdout);
}

void step(void)
{
	if (info.place == CHILD && ++steps == ends_at)
		_exit(ENDED);
}

/* --- the server --- */

static int32_t serve(const struct file_request *r, struct file_answer *answer)
{
	char *data = file_port_data(port);

	if (r->operation == FILE_HELLO)
		return 0;
	if (r->life != info.life)
		return -ESTALE;
	if (r->operation == FILE_OPEN) {
		while (answer->handle < FILE_HANDLES && server->open[answer->handle])
			answer->handle++;
		if (answer->handle == FILE_HANDLES)
			return -ENFILE;
		server->open[answer->handle] = true;
		answer->file = (struct file_status){ .mode = 0100644, .inode = INODE, .size = server->size };
		return 0;
	}
	if (r->handle >= FILE_HANDLES || (!server->open[r->handle] && r->operation != FILE_CLOSE))
		return -EBADF;
	answer->file.size = server->size;
	answer->size = r->size;
	if (r->operation == FILE_CLOSE)
		server->open[r->handle] = false;
	if (r->operation != FILE_WRITE)
		return 0;
	if (r->offset + r->size > CONTENT)
		return -ENOSPC;
	memcpy(server->content + r->offset, data, r->size);
	if (r->offset + r->size > server->size)
		server->size = (uint32_t)(r->offset + r->size);
	return 0;
}

static void run_server(void)
{
	if (port->asked == server->served)
		return;
	struct file_answer answer = { 0 };
	answer.status = serve(&port->request, &answer);
	port->answer = answer;
	server->served = port->asked;
	port->answered = port->asked;
}

/* --- the platform --- */

const struct process_info *platform_info(void) { return &info; }
struct file_port *platform_volume(unsigned volume) { return (void)volume, port; }
void platform_volume_ask(unsigned volume)
{
	(void)volume;
	CHECK(!port->gone); /* else nobody would wake this process */
	step();
	run_server();
	step();
}
void platform_volume_wait(unsigned volume) { (void)volume, CHECK(!"an answer that nobody was rung for"), exit(1); }
void platform_volume_turn(unsigned volume) { (void)volume; }
void platform_volume_turn_wait(unsigned volume) { (void)volume, CHECK(!"a port that nobody gives up"), exit(1); }
void platform_yield(void) { CHECK(!"a lock that nobody gives up"), exit(1); }
void event_notify(void) {}
int event_sleep(uint64_t deadline) { return (void)deadline, -EINTR; }
void family_tell(uint32_t places, uint32_t wake) { (void)places, (void)wake; }
uint64_t clock_nanoseconds(void) { return 0; }
int64_t clock_realtime_offset(void);
int64_t clock_realtime_offset(void) { return 0; }
void *layer_allocate(size_t size) { return calloc(1, size); }
void layer_free(void *memory) { free(memory); }
void file_init(struct file *file, const struct file_operations *ops, uint32_t flags)
{
	file->ops = ops;
	file->references = 1;
	file->flags = flags;
}
struct file *file_hold(struct file *file) { return file->references++, file; }
void file_put(struct file *file)
{
	if (!--file->references)
		file->ops->close(file);
}

/* --- the cases --- */

static struct file *open_file(int flags)
{
	const struct place there = { .before = "", .rest = "file", .volume = 1 };
	struct file *file = 0;

	CHECK(!volume_open(&there, flags, 0644, &file));
	return file;
}

static int lock_range(struct file *file, int command, int type, off_t first, off_t length)
{
	struct flock lock = { .l_type = (short)type, .l_whence = SEEK_SET, .l_start = first, .l_len = length };

	return (int)family_range_lock(file, command, &lock);
}

static unsigned handles(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < FILE_HANDLES; i++)
		count += server->open[i];
	return count;
}

static void begin(void)
{
	memset(area, 0, sizeof(*area));
	memset(port, 0, FILE_PORT_SIZE);
	memset(server, 0, sizeof(*server));
}

/* A child uses its parent's file and one of its own. */
static void child(struct file *shared)
{
	struct file *own = open_file(O_RDWR | O_APPEND);

	family_flock(own, LOCK_EX | LOCK_NB);
	lock_range(own, F_SETLK, F_WRLCK, 0, 100);
	lock_range(own, F_SETLK, F_UNLCK, 10, 10);
	lock_range(own, F_SETLK, F_RDLCK, 5, 50);
	own->ops->write(own, "own", 3);
	shared->ops->write(shared, "shared", 6);
	family_locks_closed(own);
	file_put(own);
	file_put(shared);
}

/* Returns whether the child has come so far. */
static bool ends_before(unsigned at)
{
	int status = 0;

	begin();
	struct file *shared = open_file(O_RDWR);
	CHECK(shared->ops->write(shared, "12", 2) == 2);
	volumes_fork();
	ends_at = at;
	fflush(stdout);
	const pid_t pid = fork();
	family_area_inherit(area, PARENT, CHILD);
	if (pid == 0) {
		info.place = CHILD;
		steps = 0;
		process_id = 2;
		child(shared);
		_exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == ENDED));
	family_area_leave(area, CHILD);

	struct file *own = open_file(O_RDWR);
	CHECK(handles() == 2);
	CHECK(!family_flock(own, LOCK_EX | LOCK_NB) && !lock_range(own, F_SETLK, F_WRLCK, 0, 0));
	const off_t offset = shared->ops->seek(shared, 0, SEEK_CUR);
	CHECK(offset == 8 || (offset == 2 && WEXITSTATUS(status) == ENDED));
	CHECK(shared->ops->write(shared, "!", 1) == 1 && server->content[offset] == '!');
	file_put(own);
	CHECK(handles() == 1);
	file_put(shared);
	CHECK(handles() == 0);
	for (unsigned i = 0; i < FAMILY_FILES; i++)
		CHECK(!area->files.file[i].holders);
	return WIFEXITED(status) && WEXITSTATUS(status) == ENDED;
}

/* A range in the middle of others, more ranges than there are places, and the same again when they are free. */
static void ranges(void)
{
	begin();
	struct file *file = open_file(O_RDWR);
	int count = 0;

	while (count <= FAMILY_FILE_LOCKS && !lock_range(file, F_SETLK, F_WRLCK, 10 * count, 5))
		count++;
	CHECK(count == FAMILY_FILE_LOCKS);
	CHECK(lock_range(file, F_SETLK, F_RDLCK, 2, 1) == -ENOLCK);
	CHECK(lock_range(file, F_SETLK, F_UNLCK, 2, 1) == -ENOLCK);
	CHECK(!lock_range(file, F_SETLK, F_WRLCK, 0, 1000));
	info.place = CHILD; /* another process */
	CHECK(lock_range(file, F_SETLK, F_RDLCK, 999, 1) == -EAGAIN);
	CHECK(lock_range(file, F_SETLK, F_RDLCK, 1005, 5) == 0);
	CHECK(lock_range(file, F_SETLKW, F_WRLCK, 0, 1) == -EINTR);
	info.place = PARENT;
	CHECK(!lock_range(file, F_SETLK, F_RDLCK, 100, 100) && !lock_range(file, F_SETLK, F_UNLCK, 120, 10));
	info.place = CHILD;
	CHECK(!lock_range(file, F_SETLK, F_RDLCK, 110, 10) && lock_range(file, F_SETLK, F_WRLCK, 110, 1) == -EAGAIN);
	CHECK(!lock_range(file, F_SETLK, F_WRLCK, 120, 10) && lock_range(file, F_SETLK, F_RDLCK, 99, 1) == -EAGAIN);
	info.place = PARENT;
	CHECK(!lock_range(file, F_SETLK, F_WRLCK, 2000, 1));
	family_locks_closed(file);
	info.place = CHILD;
	CHECK(!lock_range(file, F_SETLK, F_WRLCK, 2000, 1));
	family_locks_closed(file);
	info.place = PARENT;
	file_put(file);
}

/* A file lives on when its first process has closed it, until the last one has ended. */
static void inherited(void)
{
	begin();
	struct file *file = open_file(O_RDWR);

	volumes_fork();
	family_area_inherit(area, PARENT, CHILD);
	CHECK(!family_flock(file, LOCK_EX));
	file_put(file);
	CHECK(handles() == 1);
	file = open_file(O_RDWR);
	CHECK(handles() == 2 && family_flock(file, LOCK_SH | LOCK_NB) == -EAGAIN);
	family_area_leave(area, CHILD);
	CHECK(!family_flock(file, LOCK_SH | LOCK_NB));
	struct file *second = open_file(O_RDWR);
	CHECK(handles() == 2 && !family_flock(second, LOCK_SH | LOCK_NB));
	CHECK(family_flock(second, LOCK_EX | LOCK_NB) == -EAGAIN && !family_flock(file, LOCK_EX | LOCK_NB));
	file_put(file);
	file_put(second);
	CHECK(handles() == 0);
}

/* Each request to a server that has ended fails, not the first alone. */
static void ended_server(void)
{
	begin();
	struct file *file = open_file(O_RDWR);

	port->gone = 1;
	CHECK(file->ops->write(file, "x", 1) == -EIO && file->ops->write(file, "x", 1) == -EIO);
	file_put(file);
}

int main(void)
{
	const int shared = MAP_SHARED | MAP_ANONYMOUS;
	void *there = mmap(area, sizeof(*area), PROT_READ | PROT_WRITE, shared | MAP_FIXED_NOREPLACE, -1, 0);
	unsigned at = 1;

	port = mmap(0, FILE_PORT_SIZE, PROT_READ | PROT_WRITE, shared, -1, 0);
	server = mmap(0, sizeof(*server), PROT_READ | PROT_WRITE, shared, -1, 0);
	if (there != area || port == MAP_FAILED || server == MAP_FAILED)
		return 1;
	ranges();
	inherited();
	ended_server();
	while (ends_before(at) && !failures)
		at++;
	CHECK(at > 100);
	printf("%u steps\n", at);
	return failures != 0;
}
