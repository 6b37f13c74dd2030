/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are made when they are read from the start: /proc/self/stat and
 * statm, in the form of proc(5), where programs look up how much memory they use.
 *
 * Resident is what the process uses: the pages of its image, its network port
 * or what it shares with its stack process, those that malloc() and brk() have
 * taken from its heap, and of its stack and of mappings the touched ones
 * (resident.c). The rest of the heap is reserved, and counts only as size.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <skerry/bell.h>
#include <skerry/port.h>
#include <skerry/socket_port.h>
#include <string.h>
#include "layer.h"
#include "platform.h"

enum { TICKS_PER_SECOND = 100 };

struct proc_file {
	struct file file;
	size_t (*make)(char *text, size_t room);
	size_t position, length;
	char text[512];
};

/* Pages. */
struct usage {
	size_t size, resident;
	size_t shared; /* of the resident: read-only parts of the image, once for all processes of a program */
	size_t text;
};

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden"))); /* the linker's: in the first segment */

static size_t pages_of(const Elf64_Phdr *p)
{
	return (p->p_vaddr % PAGE + p->p_memsz + PAGE - 1) / PAGE;
}

static struct usage usage_now(void)
{
	const struct process_info *info = platform_info();
	const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
	struct usage u = { .resident = 2 /* process_info and IPC buffers */ + PROCESS_STACK_SIZE / PAGE };
	size_t heap, used;

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		u.resident += pages_of(&p[i]);
		if (!(p[i].p_flags & PF_W))
			u.shared += pages_of(&p[i]);
		if (p[i].p_flags & PF_X)
			u.text += pages_of(&p[i]);
	}
	if (info->network.present)
		u.resident += (PORT_SIZE + info->port_count * CABLE_SIZE + BELL_SIZE) / PAGE;
	if (info->sockets)
		u.resident += (SOCKET_PORT_HEAD + SOCKET_PORT_BUFFERS_SIZE) / PAGE;
	heap_usage(&heap, &used);
	u.size = u.resident + heap;
	u.resident += used - resident_untouched();
	return u;
}

static size_t print_text(char *to, size_t room, const char *format, ...)
{
	struct text text = { .data = to, .size = room };
	va_list args;

	va_start(args, format);
	text_vformat(&text, format, args);
	va_end(args);
	return text.length;
}

static size_t make_stat(char *text, size_t room)
{
	const struct usage u = usage_now();
	uint64_t cycles = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < thread_places; i++)
		if (threads[i].tid) {
			cycles += platform_thread_time(i);
			count++;
		}
	/* pid comm state ppid pgrp session tty tpgid flags, page faults (4), utime stime and of children (2), priority
	 * nice threads timer start, bytes of memory, pages resident, their limit; no addresses, no signals. */
	return print_text(text, room, "1 (%s) R 0 1 1 0 -1 0 0 0 0 0 %lu 0 0 0 20 0 %u 0 0 %lu %lu %lu"
	             " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	             platform_info()->name, cycles / (clock_cycles_per_second() / TICKS_PER_SECOND), count,
	             u.size * PAGE, u.resident, ~0ul);
}

static size_t make_statm(char *text, size_t room)
{
	const struct usage u = usage_now();

	/* size resident shared text lib data dirty */
	return print_text(text, room, "%lu %lu %lu %lu 0 %lu 0\n", u.size, u.resident, u.shared, u.text,
			  u.size - u.shared);
}

static ssize_t proc_read(struct file *file, void *buffer, size_t size)
{
	struct proc_file *f = (struct proc_file *)file;

	if (!f->position)
		f->length = f->make(f->text, sizeof(f->text));
	if (f->position >= f->length)
		return 0;
	if (size > f->length - f->position)
		size = f->length - f->position;
	memcpy(buffer, f->text + f->position, size);
	f->position += size;
	return (ssize_t)size;
}

static off_t proc_seek(struct file *file, off_t offset, int whence)
{
	struct proc_file *f = (struct proc_file *)file;
	off_t base = whence == SEEK_CUR ? (off_t)f->position : 0;

	if ((whence != SEEK_SET && whence != SEEK_CUR) || base + offset < 0)
		return -EINVAL;
	return (off_t)(f->position = (size_t)(base + offset));
}

static int proc_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFREG | 0444;
	st->st_nlink = 1;
	st->st_blksize = PAGE;
	return 0;
}

static const struct file_operations proc_ops = {
	.name = "proc", .read = proc_read, .seek = proc_seek, .stat = proc_stat,
};

static const struct {
	const char *path;
	size_t (*make)(char *text, size_t room);
} made[] = {
	{ "/proc/self/stat", make_stat },
	{ "/proc/self/statm", make_statm },
};

const char *proc_path(unsigned number) { return number < sizeof(made) / sizeof(made[0]) ? made[number].path : 0; }

int proc_open(unsigned number, int flags, struct file **out)
{
	if ((flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	struct proc_file *f = layer_allocate(sizeof(*f));
	if (!f)
		return -ENOMEM;
	file_init(&f->file, &proc_ops, (uint32_t)flags & O_NONBLOCK);
	f->file.ready = ALWAYS_READY;
	f->make = made[number].make;
	*out = &f->file;
	return 0;
}
