/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * execve(): another program in the same process. An executable is one of the deployment's files, from which the manager
 * loads it (MANAGER_EXEC); a script may be any file. What the program keeps goes through a record (birth.h).
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <skerry/executable.h>
#include <skerry/span.h>
#include "birth.h"
#include "family.h"
#include "platform.h"
#include "ramfs.h"

enum {
	LINE = 256,                     /* bytes of a script that may be its first line, as on Linux */
	SCRIPTS = 5,                    /* one after another, as on Linux */
	ARGUMENTS = PROCESS_STACK_SIZE / 4, /* bytes of arguments and environment with their addresses, as on Linux */
	ARGUMENT = 32 * PAGE,           /* bytes of one of them */
	HEAD = 3 * SCRIPTS,             /* arguments that scripts bring */
};
_Static_assert(ARGUMENTS + 2 * PAGE <= PROCESS_EXEC_STACK, "with the auxiliary vector");

struct command {
	const char *path;               /* as it was named, or as the script names it */
	const char *head[HEAD];         /* the first arguments, from `first` on */
	unsigned first;
	char *const *rest;              /* the others; null: none */
	char *const *environment;
	char line[SCRIPTS][LINE + 1];
};

/* --- what is executed --- */

static int find_node(const char *path, struct ramfs_node **node)
{
	struct place there;
	const int error = path_find(AT_FDCWD, path, &there);

	return error ? error : there.volume ? -EACCES : path_node(&there, node);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static void put_front(struct command *c, const char *argument)
{
	require(c->first);
	c->head[--c->first] = argument;
}

/* A script: its interpreter is executed, with its own path in the place of the first argument. */
static int follow(struct command *c, const struct ramfs_node *node, char *line)
{
	const ssize_t size = ramfs_read(node, line, LINE, 0);
	char *end = memchr(line, '\n', (size_t)size);

	line[size] = 0;
	if (!end && size == LINE && !memchr(line + 2 + strspn(line + 2, " \t"), ' ', LINE - 2) &&
	    !memchr(line + 2 + strspn(line + 2, " \t"), '\t', LINE - 2))
		return -ENOEXEC; /* the interpreter's path may be longer */
	if (!end)
		end = line + strlen(line);
	while (end > line + 2 && is_blank(end[-1]))
		end--;
	*end = 0;
	char *interpreter = line + 2 + strspn(line + 2, " \t"), *argument = interpreter + strcspn(interpreter, " \t");
	if (!*interpreter)
		return -ENOEXEC;
	if (*argument) {
		*argument++ = 0;
		argument += strspn(argument, " \t");
	}
	if (c->first < HEAD)
		c->first++;
	else if (c->rest && *c->rest)
		c->rest++;
	put_front(c, c->path);
	if (*argument)
		put_front(c, argument);
	put_front(c, interpreter);
	c->path = interpreter;
	return 0;
}

/* Follows scripts to an executable. Returns 0 or an error. */
static int resolve(struct command *c, struct ramfs_node **node)
{
	for (unsigned depth = 0;; depth++) {
		char begin[4] = "";
		if (!S_ISREG((*node)->mode) || (*node)->special || !((*node)->mode & 0111))
			return -EACCES;
		ramfs_read(*node, begin, sizeof(begin), 0);
		if (!memcmp(begin, ELFMAG, SELFMAG))
			return 0;
		if (begin[0] != '#' || begin[1] != '!')
			return -ENOEXEC;
		if (depth == SCRIPTS)
			return -ELOOP;
		int error = follow(c, *node, c->line[depth]);
		if (!error)
			error = find_node(c->path, node);
		if (error)
			return error;
	}
}

/* Returns whether a program has the note of this form of the layer (family.c). */
static bool may_be_several(const struct elf_image *image, uint64_t size)
{
	static const struct { uint32_t name_size, size, type; char name[8]; } note = { 7, 0, 2, "Skerry" };

	for (uint32_t i = 0; i < image->header_count; i++) {
		Elf64_Phdr p;

		memcpy(&p, image->file + image->headers + i * sizeof(p), sizeof(p));
		if (p.p_type != PT_NOTE || !span_fits(p.p_offset, p.p_filesz, size))
			continue;
		for (uint64_t at = 0; at + sizeof(note) <= p.p_filesz;) {
			uint32_t head[2];
			if (!memcmp(image->file + p.p_offset + at, &note, sizeof(note)))
				return true;
			memcpy(head, image->file + p.p_offset + at, sizeof(head));
			at += 12 + ((head[0] + 3ull) & ~3ull) + ((head[1] + 3ull) & ~3ull);
		}
	}
	return false;
}

static int read_image(const struct ramfs_node *node, const char *path, struct elf_image *image)
{
	static struct error_message err;

	if (!ramfs_image_holds(node->file.image) || node->file.chunks || node->size != node->file.image_size) {
		console_log("posix: %s: a program can be executed only as a file of the deployment", path);
		return -ENOEXEC;
	}
	if (!elf_read(image, node->file.image, node->size, path, &err)) {
		console_log("posix: %s", err.text);
		return -ENOEXEC;
	}
	if (may_be_several(image, node->size))
		return 0;
	console_log("posix: %s is not made by skerry cc --processes", path);
	return -ENOEXEC;
}

/* --- its stack --- */

/* Strings and their addresses, in bytes; 0: one is too long. */
struct sizes {
	size_t count, bytes;
};

static bool add_size(struct sizes *s, const char *string)
{
	const size_t length = strnlen(string, ARGUMENT);

	s->count++;
	s->bytes += length + 1;
	return length < ARGUMENT && s->bytes + s->count * sizeof(char *) <= ARGUMENTS;
}

static bool measure(const struct command *c, struct sizes *arguments, struct sizes *all)
{
	for (unsigned i = c->first; i < HEAD; i++)
		if (!add_size(arguments, c->head[i]))
			return false;
	for (char *const *s = c->rest; s && *s; s++)
		if (!add_size(arguments, *s))
			return false;
	*all = *arguments;
	for (char *const *s = c->environment; s && *s; s++)
		if (!add_size(all, *s))
			return false;
	return true;
}

struct stack {
	char *block;      /* whole pages, which will end at PROCESS_STACK_TOP */
	size_t pages;
	char *strings;    /* the next one's place */
	uint64_t *words;  /* the next word's */
	size_t size;      /* of all that is in use */
	void *memory;     /* of which the block is a part */
};

static uint64_t final_address(const struct stack *s, const char *there)
{
	return PROCESS_STACK_TOP - (uint64_t)(s->block + s->pages * PAGE - there);
}

static uint64_t put_bytes(struct stack *s, const void *from, size_t size)
{
	char *there = s->strings;

	memcpy(there, from, size);
	s->strings += size;
	return final_address(s, there);
}

static uint64_t put_string(struct stack *s, const char *string) { return put_bytes(s, string, strlen(string) + 1); }

static void put_lists(struct stack *s, const struct command *c, size_t arguments)
{
	*s->words++ = arguments;
	for (unsigned i = c->first; i < HEAD; i++)
		*s->words++ = put_string(s, c->head[i]);
	for (char *const *a = c->rest; a && *a; a++)
		*s->words++ = put_string(s, *a);
	*s->words++ = 0;
	for (char *const *e = c->environment; e && *e; e++)
		*s->words++ = put_string(s, *e);
	*s->words++ = 0;
}

/* The block lies in one step of the heap, and all of it has been written. */
static int take_block(struct stack *s)
{
	s->memory = heap_map(2 * s->pages);
	if (!s->memory)
		return -ENOMEM;
	const uintptr_t begin = (uintptr_t)s->memory, next = (begin | (PROCESS_HEAP_STEP - 1)) + 1;
	s->block = (char *)(next - begin < s->pages * PAGE ? next : begin);
	memset(s->block, 0, s->pages * PAGE);
	return 0;
}

static int make_stack(struct stack *s, const struct command *c, const struct elf_image *image, const struct birth *left)
{
	struct sizes arguments = { 0 }, all;
	char random[16];
	const size_t auxiliary = 16 * sizeof(uint64_t[2]);

	if (!measure(c, &arguments, &all))
		return -E2BIG;
	const size_t path = strlen(c->path) + 1;
	s->size = (3 + all.count) * sizeof(uint64_t) + auxiliary + ((all.bytes + path + sizeof(random) + 15) & ~15ul);
	s->size = (s->size + 15) & ~15ul;
	s->pages = (s->size + PAGE - 1) / PAGE;
	if (s->size > PROCESS_EXEC_STACK)
		return -E2BIG;
	const int error = take_block(s);
	if (error)
		return error;
	s->words = (uint64_t *)(s->block + s->pages * PAGE - s->size);
	s->strings = (char *)(s->words + 3 + all.count) + auxiliary;
	put_lists(s, c, arguments.count);
	random_bytes(random, sizeof(random));
	int32_t id[6];
	user_get(id);
	const uint64_t vector[][2] = {
		{ AT_PHDR, elf_headers(image) }, { AT_PHENT, image->header_size }, { AT_PHNUM, image->header_count },
		{ AT_PAGESZ, PAGE }, { AT_ENTRY, image->entry }, { AT_RANDOM, put_bytes(s, random, sizeof(random)) },
		{ AT_EXECFN, put_string(s, c->path) }, { AT_UID, (uint32_t)id[0] }, { AT_EUID, (uint32_t)id[1] },
		{ AT_GID, (uint32_t)id[3] }, { AT_EGID, (uint32_t)id[4] }, { AT_SECURE, 0 },
		{ AT_SKERRY, PROCESS_INFO_VADDR }, { AT_SKERRY_BIRTH, (uintptr_t)left }, { AT_NULL, 0 },
	};
	_Static_assert(sizeof(vector) <= 16 * sizeof(uint64_t[2]), "room for it");
	memcpy(s->words, vector, sizeof(vector));
	require(s->strings <= s->block + s->pages * PAGE);
	return 0;
}

/* --- execve --- */

static long error_of(int error)
{
	switch (-error) {
	case SKERRY_BAD_ARGUMENT:
		return -ENOEXEC;
	case SKERRY_NO_RIGHTS: case SKERRY_NOT_FOUND:
		return -ENOSYS;
	default:
		return -ENOMEM;
	}
}

/* The registers of floating point are as at the start of a program. */
static int enter(const struct ramfs_node *node, const struct stack *s)
{
	const unsigned mxcsr = __builtin_ia32_stmxcsr();
	uint16_t control;

	__asm__ volatile("fnstcw %0\n\tfninit" : "=m"(control));
	__builtin_ia32_ldmxcsr(0x1f80);
	const int error = platform_exec((uint64_t)(node->file.image - (const char *)platform_files()), node->size,
	                                (uintptr_t)s->block, s->size);
	__builtin_ia32_ldmxcsr(mxcsr);
	__asm__ volatile("fldcw %0" : : "m"(control));
	return error;
}

static long execute(struct command *c, struct ramfs_node *node)
{
	const struct process_info *info = platform_info();
	struct elf_image image;
	struct stack stack = { 0 };
	struct birth *left = 0;

	if (info->places <= 1 || (process_id == 1 && (info->network.present || info->sockets || info->port_count)) ||
	    info->volume_count || info->device.present)
		return -ENOSYS;
	long error = resolve(c, &node);
	if (!error)
		error = read_image(node, c->path, &image);
	if (!error)
		error = birth_make(&left);
	if (!error)
		error = make_stack(&stack, c, &image, left);
	if (!error)
		error = error_of(enter(node, &stack));
	if (stack.memory)
		heap_unmap(stack.memory, 2 * stack.pages);
	if (left)
		birth_forget(left);
	return error;
}

static long start(struct ramfs_node *node, const char *path, const long *lists)
{
	static struct command c; /* the lock is held */
	char *const *const arguments = (char *const *)lists[0];

	c = (struct command){ .path = path, .first = HEAD, .rest = arguments,
	                      .environment = (char *const *)lists[1] };
	if (!arguments || !*arguments)
		put_front(&c, ""); /* as on Linux */
	event_leave();
	return execute(&c, node);
}

long sys_execve(const long *a)
{
	struct ramfs_node *node;

	layer_lock();
	long result = find_node((const char *)a[0], &node);
	if (!result)
		result = start(node, (const char *)a[0], a + 1);
	layer_unlock();
	return result;
}

/* By an open file, or by a path from the working directory. */
long sys_execveat(const long *a)
{
	char path[PATH_MAX];
	const char *name = (const char *)a[1];

	if (a[4] & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	if (name && *name && (a[0] == AT_FDCWD || *name == '/'))
		return sys_execve(a + 1);
	if (!name || *name || !(a[4] & AT_EMPTY_PATH))
		return name && *name ? -ENOSYS : -ENOENT;
	layer_lock();
	struct file *file = descriptor_file((int)a[0]);
	struct ramfs_node *node = file ? ramfs_node_of(file) : 0;
	long result = !file ? -EBADF : !node ? -EACCES : ramfs_path(node, path, sizeof(path)) ? 0 : -ENOENT;
	if (!result)
		result = start(node, path, a + 2);
	layer_unlock();
	return result;
}
