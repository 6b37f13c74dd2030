/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contents of a checked map: test-cluster-map.dts, compiled, and edits of it. Refused maps are in
 * cluster-manager/loader/test-map*.c.
 */
#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

enum { ROOM = MAP_MAX_SIZE };

#define APPLICATIONS "/applications"
#define REDIS "/applications/redis@2"

#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, err.text); \
			failures++;                                                       \
		}                                                                         \
	} while (0)

static _Alignas(8) char sound[ROOM], tree[ROOM];
static struct cluster_map map;
static struct error_message err;
static int failures;

static bool read_tree(void)
{
	err.text[0] = '\0';
	return cluster_map_read(&map, tree, fdt_totalsize(tree), &err);
}

static void must(int error)
{
	if (error < 0) {
		fprintf(stderr, "libfdt: %s\n", fdt_strerror(error));
		exit(2);
	}
}

static void fresh(void)
{
	must(fdt_open_into(sound, tree, ROOM));
}

static void set(const char *path, const char *property, const void *value, int size)
{
	must(fdt_setprop(tree, fdt_path_offset(tree, path), property, value, size));
}

static const struct map_application *find(const char *name)
{
	for (uint32_t i = 0; i < map.application_count; i++)
		if (strcmp(map.application[i].name, name) == 0)
			return &map.application[i];
	fprintf(stderr, "there is no %s\n", name);
	exit(1);
}

static int place(const char *name) { return (int)(find(name) - map.application); }

static void clusters(void)
{
	fresh();
	CHECK(read_tree());
	CHECK(map_is_valid(&map, map.size) && !map_is_valid(&map, map.size - 1) && map.size < sizeof map - ROOM / 2);
	CHECK(map.cpu_count == 3 && map.cpu[1].apic == 4 && map.cpu[1].has_node && map.cpu[1].node == 3 &&
	      !map.cpu[0].has_node);
	CHECK(map.cluster_count == 2 && map.primary == 0 && map.cluster[0].number == 1);
	const struct map_cluster *c = map_cluster(&map, 0);
	CHECK(c == &map.cluster[1] && c->cpu_count == 2 && c->cpu[0] == 1 && c->cpu[1] == 0 && c->devices &&
	      !map.cluster[0].devices);
	CHECK(strcmp(c->name, "cluster@0") == 0 && strcmp(c->kernel, "clh+stat") == 0 && strcmp(c->root, "first") == 0);
	CHECK(c->module_count == 3 && strcmp(c->module[1], "virtio-net") == 0);
	CHECK(c->memory_count == 2 && c->memory[1].base == 1ull << 32 && c->memory[1].size == 1 << 30);
	CHECK(!c->restart && c->restart_limit == MAP_RESTART_LIMIT && c->restart_delay == MAP_RESTART_DELAY);
	CHECK(map_cluster(&map, 2) == NULL);
	CHECK(map.channel_count == 1 && map.channel[0].number == 5 && map.channel[0].end[0] == 1 &&
	      map.channel[0].end[1] == 0);
	CHECK(!map.channel[0].remote && map.channel[0].memory.base == 1 << 30 && map.channel[0].memory.size == 1 << 24);
	CHECK(map.network.present && map.network.mtu == 1400 && map.shutdown_when_done && !map.patience);
	must(fdt_setprop_u32(tree, fdt_path_offset(tree, "/run"), "patience", 100));
	CHECK(read_tree() && map.patience == 100);
	must(fdt_setprop_u32(tree, fdt_path_offset(tree, "/run"), "patience", 60000));
	CHECK(read_tree() && map.patience == 60000);
	CHECK(!memcmp(&map.network.gateway, "\x0a\x00\x02\x02", 4) &&
	      !memcmp(&map.network.netmask, "\xff\xff\xff\x00", 4));
	must(fdt_del_node(tree, fdt_path_offset(tree, "/run")));
	CHECK(read_tree() && !map.shutdown_when_done);
}

