/* SPDX-License-Identifier: BSD-2-Clause */
/* The volume server between a program that asks anything and a host that answers anything. */
#include <errno.h>
#include <string.h>
#include "folder.h"

enum { LIFE = 2000, FIFO = 0010644, LINK = 0120777 };

static struct folder folder;
static struct volume volume;
static char *data; /* of the port: exactly FILE_PORT_MOST bytes */
static struct file_answer answer;

static int serve(struct file_request request)
{
	volume_serve(&volume, &request, data, &answer);
	CHECK(answer.status <= 0 && answer.status > -4096 && answer.size <= FILE_PORT_MOST);
	return answer.status;
}

static int ask(enum file_operation operation, uint32_t handle, uint32_t size, uint64_t offset)
{
	return serve((struct file_request){ .life = LIFE, .operation = operation, .handle = handle, .size = size,
	                                    .offset = offset });
}

static int ask_path(enum file_operation operation, const char *path, uint32_t flags)
{
	memcpy(data, path, strlen(path));
	return serve((struct file_request){ .life = LIFE, .operation = operation, .handle = FILE_NO_HANDLE,
	                                    .flags = flags, .mode = 0644, .path_size = (uint32_t)strlen(path) });
}

static int ask_paths(const char *from, const char *to)
{
	memcpy(data, from, strlen(from));
	memcpy(data + strlen(from), to, strlen(to));
	return serve((struct file_request){ .life = LIFE, .operation = FILE_RENAME, .path_size = (uint32_t)strlen(from),
	                                    .second_size = (uint32_t)strlen(to) });
}

static int hello(uint64_t life)
{
	return serve((struct file_request){ .life = life, .operation = FILE_HELLO, .handle = FILE_PORT_VERSION });
}

static void begin(void)
{
	folder_free(&folder);
	folder_start(&folder, &volume);
	CHECK(!hello(LIFE));
}

static int write_text(uint32_t handle, const char *text, uint64_t offset)
{
	memcpy(data, text, strlen(text));
	return ask(FILE_WRITE, handle, (uint32_t)strlen(text), offset);
}

static unsigned fids(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < FOLDER_FIDS; i++)
		count += folder.fid[i] != 0;
	return count;
}

/* What a program does all day. */
static void honest(void)
{
	begin();
	CHECK(!ask_path(FILE_MAKE, "results", 0) && ask_path(FILE_MAKE, "results", 0) == -EEXIST);
	CHECK(!ask_path(FILE_OPEN, "results/new", FILE_READS | FILE_WRITES | FILE_CREATES | FILE_EXCLUSIVE));
	const uint32_t handle = answer.handle;
	CHECK(!write_text(handle, "hello", 0) && answer.size == 5 && !write_text(handle, "!", 5));
	CHECK(!ask(FILE_READ, handle, 100, 1) && answer.size == 5 && !memcmp(data, "ello!", 5));
	CHECK(!ask(FILE_READ, handle, 100, 6) && !answer.size);
	CHECK(!ask(FILE_SYNC, handle, 0, 0) && folder.asked[P9_FSYNC] == 1);
	CHECK(!ask(FILE_STAT, handle, 0, 0) && answer.file.size == 6);
	CHECK(!ask_paths("results/new", "table.csv") && !ask_path(FILE_STAT, "table.csv", 0));
	CHECK(ask_path(FILE_STAT, "results/new", 0) == -ENOENT && ask_path(FILE_STAT, "table.csv/x", 0) == -ENOTDIR);
	CHECK(!ask_path(FILE_REMOVE, "results", FILE_DIRECTORY) && ask_path(FILE_REMOVE, "results", 0) == -ENOENT);
	CHECK(!ask_path(FILE_OPEN, "", FILE_READS | FILE_DIRECTORY));
	CHECK(!ask(FILE_LIST, answer.handle, 4096, 0) && answer.size == 32);
	const struct file_entry *entry = (const void *)data;
	CHECK(entry->size == 32 && entry->name_size == 9 && !memcmp(entry->name, "table.csv", 9) && entry->type == 8);
	CHECK(!ask(FILE_LIST, 1, 4096, entry->cookie) && !answer.size && ask(FILE_LIST, handle, 4096, 0) == -ENOTDIR);
	CHECK(!ask(FILE_SPACE, 0, 0, 0) && answer.space.available == 1000);
	CHECK(!ask(FILE_CLOSE, handle, 0, 0) && ask(FILE_READ, handle, 1, 0) == -EBADF && fids() == 2);
	CHECK(serve((struct file_request){ .life = LIFE, .operation = FILE_SET, .handle = FILE_NO_HANDLE,
	                                   .set = FILE_SET_LENGTH }) == -EISDIR);
}

