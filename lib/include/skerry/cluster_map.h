/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checked cluster map (docs/cluster-map.md): what lib/cluster-map makes of
 * the devicetree, and what the loader hands to the first task of each cluster as
 * the module "map". Every cluster gets the same map, so that what is numbered
 * here - applications, network ports - has the same number in all of them
 * without a message.
 *
 * It has no pointers. Lists are in the pool at its end, of which only the used
 * part is handed over: `size` bytes in all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/boot.h>
#include <skerry/map_limits.h>
#include <skerry/process.h>
#include <skerry/syscall.h>

#define MAP_MAGIC 0x50414d594b53ull /* "SKYMAP" */
enum { MAP_VERSION = 12, MAP_NONE = -1 };

enum map_role { MAP_PROGRAM, MAP_SWITCH, MAP_NIC, MAP_VOLUME };
/* When a program that has ended is started again; a failure is an exit status other than 0, a fault, or no start. */
enum map_restart { MAP_RESTART_NEVER, MAP_RESTART_ON_FAILURE, MAP_RESTART_ALWAYS };

/* Bytes of the pool, aligned to 4. */
struct map_list {
	uint32_t offset, size;
};

struct map_cpu {
	char name[MAP_NODE_NAME];
	uint32_t machine;
	uint32_t apic;
	uint32_t node; /* the machine's NUMA node, when has_node */
	bool has_node;
};

struct map_cluster {
	char name[MAP_NODE_NAME];
	uint32_t number;
	uint32_t machine;
	bool devices;                /* of its machine: exactly one cluster there has them */
	bool restart;                /* started again when it is lost */
	bool spare_cores;            /* its kernel has room for the other cores of its machine, which may move to it */
	uint32_t restart_limit;      /* times in 60 s, at most; it stays down then. 0: no limit */
	uint32_t restart_delay;      /* ms before the first; each soon after it waits twice as long */
	enum granularity granularity; /* that its manager orders of its kernel at the start */
	/* its programs' objects are at home on the cores of the program's node (CNODE_LOCALITY) */
	bool homed;
	char kernel[BOOT_NAME_SIZE], root[BOOT_NAME_SIZE];
	uint32_t cpu_count;
	uint16_t cpu[BOOT_MAX_CPUS]; /* place of each of its cores among all cpus of the map */
	uint32_t memory_count;
	struct boot_range memory[BOOT_MAX_RANGES];
	uint32_t module_count;
	char module[MAP_MAX_MODULES][BOOT_NAME_SIZE];
};

struct map_channel {
	char name[MAP_NODE_NAME];
	uint32_t number;
	uint32_t end[2];          /* numbers of clusters */
	uint32_t device[2];       /* remote: number on bus 0 of each end's machine */
	/* its ends are in two machines: the memory is a device's, of which only the size is known */
	bool remote;
	struct boot_range memory; /* remote: without the kernels' part */
};

struct map_application {
	char name[PROCESS_NAME];    /* of the node, "redis@2" */
	char program[BOOT_NAME_SIZE];
	char files[BOOT_NAME_SIZE]; /* the module with its files (file_tree.h); empty: none */
	uint64_t heap;              /* bytes */
	uint64_t storage;           /* of these what its own files may take; 0: as the POSIX layer has it */
	uint32_t cpu;               /* place among all cpus of the map */
	uint32_t cluster;           /* its number */
	uint32_t core;              /* index within the cluster */
	struct map_list cores;      /* uint16_t: these indices of all cores that it may use, `core` first */
	enum process_placement placement;
	uint32_t ipv4;              /* network byte order; 0: none */
	uint8_t mac[6];
	bool has_mac;
	bool barrier;
	bool statistics;            /* it may read what all clusters count */
	uint32_t uid, gid;          /* user and group that it starts as */
	uint32_t threads;           /* that it may have at once */
	uint32_t processes;         /* that it may be at once; each has a heap as large as the first */
	enum map_role role;
	enum map_restart restart;
	uint32_t restart_limit;     /* times in 60 s, at most; it stays down then. 0: no limit */
	uint32_t restart_delay;     /* ms before the first; each soon after it waits twice as long */
	int32_t stack;              /* the application that has its lwIP, or MAP_NONE: it is within it */
	int32_t stack_of;           /* the application whose lwIP it has, or MAP_NONE */
	int32_t volume_of;          /* a volume server: the application whose volume it is, else MAP_NONE */
	int32_t port_of;            /* the switch that its network port is of, or MAP_NONE: it has none */
	struct map_list args;       /* NUL-terminated strings, one after another */
	struct map_list env;        /* the same, NAME=VALUE each */
	struct map_list cwd;        /* one such string, an absolute path; none: "/" */
	struct map_list await;      /* uint16_t: the applications that it awaits */
	struct map_list cables;     /* the same: the applications to which its frames go by cable (port.h) */
	struct map_list volumes;    /* the same: the volume servers of its volumes */
	struct map_list mount;      /* a volume server: a string, the path at which its program has the volume */
	struct map_list pci_id;     /* pairs of big-endian cells: vendor, device */
};

