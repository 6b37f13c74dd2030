/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of Redis writes data to a disk, which no machine here has. The
 * linker puts these in place of Redis's own (--wrap in build-redis.sh), which
 * would say that all is saved: into memory, or not why it cannot be.
 */
struct client;
void addReplyError(struct client *, const char *);
void _serverLog(int level, const char *format, ...);
void __wrap_saveCommand(struct client *);
void __wrap_bgsaveCommand(struct client *);
void __wrap_bgrewriteaofCommand(struct client *);
int __wrap_rdbSave(int request, char *name, void *replication);

static const char reason[] = "This instance has no disk to save to: its data lives as long as its process";

static void error_set(struct client *c) { addReplyError(c, reason); }
void __wrap_saveCommand(struct client *c) { error_set(c); }
void __wrap_bgsaveCommand(struct client *c) { error_set(c); }
void __wrap_bgrewriteaofCommand(struct client *c) { error_set(c); }

/* SHUTDOWN SAVE: the answer is an error that refers to the log, and the instance lives on. */
int __wrap_rdbSave(int request, char *name, void *replication)
{
	enum { LL_WARNING = 3, C_ERR = -1 };

	(void)request, (void)name, (void)replication;
	_serverLog(LL_WARNING, "%s", reason);
	return C_ERR;
}