/* Names of more than 16 steps, and of the greatest length. */
static void deep(void)
{
	char path[4 * 40] = "";

	begin();
	for (int i = 0; i < 20; i++) {
		strcat(path, i ? "/d" : "d");
		CHECK(!ask_path(FILE_MAKE, path, 0));
	}
	CHECK(!ask_path(FILE_STAT, path, 0) && fids() == 1);
	strcat(path, "/missing/below");
	CHECK(ask_path(FILE_STAT, path, 0) == -ENOENT && ask_path(FILE_OPEN, path, FILE_READS) == -ENOENT);
	CHECK(fids() == 1);
}

/* Requests that are none: each is refused, and the host is not asked. */
static void hostile_program(void)
{
	static const char *const paths[] = { "/", "a/", "/a", "a//b", ".", "..", "a/..", "../a", "a/../../b", "a/./b" };
	static char name[600];

	begin();
	folder_add(&folder, 0, "file", 0100644);
	CHECK(!ask_path(FILE_OPEN, "file", FILE_READS));
	const unsigned walks = folder.asked[P9_WALK];
	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		CHECK(ask_path(FILE_STAT, paths[i], 0) == -EINVAL);
		CHECK(ask_path(FILE_OPEN, paths[i], FILE_CREATES) == -EINVAL);
		CHECK(ask_paths("file", paths[i]) == -EINVAL && ask_paths(paths[i], "file") == -EINVAL);
	}
	memset(name, 'x', 256);
	CHECK(ask_path(FILE_STAT, name, 0) == -ENAMETOOLONG);
	memcpy(data, "a\0b", 3);
	CHECK(serve((struct file_request){ .life = LIFE, .operation = FILE_STAT, .handle = FILE_NO_HANDLE,
	                                   .path_size = 3 }) == -EINVAL);
	CHECK(serve((struct file_request){ .life = LIFE, .operation = FILE_STAT, .path_size = UINT32_MAX }) ==
	      -ENAMETOOLONG);
	CHECK(serve((struct file_request){ .life = LIFE, .operation = FILE_RENAME, .path_size = 0,
	                                   .second_size = FILE_PATH_MOST + 1 }) == -ENAMETOOLONG);
	CHECK(folder.asked[P9_WALK] == walks);
	for (enum file_operation operation = FILE_CLOSE; operation <= FILE_LIST; operation++) {
		const bool closes = operation == FILE_CLOSE, any = operation == FILE_STAT || operation == FILE_SET;

		CHECK(ask(operation, 1, 1, 0) == (closes ? 0 : -EBADF));
		CHECK(ask(operation, FILE_HANDLES, 1, 0) == (closes ? 0 : -EBADF));
		CHECK(any || ask(operation, FILE_NO_HANDLE, 1, 0) == (closes ? 0 : -EBADF));
	}
	CHECK(ask(FILE_READ, 0, FILE_PORT_MOST + 1, 0) == -EINVAL && ask(FILE_READ, 0, 1, INT64_MAX) == -EINVAL);
	CHECK(ask(FILE_WRITE, 0, 1, 0) == -EBADF); /* open to read */
	CHECK(ask(0, 0, 0, 0) == -ENOSYS && ask(99, 0, 0, 0) == -ENOSYS && ask(1000, 0, 0, 0) == -ENOSYS);
	CHECK(ask_path(FILE_REMOVE, "", FILE_DIRECTORY) == -EBUSY && ask_paths("", "file") == -EBUSY);
	for (unsigned i = 1; i < FILE_HANDLES; i++)
		CHECK(!ask_path(FILE_OPEN, "file", FILE_READS));
	CHECK(ask_path(FILE_OPEN, "file", FILE_READS) == -ENFILE);
}

/* What a former life has left open is closed, and what it still asks has no effect. */
static void lives(void)
{
	begin();
	CHECK(!ask_path(FILE_OPEN, "file", FILE_WRITES | FILE_CREATES) && fids() == 2);
	CHECK(!hello(LIFE + 2) && fids() == 1);
	CHECK(ask_path(FILE_REMOVE, "file", 0) == -ESTALE && ask(FILE_CLOSE, 0, 0, 0) == -ESTALE);
	CHECK(hello(0) == -EPROTO);
	CHECK(serve((struct file_request){ .life = LIFE + 2, .operation = FILE_READ }) == -EBADF);
}

