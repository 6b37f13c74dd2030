/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replication needs a master that forks to send its data: these refuse it at once where none can (CHILDREN: it can),
 * for Redis would answer OK and try again for ever. A Redis Cluster meets only at addresses within the machine. The
 * linker puts these in place of Redis's own (--wrap in build-redis.sh).
 */
#include "server.h"
#include "cluster.h"
#ifdef VALKEY
#include "cluster_legacy.h"
#endif

void __real_replicaofCommand(client *c);
void __real_clusterCommand(client *c);
void __real_syncCommand(client *c);
void __wrap_replicaofCommand(client *c);
void __wrap_clusterCommand(client *c);
void __wrap_syncCommand(client *c);

#ifdef CHILDREN
enum { REPLICATES = 1 };
#else
enum { REPLICATES = 0 };
#endif

static const char reason[] = "Replication is not available here: a master sends its data from a second process, and no "
                             "program here can fork";

static const char own_loopback[] =
	"CLUSTER MEET needs an address within the machine: 127.0.0.1 is this instance itself, whatever port of the "
	"host leads here; "
	"'skerry run --keep' prints the commands that create a cluster";

static const char no_slots[] = "This instance of a cluster has no slots: it may have been started again, without the "
                               "data of its former life";

static int argument_is(const client *c, int argument, const char *word)
{
	return c->argc > argument && !strcasecmp(c->argv[argument]->ptr, word);
}

/* NO ONE is what every instance is. */
void __wrap_replicaofCommand(client *c)
{
	if (REPLICATES || (argument_is(c, 1, "no") && argument_is(c, 2, "one")))
		__real_replicaofCommand(c);
	else
		addReplyError(c, reason);
}

void __wrap_clusterCommand(client *c)
{
	if (!REPLICATES && argument_is(c, 1, "replicate"))
		addReplyError(c, reason);
	else if (argument_is(c, 1, "meet") && c->argc > 2 && !strncmp(c->argv[2]->ptr, "127.", 4))
		addReplyError(c, own_loopback);
	else
		__real_clusterCommand(c);
}

/*
 * SYNC and PSYNC, also of redis-cli --rdb and --replica. Replicas find their master by its address. Where an instance
 * has been started again there, empty, sooner than they learn of its end, they would copy its emptiness.
 */
void __wrap_syncCommand(client *c)
{
	if (!REPLICATES)
		addReplyError(c, reason);
	else if (server.cluster_enabled && !server.cluster->myself->numslots)
		addReplyError(c, no_slots);
	else
		__real_syncCommand(c);
}