struct map_network {
	bool present;
	uint32_t netmask, gateway; /* network byte order */
	uint32_t mtu;
};

struct cluster_map {
	uint64_t magic;
	uint32_t version;
	uint32_t size;         /* of the map with the used part of its pool, in bytes */
	uint32_t machine;      /* the one that this copy is for */
	uint32_t primary;      /* cluster with `devices` on machine 0: console, results, the run */
	/* the root switch: the application of that role and without a switch above, or MAP_NONE */
	int32_t switch_index;
	bool shutdown_when_done;
	/* ms of silence after which a cluster counts as lost; 0: the loader chooses, by the machine */
	uint32_t patience;
	struct map_network network;
	uint32_t cpu_count, cluster_count, channel_count, application_count;
	struct map_cpu cpu[MAP_MAX_CPUS];
	struct map_cluster cluster[BOOT_MAX_CLUSTERS]; /* in map order */
	struct map_channel channel[MAP_MAX_CHANNELS];
	struct map_application application[MAP_MAX_APPLICATIONS];
	char pool[MAP_MAX_SIZE];
};

/* Returns whether `bytes` from `m` on are a map of this version. */
static inline bool map_is_valid(const struct cluster_map *m, uint64_t bytes)
{
	return bytes >= offsetof(struct cluster_map, pool) && m->magic == MAP_MAGIC && m->version == MAP_VERSION &&
	       m->size >= offsetof(struct cluster_map, pool) && m->size <= sizeof *m && m->size <= bytes;
}

/* The cluster of this number, or null. */
static inline const struct map_cluster *map_cluster(const struct cluster_map *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->cluster_count; i++)
		if (m->cluster[i].number == number)
			return &m->cluster[i];
	return NULL;
}

/* Returns whether a cpu of the map is one of the cluster's machine that another cluster has, or none. */
static inline bool map_is_spare(const struct cluster_map *m, const struct map_cluster *c, uint32_t cpu)
{
	bool is_other = m->cpu[cpu].machine == c->machine;
	for (uint32_t i = 0; is_other && i < c->cpu_count; i++)
		is_other = c->cpu[i] != cpu;
	return is_other;
}
/*
 * The cores that a cluster's kernel has room for: its own, then with spare_cores the others of its machine, in map
 * order, up to BOOT_MAX_CPUS. Returns how many they are.
 */
