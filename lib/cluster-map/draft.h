/* SPDX-License-Identifier: BSD-2-Clause */
/* A map that is being read: the parts of cluster_map_read(), in its order. */
#pragma once

#include "read.h"

enum { MAP_HUGE_PAGE = 2 << 20 };
#define MAP_MIB (1ul << 20)

/* An address in network byte order, for "%u.%u.%u.%u". */
#define MAP_IPV4(a) (a) & 255, (a) >> 8 & 255, (a) >> 16 & 255, (a) >> 24

/* The properties of an application that the checked map does not have; strings are the devicetree's. */
struct draft_application {
	int node;
	const char *stack, *above; /* properties `stack` and `switch`; NULL: none */
};

/* Applications by `size` bytes at `offset` of each, from keys.c; `at`: an index and 1, 0 where there is none. */
enum { KEY_PLACES = 2 * MAP_MAX_APPLICATIONS };
struct key_table {
	uint32_t offset, size;
	uint16_t at[KEY_PLACES];
};
_Static_assert(MAP_MAX_APPLICATIONS < UINT16_MAX, "an index and 1 fit");

struct draft {
	const void *fdt;
	struct cluster_map *map;
	struct error_message *err;
	int cpu_cells; /* of /cpus */
	uint32_t phandle[MAP_MAX_CPUS];
	struct draft_application application[MAP_MAX_APPLICATIONS];
	uint32_t pool_used;
	struct key_table names;
};

/* --- blob.c --- */

/* The devicetree's shape: blocks, nodes and properties lie inside it. `size` bytes, aligned to 8. */
bool check_blob(const void *blob, uint64_t size, struct error_message *err);

/* --- property.c: each property is there, has the right size, and is copied --- */

/* Returns the node's name, with its unit address. */
const char *node_name(const struct draft *d, int node);
/* Returns whether the node has a property of this name. */
bool has_property(const struct draft *d, int node, const char *property);
/* Reads every child of /`parent`; the parent itself may be missing unless `required`. */
bool read_children(struct draft *d, const char *parent, bool required, bool (*read)(struct draft *, int node));
/*
 * Reads one 32-bit number into *out. Like all that follow: returns false where the property is missing or has not this
 * shape; d->why says so then.
 */
bool read_u32(struct draft *d, int node, const char *property, uint32_t *out);
/* Returns whether there is such a property, which has no value. */
bool read_flag(struct draft *d, int node, const char *property, bool *out);
/* One string, ended inside the property, printable and not empty. */
bool read_string(struct draft *d, int node, const char *property, const char **out);
/* Like read_string(), NULL where there is no such property. */
bool read_option(struct draft *d, int node, const char *property, const char **out);
/* Like read_string(), for what becomes a name in boot_info. */
bool read_name(struct draft *d, int node, const char *property, char out[BOOT_NAME_SIZE]);
/* NUL-terminated strings, as they are in the devicetree; none where there is no such property, else one at least. */
bool read_strings(struct draft *d, int node, const char *property, const char **data, uint32_t *size);
/* At most `max` pairs of 64-bit base and size. */
bool read_ranges(struct draft *d, int node, struct boot_range *out, uint32_t max, uint32_t *count);
/* In network byte order; left alone where there is no such property. */
bool read_ipv4(struct draft *d, int node, const char *property, uint32_t *out);
/* Copies bytes into the map's pool. */
struct map_list pool_add(struct draft *d, const void *bytes, uint32_t size);

/* --- read.c, read_cluster.c, read_application.c: shapes and sizes, and what each name refers to --- */

bool read_clusters(struct draft *d); /* with their cores and channels */
bool read_applications(struct draft *d);

/* Returns whether its kernel is the one of this lock regime, or a variant of it ("clh+stat"). */
bool runs_regime(const struct map_cluster *cluster, const char *regime);

/* --- check_*.c: what it means. Each returns false where the map contradicts itself; d->why says how. The caller has
 * read everything. --- */

bool check_clusters(const struct draft *d);
bool check_machines(struct draft *d); /* and says which cluster is the primary one */
bool check_memory(const struct draft *d);
bool check_applications(const struct draft *d);
bool check_volumes(struct draft *d); /* and says whose volume each is */
bool check_network(struct draft *d); /* and says which switch each port is of */

/* Index of the cpu with this phandle, or MAP_NONE. */
int cpu_by_phandle(const struct draft *d, uint32_t phandle);
/* Index of the application of this name, or MAP_NONE. */
int find_application(const struct draft *d, const char *name);

/* Returns the index of the application that has this key, or MAP_NONE. */
int key_find(const struct cluster_map *map, const struct key_table *table, const void *key);
/* Enters an application by its key. Returns the one before it that has the same, or NULL. */
const struct map_application *key_enter(const struct cluster_map *map, struct key_table *table, uint32_t index);
