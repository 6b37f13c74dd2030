/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces Redis's functions that write data to a disk, which no machine here has. The linker puts these in their place
 * (--wrap in build-redis.sh): they would report success for memory, or an error without its reason.
 */
#include "server.h"

void __real_aclCommand(client *);
void __wrap_aclCommand(client *);
void __wrap_saveCommand(client *);
void __wrap_bgsaveCommand(client *);
void __wrap_bgrewriteaofCommand(client *);
int __wrap_rdbSave(int request, char *name, rdbSaveInfo *replication);

static const char reason[] = "This instance has no disk to save to: its data lives as long as its process";

static void error_set(client *c) { addReplyError(c, reason); }
void __wrap_saveCommand(client *c) { error_set(c); }
void __wrap_bgsaveCommand(client *c) { error_set(c); }
void __wrap_bgrewriteaofCommand(client *c) { error_set(c); }

/* ACL SAVE, where there is a file to save to. */
void __wrap_aclCommand(client *c)
{
	if (c->argc == 2 && !strcasecmp(c->argv[1]->ptr, "save") && server.acl_filename[0])
		error_set(c);
	else
		__real_aclCommand(c);
}

/* SHUTDOWN SAVE: the answer is an error that refers to the log, and the instance lives on. */
int __wrap_rdbSave(int request, char *name, rdbSaveInfo *replication)
{
	(void)request, (void)name, (void)replication;
	serverLog(LL_WARNING, "%s", reason);
	return C_ERR;
}
