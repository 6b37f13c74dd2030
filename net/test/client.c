/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"
#include <string.h>
#include "server.h"
#include "test.h"

struct file *connect_server(void)
{
	int error;
	struct file *file = connect_to(layer_address(0), SERVER_PORT, &error);

	if (!file)
		fprintf(stderr, "connect: %s\n", strerror(error));
	CHECK(file);
	return file;
}

void close_file(struct file *file) { file->ops->close(file); }

void request(struct file *file, uint32_t operation, uint32_t size)
{
	struct request r = { operation, size };

	CHECK(write_all(file, &r, sizeof(r)) == sizeof(r));
}

uint64_t server_memory(void)
{
	struct file *file = connect_server();
	uint64_t memory = 0;

	request(file, REQUEST_MEMORY, 0);
	CHECK(read_all(file, &memory, sizeof(memory)) == sizeof(memory));
	close_file(file);
	return memory;
}

void settle(unsigned milliseconds)
{
	uint64_t deadline = layer_in(milliseconds);

	while (layer_wait(deadline))
		;
}

void fill(char *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
}

void echo(struct file *file, uint32_t size, unsigned seed)
{
	char *out = malloc(size + 1), *in = malloc(size + 1);

	fill(out, size, seed);
	request(file, REQUEST_ECHO, size);
	CHECK(write_all(file, out, size) == (ssize_t)size);
	CHECK(read_all(file, in, size) == (ssize_t)size);
	CHECK(!memcmp(in, out, size));
	free(out);
	free(in);
}