static inline uint32_t map_core_count(const struct cluster_map *m, const struct map_cluster *c)
{
	uint32_t count = c->spare_cores ? 0 : c->cpu_count;
	for (uint32_t cpu = 0; c->spare_cores && cpu < m->cpu_count; cpu++)
		count += m->cpu[cpu].machine == c->machine;
	return count < BOOT_MAX_CPUS ? count : BOOT_MAX_CPUS;
}
/* Returns the place of core `index` among all cpus of the map, or MAP_NONE where there is no such core. */
static inline int32_t map_core_cpu(const struct cluster_map *m, const struct map_cluster *c, uint32_t index)
{
	uint32_t others = c->cpu_count;
	if (index < c->cpu_count)
		return (int32_t)c->cpu[index];
	for (uint32_t cpu = 0; cpu < m->cpu_count && c->spare_cores && index < BOOT_MAX_CPUS; cpu++)
		if (map_is_spare(m, c, cpu) && others++ == index)
			return (int32_t)cpu;
	return MAP_NONE;
}
/* Returns the index in the cluster of a cpu of the map, or MAP_NONE. */
static inline int32_t map_core_index(const struct cluster_map *m, const struct map_cluster *c, uint32_t cpu)
{
	uint32_t index = c->cpu_count;
	for (uint32_t i = 0; i < c->cpu_count; i++)
		if (c->cpu[i] == cpu)
			return (int32_t)i;
	if (!c->spare_cores || cpu >= m->cpu_count || !map_is_spare(m, c, cpu))
		return MAP_NONE;
	for (uint32_t before = 0; before < cpu; before++)
		index += map_is_spare(m, c, before);
	return index < BOOT_MAX_CPUS ? (int32_t)index : MAP_NONE;
}
/* Lists the places of all cores of the kernel, in the order of their indices. Returns how many they are. */
static inline uint32_t map_core_list(const struct cluster_map *m, const struct map_cluster *c,
                                     uint16_t list[BOOT_MAX_CPUS])
{
	uint64_t own[MAP_MAX_CPUS / 64] = { 0 };
	uint32_t count = 0;
	for (; count < c->cpu_count; count++) {
		list[count] = (uint16_t)c->cpu[count];
		own[c->cpu[count] / 64] |= 1ull << c->cpu[count] % 64;
	}
	for (uint32_t cpu = 0; c->spare_cores && cpu < m->cpu_count && count < BOOT_MAX_CPUS; cpu++)
		if (m->cpu[cpu].machine == c->machine && !(own[cpu / 64] >> cpu % 64 & 1))
			list[count++] = (uint16_t)cpu;
	return count;
}

/* Does it have a port of a switch? */
static inline bool map_has_port(const struct map_application *a) { return a->port_of != MAP_NONE; }

/* Does it drive a PCI device? */
static inline bool map_has_device(const struct map_application *a)
{
	return a->role == MAP_NIC || a->role == MAP_VOLUME;
}

/* Where a list's bytes begin. */
static inline const void *map_bytes(const struct cluster_map *m, const struct map_list *list)
{
	return m->pool + list->offset;
}

/* The string of a list after `previous` (null: the first), or null. */
static inline const char *map_next_string(const struct cluster_map *m, const struct map_list *list,
                                          const char *previous)
{
	const char *next = (const char *)map_bytes(m, list);
	if (previous != NULL)
		for (next = previous; *next++ != '\0';)
			;
	return next < m->pool + list->offset + list->size ? next : NULL;
}

/* Returns how many numbers of 16 bits a list has, as `await`, `cables` and `cores` do. */
static inline uint32_t map_named_count(const struct map_list *list) { return list->size / sizeof(uint16_t); }
/* Returns one of them; `index` is below map_named_count(). */
static inline uint32_t map_named(const struct cluster_map *m, const struct map_list *list, uint32_t index)
{
	uint16_t named;
	__builtin_memcpy(&named, (const char *)map_bytes(m, list) + index * sizeof named, sizeof named);
	return named;
}
/* Returns how many cores `a` may use; one at least. */
static inline uint32_t map_cores_of(const struct map_application *a) { return map_named_count(&a->cores); }
/* Returns whether it may use the core of its cluster with this index. */
static inline bool map_uses_core(const struct cluster_map *m, const struct map_application *a, uint32_t core)
{
	for (uint32_t i = 0; i < map_cores_of(a); i++)
		if (map_named(m, &a->cores, i) == core)
			return true;
	return false;
}
/* Returns how many applications `a` awaits. */
static inline uint32_t map_await_count(const struct map_application *a) { return map_named_count(&a->await); }
/* Returns the index of one of them; `index` is below map_await_count(). */
static inline uint32_t map_awaited(const struct cluster_map *m, const struct map_application *a, uint32_t index)
{
	return map_named(m, &a->await, index);
}
