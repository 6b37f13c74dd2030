/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cluster map (docs/cluster-map.md) as the managers use it. Every manager
 * reads the same map, so that what is numbered here - applications, network
 * ports - has the same number in all clusters without a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/boot.h>
#include <skerry/process.h>

enum { MAP_MAX_APPLICATIONS = 256, MAP_MAX_CLUSTERS = 64 };

enum application_role { ROLE_PROGRAM, ROLE_SWITCH, ROLE_NIC };

/* NUL-terminated strings, one after another, inside the map. */
struct string_list {
	const char *data;
	size_t size;
};

struct application {
	char name[PROCESS_NAME]; /* node name, "redis@2" */
	const char *program;
	enum application_role role;
	bool barrier;
	bool statistics;         /* it may read what all clusters count */
	bool has_mac;
	uint8_t mac[6];
	uint32_t cpu;            /* place among all cpus of the map */
	uint32_t cluster;
	uint32_t core;           /* index within the cluster */
	uint32_t ipv4;           /* network byte order; 0: none */
	uint64_t heap;           /* bytes */
	struct string_list args;
	struct string_list await;
	const char *stack_name;  /* what the map says; null: its lwIP is within it */
	int stack;               /* the application that has its lwIP, or -1 */
	int stack_of;            /* the application whose lwIP it has, or -1 */
	struct string_list pci_id; /* pairs of big-endian cells: vendor, device */
};

struct cluster {
	uint32_t number;
	uint32_t machine;
	bool devices;            /* of its machine: exactly one cluster there has them */
	uint32_t cpu_count;
	uint32_t cpu[BOOT_MAX_CPUS]; /* place of each of its cores among all cpus of the map */
};

struct map {
	uint32_t application_count;
	struct application application[MAP_MAX_APPLICATIONS];
	uint32_t cluster_count;
	struct cluster cluster[MAP_MAX_CLUSTERS]; /* in map order */
	uint32_t primary;        /* cluster with `devices` on machine 0: console, results, the run */
	int switch_index;        /* application with role "switch", or -1 */
	uint32_t netmask, gateway; /* network byte order */
	uint16_t mtu;
	bool shutdown_when_done;
};

/* The manager's map, after map_parse(). */
extern struct map map;

/* `dtb` stays in use. Null when all is well, else what is wrong with it; *culprit names the node. */
const char *map_parse(struct map *map, const void *dtb, size_t size, const char **culprit);

/* Index of an application, or -1. The name need not be terminated. */
int map_find(const struct map *map, const char *name, size_t length);

/* The cluster of this number, or null. */
const struct cluster *map_cluster(const struct map *map, uint32_t number);

/* Does it have a port of the switch? */
static inline bool application_has_port(const struct application *a)
{
	return a->ipv4 != 0 || a->role == ROLE_NIC;
}

/* The next string of a list after `previous` (null: the first), or null. */
const char *string_list_next(const struct string_list *list, const char *previous);
