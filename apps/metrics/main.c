/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint for Prometheus: what clusters, cores, locks and Redis instances
 * count, at http://ADDRESS:PORT/metrics (docs/metrics.md). Nothing is counted or
 * asked but when somebody scrapes. Exit status 1: it cannot serve; 2: wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"

enum { DEFAULT_PORT = 9100, DEFAULT_REDIS_PORT = 6379 };

static unsigned port_of(const char *option, const char *text)
{
	char *end;
	const unsigned long port = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && port > 0 && port < 65536)
		return (unsigned)port;
	fprintf(stderr, "metrics: --%s: '%s' is not a port\n", option, text);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "redis-port", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	unsigned port = DEFAULT_PORT, redis_port = DEFAULT_REDIS_PORT;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (option == 'p')
			port = port_of("port", optarg);
		else if (option == 'r')
			redis_port = port_of("redis-port", optarg);
		else
			return 2;
	if (optind < argc) {
		fprintf(stderr, "metrics: what is '%s'? There are --port and --redis-port\n", argv[optind]);
		return 2;
	}
	const int listener = server_open(port);
	if (listener < 0) {
		fprintf(stderr, "metrics: port %u: %s\n", port, strerror(errno));
		return 1;
	}
	server_run(listener, redis_port);
}
