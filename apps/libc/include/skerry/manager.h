/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the cluster-manager (process.h), for programs that know they run on Skerry. Calls return 0 or a negative
 * error of skerry/errors.h; any thread may make them. They wait for the answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One complete JSON object, at most MANAGER_BYTES long. */
int manager_result(const char *json);

/* Wait until all programs that the map counts have arrived at barrier `number` (1..). */
int manager_barrier(unsigned number);

/* This program now serves. */
int manager_serving(void);

/* The same, and it listens at TCP port `port` (0: at something else). */
int manager_listens(uint16_t port);

/* The same, at one IPv4 address (network byte order; 0: all). A program that listens at 127.0.0.0/8
 * alone does not serve. The socket layer calls it at listen(). */
int manager_listens_at(uint16_t port, uint32_t ipv4);

/*
 * Keep what manager_listens_at() would say from now on, and say it: for a program that listens before it has loaded
 * what it serves. Of more than 16 ports in between, the first 16 are said.
 */
void manager_listens_later(void);
void manager_listens_now(void);

/* Wait until the application `name` ("redis@2") serves. */
int manager_await(const char *name);

/* Have all clusters tell what they count (skerry/sample.h), which may take a second; read one record of that. */
int manager_sample(void);
int manager_sample_read(unsigned kind, unsigned index, unsigned core, void *record, size_t size);

/* IPv4 address of an application, network byte order. */
int manager_lookup(const char *name, uint32_t *ipv4);
