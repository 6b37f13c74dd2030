/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings that ask for what an instance does not have: a volume, or a second process. Redis would accept most of them,
 * and refuse all writes, or serve nothing, some time later. An explicit one is refused at once, with its name; a
 * default of Redis's own is left out. The linker puts these in place of Redis's own (--wrap in build-redis.sh).
 */
#include "server.h"
#include "data.h"

#define NO_DISK    "this instance has no disk to save to: its data lives as long as its process"
#ifdef CHILDREN
enum { HAS_CHILDREN = 1 };
#define NO_PROCESS "it would go on in a child"
#else
enum { HAS_CHILDREN = 0 };
#define NO_PROCESS "no program here can fork"
#endif
#define NO_LOG     "a log that is off begins only when the instance starts, with appendonly yes"

void __real_loadServerConfig(char *filename, char from_stdin, char *options);
void __real_configSetCommand(client *c);
void __wrap_loadServerConfig(char *filename, char from_stdin, char *options);
void __wrap_appendServerSaveParams(time_t seconds, int changes);
void __wrap_configSetCommand(client *c);
void __wrap_configRewriteCommand(client *c);

/* Called from other files for the three rules that a server without a configuration has: it has none here. */
void __wrap_appendServerSaveParams(time_t seconds, int changes) { (void)seconds, (void)changes; }

/* One line, to where the deployment's reader looks: a log file of Redis's would go with this process. */
static void refuse_setting(const char *setting, const char *why, const char *instead)
{
	fprintf(stderr, "'%s' is refused: %s; %s\n", setting, why, instead);
	exit(1);
}

static void refuse_save(void)
{
	char setting[64];

	snprintf(setting, sizeof(setting), "save %jd %d", (intmax_t)server.saveparams[0].seconds,
	         server.saveparams[0].changes);
	refuse_setting(setting, NO_DISK, "leave it out, or write: save \"\"");
}

/* A log has the newest data, and Redis does not read it then. */
static void check_log(void)
{
	char manifest[PATH_MAX];

	snprintf(manifest, sizeof(manifest), "%s/%s.manifest", server.aof_dirname, server.aof_filename);
	if (!server.aof_enabled && !access(manifest, F_OK))
		refuse_setting("appendonly no", "there is a log, which would not be read",
		               "write: appendonly yes, or move the log away");
}

static void check_settings(void)
{
	if (keeps_data())
		check_log();
	else if (server.saveparamslen)
		refuse_save();
	else if (server.aof_enabled)
		refuse_setting("appendonly yes", NO_DISK, "write: appendonly no");
	if (server.daemonize)
		refuse_setting("daemonize yes", NO_PROCESS ", and it would end before it serves",
		               "write: daemonize no");
	if (server.masterhost && !HAS_CHILDREN)
		refuse_setting("replicaof", "replication is not available, for " NO_PROCESS, "leave it out");
	if (!server.repl_diskless_sync && !keeps_data() && HAS_CHILDREN)
		refuse_setting("repl-diskless-sync no", NO_DISK, "write: repl-diskless-sync yes");
	if (server.io_threads_num > 1)
		fprintf(stderr, "Warning: 'io-threads %d' makes this instance many times slower: all threads of a "
		                "program run on one core, "
		                "and these spin for each other; write: io-threads 1\n", server.io_threads_num);
}

/* Settings are judged when all are read: a later line of a file, or an argument, may take an earlier one back. */
void __wrap_loadServerConfig(char *filename, char from_stdin, char *options)
{
	static int depth; /* files that are included are read within */

	depth++;
	__real_loadServerConfig(filename, from_stdin, options);
	if (!--depth) {
		check_settings();
		data_begin();
	}
}

/* Returns why a setting cannot be made, or null. Redis begins a log that was off by a second process. */
static const char *refusal(const char *name, const char *value)
{
	const int log = !strcasecmp(name, "appendonly") && !strcasecmp(value, "yes");

	if (keeps_data())
		return log && server.aof_state == AOF_OFF && !HAS_CHILDREN ? NO_LOG : NULL;
	if (!strcasecmp(name, "repl-diskless-sync") && !strcasecmp(value, "no") && HAS_CHILDREN)
		return NO_DISK;
	return log || (!strcasecmp(name, "save") && *value) ? NO_DISK : NULL;
}

/* Nothing is set then. Values may be secrets, and leave the command as Redis's own would have them leave it. */
static void refuse_command(client *c, int asked, const char *why)
{
	addReplyErrorFormat(c, "CONFIG SET failed (possibly related to argument '%s') - %s",
	                    (char *)c->argv[asked]->ptr, why);
	for (int i = 3; i < c->argc; i += 2)
		redactClientCommandArgument(c, i);
}

void __wrap_configSetCommand(client *c)
{
	for (int i = 2; i + 1 < c->argc; i += 2) {
		const char *why = refusal(c->argv[i]->ptr, c->argv[i + 1]->ptr);

		if (why)
			return refuse_command(c, i, why);
	}
	__real_configSetCommand(c);
}

void __wrap_configRewriteCommand(client *c)
{
	addReplyError(c, "CONFIG REWRITE failed - this instance has no disk to write to: its settings are those of the "
	                 "deployment");
}
