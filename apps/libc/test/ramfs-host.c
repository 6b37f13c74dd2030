/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include "platform.h"
#include "ramfs-host.h"

enum { OPEN_MOST = 64 };

struct process_info host_info = { .storage = 4 << 20 };
uint64_t host_time;
long allocations_left = -1, blocks_held;
static const struct file_tree *given;
static struct file *table[OPEN_MOST];

const struct process_info *platform_info(void) { return &host_info; }
const void *platform_files(void) { return given; }
/* No volumes. */
struct file_port *platform_volume(unsigned volume) { (void)volume; return 0; }
void platform_volume_ask(unsigned volume) { (void)volume; }
void platform_volume_wait(unsigned volume) { (void)volume; }
_Atomic int layer_held;
uint64_t clock_nanoseconds(void) { return host_time += 3; }
int64_t clock_realtime_offset(void);
int64_t clock_realtime_offset(void) { return 0; }

int descriptor_count_max(void) { return OPEN_MOST; }

static void *allocate(size_t size)
{
	if (!allocations_left)
		return 0;
	allocations_left -= allocations_left > 0;
	blocks_held++;
	return calloc(1, size);
}

void *layer_allocate(size_t size) { return allocate(size); }

/* Each page can be given back apart from the others. */
void *heap_map(size_t pages)
{
	if (!allocations_left)
		return 0;
	allocations_left -= allocations_left > 0;
	blocks_held += (long)pages;
	char *memory = mmap(0, (pages + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED && !munmap(memory + pages * PAGE, PAGE));
	return memory;
}

void layer_free(void *block)
{
	blocks_held -= block != 0;
	free(block);
}

void heap_unmap(void *address, size_t pages)
{
	blocks_held -= (long)pages;
	CHECK(!munmap(address, pages * PAGE));
}

void heap_usage(size_t *total, size_t *used) { *total = *used = 1 << 14; }

struct file *file_hold(struct file *file) { return file; }
__attribute__((weak)) long socket_ioctl(struct file *file, unsigned long request, void *argument)
{
	(void)file, (void)request, (void)argument;
	return -ENOTTY;
}
void file_put(struct file *file) { (void)file; }
int event_sleep(uint64_t deadline) { (void)deadline; return -EINTR; } /* files never wait */
uint64_t deadline_after(uint64_t nanoseconds) { return nanoseconds; }
__attribute__((weak)) bool net_poll(void) { return false; }
__attribute__((weak)) void console_log(const char *format, ...) { (void)format; }

void file_init(struct file *file, const struct file_operations *ops, uint32_t flags)
{
	file->ops = ops;
	file->references = 1;
	file->flags = flags;
}

struct file *descriptor_file(int fd) { return (unsigned)fd < OPEN_MOST ? table[fd] : 0; }

int descriptor_open(struct file *file, int lowest)
{
	for (int fd = lowest; fd < OPEN_MOST; fd++)
		if (!table[fd]) {
			table[fd] = file;
			return fd;
		}
	file->ops->close(file);
	return -EMFILE;
}

long call_close(long fd)
{
	table[fd]->ops->close(table[fd]);
	table[fd] = 0;
	return 0;
}

long call_open(const char *path, int flags) { return CALL(openat, -100, P(path), flags, 0644); }

const char *device_path(unsigned number, uint32_t *mode)
{
	*mode = S_IFCHR | 0666;
	return number == 1 ? "/dev/null" : 0;
}

int device_open(unsigned number, int flags, struct file **out)
{
	(void)number, (void)flags, (void)out;
	return -ENODEV;
}

static bool is_in(const char *path, const char *directory)
{
	const size_t length = strlen(directory);

	return *path && !strncmp(path, directory, length) && (!length || path[length] == '/') &&
	       !strchr(path + length + (length != 0), '/');
}

struct file_tree *tree_make(const struct host_file *files, uint32_t count)
{
	size_t at = sizeof(struct file_tree) + count * sizeof(struct file_tree_entry), names = at;

	for (uint32_t i = 0; i < count; i++)
		at += strlen(files[i].path) + 1;
	for (uint32_t i = 0; i < count; i++)
		at = (at + PAGE - 1) / PAGE * PAGE + files[i].size;
	struct file_tree *tree = calloc(1, at);
	*tree = (struct file_tree){ .magic = FILE_TREE_MAGIC, .version = FILE_TREE_VERSION, .count = count,
	                            .size = at };
	at = names;
	for (uint32_t i = 0; i < count; i++) {
		const char *slash = strrchr(files[i].path, '/'), *name = slash ? slash + 1 : files[i].path;
		struct file_tree_entry *e = &tree->entry[i];

		*e = (struct file_tree_entry){ .name = (uint32_t)at, .mode = files[i].mode, .size = files[i].size };
		strcpy((char *)tree + at, name);
		at += strlen(name) + 1;
		for (uint32_t j = count; e->mode & FILE_TREE_DIRECTORY && j-- > i + 1;)
			if (is_in(files[j].path, files[i].path)) {
				e->data = j;
				e->size++;
			}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (files[i].mode & FILE_TREE_DIRECTORY)
			continue;
		at = (at + PAGE - 1) / PAGE * PAGE;
		tree->entry[i].data = at;
		if (files[i].letter)
			memset((char *)tree + at, files[i].letter, files[i].size);
		at += files[i].size;
	}
	return tree;
}

void tree_give(const struct file_tree *tree, size_t bytes)
{
	given = tree;
	host_info.files_size = bytes;
}