/* The host's own kinds of files. */
static void kinds(void)
{
	begin();
	folder_add(&folder, 0, "fifo", FIFO);
	folder_add(&folder, 0, "link", LINK);
	CHECK(ask_path(FILE_OPEN, "fifo", FILE_READS) == -EACCES && ask_path(FILE_OPEN, "link", FILE_READS) == -ELOOP);
	CHECK(ask_path(FILE_STAT, "link/below", 0) == -ELOOP || ask_path(FILE_STAT, "link/below", 0) == -ENOTDIR);
	memcpy(data, "link", 4);
	CHECK(serve((struct file_request){ .life = LIFE, .operation = FILE_SET, .handle = FILE_NO_HANDLE,
	                                   .path_size = 4, .set = FILE_SET_MODE, .mode = 0777 }) == -ELOOP);
	CHECK(fids() == 1 && !folder.asked[P9_OPEN] && !folder.asked[P9_SETATTR]);
}

/* A full disk that has stored a part of a write: what is answered is what is stored, to the byte. */
static void full(void)
{
	uint32_t sum = 100;

	begin();
	CHECK(!ask_path(FILE_OPEN, "file", FILE_READS | FILE_WRITES | FILE_CREATES));
	const unsigned node = (unsigned)folder.fid[FID_HANDLES + answer.handle] - 1;
	memset(data, 'a', FILE_PORT_MOST);
	CHECK(!ask(FILE_WRITE, 0, 100, 0) && answer.size == 100);
	while (!ask(FILE_WRITE, 0, 6000 - sum, sum)) {
		CHECK(answer.size && answer.size < 6000 - sum);
		sum += answer.size;
	}
	CHECK(answer.status == -ENOSPC && sum == FOLDER_DATA && folder.node[node].size == FOLDER_DATA);
	CHECK(!volume.failed && !ask(FILE_SYNC, 0, 0, 0));
}

/* An error of the host is told, and remembered where data may be lost. */
static void failures(void)
{
	begin();
	CHECK(!ask_path(FILE_OPEN, "file", FILE_READS | FILE_WRITES | FILE_CREATES));
	folder.fail_type = P9_WRITE;
	folder.fail_with = ENOSPC;
	CHECK(write_text(0, "a", 0) == -ENOSPC);
	folder.fail_type = 0;
	CHECK(!write_text(0, "a", 0) && !ask(FILE_SYNC, 0, 0, 0));
	folder.fail_type = P9_FSYNC;
	CHECK(ask(FILE_SYNC, 0, 0, 0) == -ENOSPC);
	folder.fail_type = 0;
	CHECK(ask(FILE_SYNC, 0, 0, 0) == -EIO && write_text(0, "b", 0) == -EIO && ask_path(FILE_MAKE, "d", 0) == -EIO);
	CHECK(ask_path(FILE_OPEN, "file", FILE_WRITES) == -EIO && !ask_path(FILE_OPEN, "file", FILE_READS));
	CHECK(!hello(LIFE + 2) && volume.failed); /* for the program's next lives, too */
	begin();
	folder.removed = true;
	CHECK(ask_path(FILE_OPEN, "file", FILE_WRITES | FILE_CREATES) == -EIO && volume.failed && fids() == 1);
}

/* --- A host that lies --- */

static unsigned lie_kind;

static uint32_t one_lie(struct folder *f, uint8_t *reply, uint32_t size)
{
	(void)f;
	switch (lie_kind) {
	case 0: reply[5]++; return size;                      /* another tag */
	case 1: reply[4] += 2; return size;                   /* another type */
	case 2: reply[0]++; return size;                      /* a size that is not what was written */
	case 3: return 0;
	case 4: return P9_HEADER - 1;
	case 5: return P9_MESSAGE + 1;
	case 6: return UINT32_MAX;
	default: memset(reply + P9_HEADER, 0xff, 64); return size; /* counts that are too large */
	}
}

static void lies(void)
{
	for (lie_kind = 0; lie_kind < 7; lie_kind++) {
		begin();
		folder.lie = one_lie;
		CHECK(ask_path(FILE_STAT, "", 0) == -EIO && volume.session.broken);
		CHECK(ask_path(FILE_OPEN, "file", FILE_WRITES | FILE_CREATES) == -EIO);
		CHECK(ask(FILE_SPACE, 0, 0, 0) == -EIO);
	}
	for (enum file_operation operation = FILE_READ; operation <= FILE_WRITE; operation++) {
		begin();
		CHECK(!ask_path(FILE_OPEN, "file", FILE_READS | FILE_WRITES | FILE_CREATES));
		CHECK(!write_text(0, "text", 0));
		folder.lie = one_lie;
		CHECK(ask(operation, 0, 4, 0) == -EIO && volume.session.broken && !answer.size);
	}
}