static void applications(void)
{
	static const char *const args[] = { "--port", "6379", "--save", "" };
	const char *s = NULL;

	fresh();
	CHECK(read_tree() && map.application_count == 4);
	const struct map_application *nic = find("nic@1"), *redis = find("redis@2"), *ycsb = find("ycsb@3");
	CHECK(nic->role == MAP_NIC && nic->pci_id.size == 16 &&
	      !memcmp(map_bytes(&map, &nic->pci_id), "\0\0\x1a\xf4\0\0\x10\x41", 8));
	CHECK(strcmp(redis->program, "redis-server") == 0 && redis->role == MAP_PROGRAM && redis->pci_id.size == 0);
	CHECK(redis->cluster == 1 && redis->core == 0 && redis->cpu == 2 && redis->heap == 0x110000000);
	CHECK(!memcmp(&redis->ipv4, "\x0a\x00\x02\x65", 4) && redis->has_mac && redis->mac[5] == 2 && !nic->has_mac);
	CHECK(ycsb->cluster == 0 && ycsb->core == 1 && ycsb->cpu == 0);
	CHECK(map_cores_of(ycsb) == 1 && map_uses_core(&map, ycsb, 1) && !map_uses_core(&map, ycsb, 0));
	CHECK(ycsb->barrier && !redis->barrier && ycsb->statistics && !redis->statistics);
	for (unsigned i = 0; i < 4; i++) {
		s = map_next_string(&map, &redis->args, s);
		CHECK(s != NULL && strcmp(s, args[i]) == 0);
	}
	CHECK(map_next_string(&map, &redis->args, s) == NULL && map_next_string(&map, &ycsb->args, NULL) == NULL);
	CHECK(map_await_count(ycsb) == 2 && map_await_count(redis) == 0);
	CHECK((int)map_awaited(&map, ycsb, 0) == place("redis@2") &&
	      (int)map_awaited(&map, ycsb, 1) == place("switch@0"));
	CHECK(map_named_count(&redis->cables) == 0);
	CHECK(redis->stack == MAP_NONE && redis->stack_of == MAP_NONE);
	CHECK(redis->restart == MAP_RESTART_ON_FAILURE && redis->restart_limit == 3 && redis->restart_delay == 0);
	CHECK(ycsb->restart == MAP_RESTART_NEVER && ycsb->restart_limit == MAP_RESTART_LIMIT &&
	      ycsb->restart_delay == MAP_RESTART_DELAY);
}

/* A program's cores are indices within its cluster, in the order of its node. */
static void several_cores(void)
{
	const fdt32_t both[] = { *(const fdt32_t *)fdt_getprop(sound, fdt_path_offset(sound, "/applications/ycsb@3"),
	                                                       "cpu", NULL),
	                         *(const fdt32_t *)fdt_getprop(sound, fdt_path_offset(sound, "/applications/switch@0"),
	                                                       "cpu", NULL) };

	fresh();
	set("/applications/ycsb@3", "cpu", both, sizeof both);
	CHECK(read_tree());
	const struct map_application *ycsb = find("ycsb@3");
	CHECK(ycsb->cluster == 0 && ycsb->core == 1 && ycsb->cpu == 0 && map_cores_of(ycsb) == 2);
	CHECK(map_named(&map, &ycsb->cores, 0) == 1 && map_named(&map, &ycsb->cores, 1) == 0);
	CHECK(map_uses_core(&map, ycsb, 0) && map_uses_core(&map, ycsb, 1) && !map_uses_core(&map, ycsb, 2));
}

static void add_application(const char *name, const char *program)
{
	const void *cpu = fdt_getprop(sound, fdt_path_offset(sound, REDIS), "cpu", NULL);
	int node = fdt_add_subnode(tree, fdt_path_offset(tree, APPLICATIONS), name);

	must(node);
	must(fdt_setprop(tree, node, "cpu", cpu, 4));
	must(fdt_setprop_u64(tree, node, "heap", 2 << 20));
	must(fdt_setprop_string(tree, node, "program", program));
}

/* A switch below switch@0, a process that has lwIP of a program, and a cable to that. */
static void joined(void)
{
	fresh();
	add_application("below@4", "switch");
	set("/applications/below@4", "role", "switch", 7);
	set("/applications/below@4", "switch", "switch@0", 9);
	add_application("near@6", "redis-server");
	set("/applications/near@6", "ipv4", "10.0.2.7", 9);
	set("/applications/near@6", "mac", "\2SK\0\0\7", 6);
	set("/applications/near@6", "cables", "redis@2", 8);
	set(REDIS, "switch", "below@4", 8);
	add_application("stack@5", "more");
	set(REDIS, "stack", "stack@5", 8);
	CHECK(read_tree() && map.application_count == 7);
	CHECK(map_named_count(&find("near@6")->cables) == 1 &&
	      (int)map_named(&map, &find("near@6")->cables, 0) == place("redis@2"));
	CHECK(map.switch_index == place("switch@0") && !map_has_port(find("switch@0")));
	CHECK(find("redis@2")->port_of == place("below@4") && find("below@4")->port_of == map.switch_index);
	CHECK(find("ycsb@3")->port_of == map.switch_index && find("nic@1")->port_of == map.switch_index);
	CHECK(find("redis@2")->stack == place("stack@5") && find("stack@5")->stack_of == place("redis@2"));
	CHECK(!map_has_port(find("stack@5")));
	must(fdt_del_node(tree, fdt_path_offset(tree, APPLICATIONS)));
	CHECK(read_tree() && map.application_count == 0 && map.switch_index == MAP_NONE);
}

static void restarts(void)
{
	fresh();
	set("/clusters/cluster@1", "restart", "", 0);
	set("/clusters/cluster@1", "restart-limit", "\0\0\0\0", 4);
	set("/clusters/cluster@1", "restart-delay", "\0\0\0\7", 4);
	CHECK(read_tree());
	CHECK(map.cluster[0].restart && map.cluster[0].restart_limit == 0 && map.cluster[0].restart_delay == 7);
	set("/clusters/cluster@0", "restart", "", 0);
	CHECK(read_tree() && map.cluster[1].restart); /* which has the devices */
}

