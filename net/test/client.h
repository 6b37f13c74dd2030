/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's clients (server.h): what the socket tests' scenarios are made of. All of it blocks. */
#pragma once

#include "layer.h"

struct file *connect_server(void);
void close_file(struct file *file);
void request(struct file *file, uint32_t operation, uint32_t size); /* its header */
void fill(char *bytes, size_t size, unsigned seed);
void echo(struct file *file, uint32_t size, unsigned seed); /* sends that, and checks the answer */
uint64_t server_memory(void); /* bytes that the server's stack has allocated */
/* Runs the network for so long. */
void settle(unsigned milliseconds);