/* An answer that is sound, of more than there is room for. */
static uint32_t too_much(struct folder *f, uint8_t *reply, uint32_t size)
{
	const uint32_t count = FILE_PORT_MOST + 1000, whole = count + 11;

	(void)f;
	if (reply[4] != P9_READ + 1)
		return size;
	memcpy(reply, &whole, sizeof(whole));
	memcpy(reply + P9_HEADER, &count, sizeof(count));
	return whole;
}

static void more_data(void)
{
	begin();
	CHECK(!ask_path(FILE_OPEN, "file", FILE_READS | FILE_WRITES | FILE_CREATES) && !write_text(0, "text", 0));
	folder.lie = too_much;
	CHECK(ask(FILE_READ, 0, FILE_PORT_MOST, 0) == -EIO && volume.session.broken && !answer.size);
}

static uint32_t bad_name(struct folder *f, uint8_t *reply, uint32_t size)
{
	(void)f;
	if (reply[4] == P9_READDIR + 1)
		reply[size - 1] = '/';
	return size;
}

static void bad_names(void)
{
	begin();
	folder_add(&folder, 0, "name", 0100644);
	CHECK(!ask_path(FILE_OPEN, "", FILE_READS) && !ask(FILE_LIST, 0, 4096, 0));
	folder.lie = bad_name;
	CHECK(ask(FILE_LIST, 0, 4096, 0) == -EIO && ask(FILE_LIST, 0, 8, 0) == -EIO);
}

/* A few bytes of some answers are any. */
static uint32_t some_lies(struct folder *f, uint8_t *reply, uint32_t size)
{
	if (folder_draw(f, 8))
		return size;
	for (uint64_t count = 1 + folder_draw(f, 4); count--;)
		reply[folder_draw(f, size < 64 ? size : 64)] = (uint8_t)(0xffu >> folder_draw(f, 8));
	return folder_draw(f, 6) ? size : (uint32_t)folder_draw(f, 2 * (uint64_t)size);
}

/* A request that is likely enough to be one. */
static struct file_request drawn_request(void)
{
	static const char *const paths[] = { "", "a", "b", "a/b", "a/b/c", "link", "fifo", "..", "long/long/long" };
	const char *first = paths[folder_draw(&folder, 9)], *second = paths[folder_draw(&folder, 9)];
	const uint32_t sizes[] = { 0, 1, 24, 100, 5000, FILE_PORT_MOST, FILE_PORT_MOST + 1 };

	memcpy(data, first, strlen(first));
	memcpy(data + strlen(first), second, strlen(second));
	return (struct file_request){
		.life = LIFE, .operation = 1 + (uint32_t)folder_draw(&folder, 14),
		.handle = folder_draw(&folder, 3) ? (uint32_t)folder_draw(&folder, 6) : FILE_NO_HANDLE,
		.flags = (uint32_t)folder_draw(&folder, 128), .mode = (uint32_t)folder_draw(&folder, 1 << 16),
		.offset = folder_draw(&folder, 10) ? folder_draw(&folder, 6000) : ~folder_draw(&folder, 1 << 20),
		.size = sizes[folder_draw(&folder, 7)], .path_size = (uint32_t)strlen(first),
		.second_size = (uint32_t)strlen(second), .set = (uint32_t)folder_draw(&folder, 16),
		.length = folder_draw(&folder, 10000),
	};
}

static void any(uint64_t seed)
{
	begin();
	folder_add(&folder, 0, "fifo", FIFO);
	folder_add(&folder, 0, "link", LINK);
	folder.drawn = seed;
	if (seed % 3) /* of each three folders one is honest */
		folder.lie = some_lies;
	for (unsigned i = 0; i < 60 && !volume.session.broken; i++) {
		const struct file_request request = drawn_request();

		serve(request);
		CHECK(answer.status || answer.size <= request.size || answer.size == 0);
		CHECK(folder.lie || !volume.session.broken);
	}
}

int main(void)
{
	data = malloc(FILE_PORT_MOST);
	memset(data, 0, FILE_PORT_MOST);
	honest();
	deep();
	hostile_program();
	lives();
	kinds();
	full();
	failures();
	lies();
	more_data();
	bad_names();
	for (uint64_t seed = 1; seed <= 3000; seed++)
		any(seed);
	folder_free(&folder);
	free(data);
	return 0;
}