static void granularities(void)
{
	fresh();
	CHECK(read_tree() && map.cluster[0].granularity == GRANULARITY_COARSE);
	set("/clusters/cluster@1", "kernel", "dynamic+stat", 13);
	set("/clusters/cluster@1", "granularity", "fine", 5);
	CHECK(read_tree());
	CHECK(map.cluster[0].granularity == GRANULARITY_FINE && map.cluster[1].granularity == GRANULARITY_COARSE);
	set("/clusters/cluster@1", "granularity", "coarse", 7);
	CHECK(read_tree() && map.cluster[0].granularity == GRANULARITY_COARSE);
	set("/clusters/cluster@1", "granularity", "finer", 6);
	CHECK(!read_tree());
	set("/clusters/cluster@1", "granularity", "fine", 5);
	set("/clusters/cluster@1", "kernel", "dynamics", 9); /* not the regime's name */
	CHECK(!read_tree());
}

static void homes(void)
{
	fresh();
	CHECK(read_tree() && !map.cluster[0].homed);
	set("/clusters/cluster@1", "homed", "", 0);
	CHECK(!read_tree()); /* of this kernel there are no localities */
	set("/clusters/cluster@1", "kernel", "dynamic", 8);
	CHECK(!read_tree()); /* of its core nothing says which node it is of */
	set("/cpus/cpu@8", "numa-node-id", "\0\0\0\3", 4);
	CHECK(read_tree() && map.cluster[0].homed && !map.cluster[1].homed);
	set("/clusters/cluster@1", "homed", "yes", 4);
	CHECK(!read_tree());
}

/* Each cluster on a machine of its own, with devices of its own. */
static void machines(void)
{
	fresh();
	set("/cpus", "#address-cells", "\0\0\0\2", 4);
	set("/cpus/cpu@0", "reg", "\0\0\0\0\0\0\0\0", 8);
	set("/cpus/cpu@4", "reg", "\0\0\0\0\0\0\0\4", 8);
	set("/cpus/cpu@8", "reg", "\0\0\0\1\0\0\0\0", 8);
	set("/clusters/cluster@1", "devices", "", 0);
	must(fdt_delprop(tree, fdt_path_offset(tree, "/channels/channel@5"), "memory"));
	set("/channels/channel@5", "ivshmem", "\0\0\0\x11\0\0\0\x12", 8);
	set("/channels/channel@5", "size", "\0\0\0\0\x01\0\0\0", 8);
	CHECK(read_tree());
	CHECK(map.primary == 0 && map_cluster(&map, 0)->machine == 0 && map_cluster(&map, 0)->devices);
	CHECK(map_cluster(&map, 1)->machine == 1 && map_cluster(&map, 1)->devices && find("redis@2")->cluster == 1);
	const struct map_channel *c = &map.channel[0];
	CHECK(c->remote && c->device[0] == 0x11 && c->device[1] == 0x12 &&
	      c->memory.size == (16 << 20) - MAP_KERNELS_PART);
}

/* Many numbers of applications are read. */
static void many(void)
{
	char name[16];

	fresh();
	for (uint32_t have = 4; have <= 600; have++) {
		if (have % 19 == 0)
			CHECK(read_tree() && map.application_count == have && map_is_valid(&map, map.size));
		snprintf(name, sizeof name, "more@%x", have);
		add_application(name, "more");
	}
}

/* As many as may be, with as much in lists as a map may have; one more is refused. */
static void full(void)
{
	static char args[128 * 1024];
	char name[16];

	fresh();
	for (uint32_t have = 4; have < MAP_MAX_APPLICATIONS; have++) {
		snprintf(name, sizeof name, "more@%x", have);
		add_application(name, "more");
		memset(args, 'a', 150);
		snprintf(args, sizeof args, "%u", have);
		must(fdt_setprop(tree, fdt_subnode_offset(tree, fdt_path_offset(tree, APPLICATIONS), name), "args",
		                 args, 151));
	}
	add_application("one@ffff", "more");
	CHECK(!read_tree() && strstr(err.text, "more than 2048 applications") != NULL);
	CHECK(strchr(err.text, '\n') == NULL);
	must(fdt_del_node(tree, fdt_subnode_offset(tree, fdt_path_offset(tree, APPLICATIONS), "one@ffff")));
	must(fdt_pack(tree));
	CHECK(read_tree() && map.application_count == MAP_MAX_APPLICATIONS && map.size <= sizeof map);
	for (uint32_t have = 4; have < MAP_MAX_APPLICATIONS; have++) {
		snprintf(name, sizeof name, "more@%x", have);
		const struct map_application *a = find(name);
		snprintf(name, sizeof name, "%u", have);
		const char *first = map_next_string(&map, &a->args, NULL),
		           *second = map_next_string(&map, &a->args, first);
		CHECK(strcmp(first, name) == 0 && strlen(second) == 149 - strlen(name));
		CHECK(map_next_string(&map, &a->args, second) == NULL);
	}
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (file == NULL || fread(sound, 1, sizeof sound, file) == 0)
		return 2;
	fclose(file);
	clusters();
	applications();
	several_cores();
	joined();
	restarts();
	granularities();
	homes();
	machines();
	many();
	full();
	return failures != 0;
}
