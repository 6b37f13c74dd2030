/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint: one thread, a fixed number of connections, each of which has so
 * long for its request and so long to take the answer. Clients that wait for
 * /metrics at the same time get the same scrape.
 */
#pragma once

/* A socket that listens, or -1 and errno. */
int server_open(unsigned port);
_Noreturn void server_run(int listener, unsigned redis_port);
