/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads and saves data in a volume, around Redis's own functions (--wrap in build-redis.sh): what Redis needs a second
 * process for is refused, or done by the first one, unless the instance may fork (CHILDREN).
 */
#include <sys/stat.h>
#include <skerry/manager.h>
#include "server.h"
#include "data.h"

#pragma weak manager_listens_later /* not there on Linux, where a Redis is trained */
#pragma weak manager_listens_now

void __real_aofLoadManifestFromDisk(void);
int __real_aofDelHistoryFiles(void);
int __real_rdbSave(int request, char *name, rdbSaveInfo *replication RDB_FLAGS);
int __real_rdbSaveBackground(int request, char *name, rdbSaveInfo *replication RDB_FLAGS);
int __real_rewriteAppendOnlyFileBackground(void);
void __wrap_aofLoadManifestFromDisk(void);
int __wrap_aofDelHistoryFiles(void);
int __wrap_rdbSaveBackground(int request, char *name, rdbSaveInfo *replication RDB_FLAGS);
int __wrap_rewriteAppendOnlyFileBackground(void);

int is_in_volume(const char *path)
{
	struct stat there, root;

	return !stat(path, &there) && !stat("/", &root) && there.st_dev != root.st_dev;
}

int keeps_data(void) { return is_in_volume("."); }

void data_begin(void)
{
	if (manager_listens_later && keeps_data() && !server.sentinel_mode)
		manager_listens_later();
}

/* Called by Redis when all is loaded, and the log is open. */
int __wrap_aofDelHistoryFiles(void)
{
	const int status = __real_aofDelHistoryFiles();

	if (manager_listens_now)
		manager_listens_now();
	return status;
}

static int has_log(void)
{
	return server.aof_manifest->base_aof_info || listLength(server.aof_manifest->incr_aof_list) ||
	       !access(server.aof_filename, F_OK); /* of a Redis before 7 */
}

/*
 * Where there is no log yet, loads what was saved: the log that begins now has it in its base. Redis itself would begin
 * empty, and later save that.
 */
void __wrap_aofLoadManifestFromDisk(void)
{
	rdbSaveInfo replication = RDB_SAVE_INFO_INIT;

	__real_aofLoadManifestFromDisk();
	if (!server.aof_enabled || has_log())
		return;
	errno = 0;
	if (rdbLoad(server.rdb_filename, &replication, RDBFLAGS_NONE) == C_OK) {
		serverLog(LL_NOTICE, "DB loaded from %s, and the log begins with it", server.rdb_filename);
	} else if (errno != ENOENT) {
		serverLog(LL_WARNING, "Fatal error loading the DB: %s. Exiting.", strerror(errno));
		exit(1);
	}
}

#ifdef CHILDREN

/* Refused where the file would be the child's alone. */
int __wrap_rdbSaveBackground(int request, char *name, rdbSaveInfo *replication RDB_FLAGS)
{
	return keeps_data() ? __real_rdbSaveBackground(request, name, replication RDB_FLAGS_GIVEN) : C_ERR;
}

int __wrap_rewriteAppendOnlyFileBackground(void)
{
	return keeps_data() ? __real_rewriteAppendOnlyFileBackground() : C_ERR;
}

#else

/* Saves what a rule of `save` asks for in this process: clients wait meanwhile. */
int __wrap_rdbSaveBackground(int request, char *name, rdbSaveInfo *replication RDB_FLAGS)
{
	server.stat_rdb_saves++;
	server.dirty_before_bgsave = server.dirty;
	server.lastbgsave_try = time(NULL);
	if (!keeps_data())
		return C_ERR;
	return server.lastbgsave_status = __real_rdbSave(request, name, replication RDB_FLAGS_GIVEN);
}

/* Refused before anything is done: Redis would begin a new part of its log at each try. */
int __wrap_rewriteAppendOnlyFileBackground(void)
{
	server.aof_rewrite_scheduled = 0;
	return C_ERR;
}

#endif
