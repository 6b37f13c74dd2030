/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces Redis's functions that write data to a disk, where an instance has no volume, or only a second process could
 * do it. The linker puts these in their place (--wrap in build-redis.sh): they would report success for memory, or an
 * error without its reason.
 */
#include "server.h"
#include "data.h"

void __real_aclCommand(client *);
void __wrap_aclCommand(client *);
void __real_saveCommand(client *);
int __real_rdbSave(int request, char *name, rdbSaveInfo *replication RDB_FLAGS);
void __real_bgsaveCommand(client *);
void __real_bgrewriteaofCommand(client *);
void __wrap_saveCommand(client *);
void __wrap_bgsaveCommand(client *);
void __wrap_bgrewriteaofCommand(client *);
int __wrap_rdbSave(int request, char *name, rdbSaveInfo *replication RDB_FLAGS);

static const char reason[] = "This instance has no disk to save to: its data lives as long as its process";

#ifndef CHILDREN
static const char no_process[] = "A second process would do this, and no Redis here can fork: SAVE writes all data, "
                                 "and clients wait meanwhile";
#endif

static void error_set(client *c) { addReplyError(c, reason); }

void __wrap_saveCommand(client *c)
{
	if (keeps_data())
		__real_saveCommand(c);
	else
		error_set(c);
}

#ifdef CHILDREN
void __wrap_bgsaveCommand(client *c)
{
	if (keeps_data())
		__real_bgsaveCommand(c);
	else
		error_set(c);
}

void __wrap_bgrewriteaofCommand(client *c)
{
	if (keeps_data())
		__real_bgrewriteaofCommand(c);
	else
		error_set(c);
}
#else
static void refuse_second_process(client *c) { addReplyError(c, keeps_data() ? no_process : reason); }
void __wrap_bgsaveCommand(client *c) { refuse_second_process(c); }
void __wrap_bgrewriteaofCommand(client *c) { refuse_second_process(c); }
#endif

/* ACL SAVE, where there is a file to save to. */
void __wrap_aclCommand(client *c)
{
	if (c->argc == 2 && !strcasecmp(c->argv[1]->ptr, "save") && server.acl_filename[0] &&
	    !is_in_volume(server.acl_filename))
		error_set(c);
	else
		__real_aclCommand(c);
}

/* SHUTDOWN SAVE without a volume: the answer is an error that refers to the log, and the instance lives on. */
int __wrap_rdbSave(int request, char *name, rdbSaveInfo *replication RDB_FLAGS)
{
	if (keeps_data())
		return __real_rdbSave(request, name, replication RDB_FLAGS_GIVEN);
	serverLog(LL_WARNING, "%s", reason);
	return C_ERR;
}
