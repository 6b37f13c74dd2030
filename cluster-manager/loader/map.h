/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster map (docs/cluster-map.md) as the loader reads it: parse, then check against the machine. */
#pragma once

#include "machine.h"
#include "text.h"

enum {
	MAP_MAX_CPUS = 1024,
	MAP_MAX_CHANNELS = 256,
	MAP_MAX_APPLICATIONS = 512,
	MAP_MAX_SIZE = 256 * 1024, /* of the devicetree, in bytes */
	MAP_MAX_MODULES = BOOT_MAX_MODULES - 1, /* of a cluster; one more is the map itself */
	MAP_NONE = -1,
	MAP_PCI_DEVICES = 32, /* of a bus */
	MAP_KERNELS_PART = 2 << 20, /* of a channel between machines, at its end: the doorbell pages, side 0's first */
};

/* All strings point into the devicetree. */

struct map_cpu {
	const char *name;
	uint32_t machine;
	uint32_t apic;
	uint32_t phandle; /* 0: none */
	uint32_t node;
	bool has_node;
};

struct map_cluster {
	const char *name;
	uint32_t id;
	const char *kernel, *root;
	bool devices;
	uint32_t machine;
	uint32_t cpu_count;
	uint32_t cpu[BOOT_MAX_CPUS]; /* index into struct map's cpu[] */
	uint32_t memory_count;
	struct boot_range memory[BOOT_MAX_RANGES];
	uint32_t module_count;
	const char *module[MAP_MAX_MODULES];
};

struct map_channel {
	const char *name;
	uint32_t id;
	uint32_t end[2]; /* cluster ids */
	bool afar;       /* its ends are in two machines: the memory is a device's, of which only the size is known */
	uint32_t device[2]; /* afar: number on bus 0 of each end's machine */
	struct boot_range memory; /* afar: without the kernels' part */
};

struct map_application {
	const char *name, *program;
	int node;         /* its offset in the devicetree */
	uint32_t phandle; /* of its core */
	uint64_t heap;
	uint32_t ipv4;    /* 0: none */
	const uint8_t *mac; /* six bytes, NULL: none */
	const char *role; /* NULL: none */
	const char *stack; /* the application that runs lwIP for it; NULL: it does so itself */
	bool has_pci_id;
};

struct map_network {
	bool present;
	uint32_t netmask, gateway, mtu;
};

struct map {
	const void *fdt;
	uint32_t cpu_count, cluster_count, channel_count, application_count;
	struct map_cpu cpu[MAP_MAX_CPUS];
	struct map_cluster cluster[BOOT_MAX_CLUSTERS];
	struct map_channel channel[MAP_MAX_CHANNELS];
	struct map_application application[MAP_MAX_APPLICATIONS];
	struct map_network network;
	const char *shutdown; /* NULL: not said */
	uint32_t machine;     /* the one we are on; map_parse() leaves it 0 */
};

/* `blob` is aligned to 8 bytes and stays in place. False: `why` names the culprit. */
bool map_parse(struct map *map, const void *blob, uint64_t size, struct refusal *why);
bool map_check(const struct map *map, const struct machine *machine, struct refusal *why);

/* The parts of map_check, in its order. */
bool map_check_machines(const struct map *map, struct refusal *why);
bool map_check_clusters(const struct map *map, const struct machine *machine, struct refusal *why);
bool map_check_memory(const struct map *map, const struct machine *machine, struct refusal *why);
bool map_check_applications(const struct map *map, const struct machine *machine, struct refusal *why);
bool map_check_network(const struct map *map, struct refusal *why);

const struct map_cluster *map_cluster(const struct map *map, uint32_t id);
/* On the machine we are on? */
bool map_is_here(const struct map *map, const struct map_cluster *cluster);

/* Index of the cpu with this phandle or MAP_NONE; the cluster that has the cpu or NULL. */
int map_cpu_by_phandle(const struct map *map, uint32_t phandle);
const struct map_cluster *map_cluster_of_cpu(const struct map *map, uint32_t cpu);
