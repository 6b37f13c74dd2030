/* SPDX-License-Identifier: BSD-2-Clause */
#include <libfdt.h>
#include "map.h"
#include "string.h"

struct map map;

const char *string_list_next(const struct string_list *list, const char *previous)
{
	const char *next = previous ? previous + strlen(previous) + 1 : list->data;
	return next && next < list->data + list->size ? next : NULL;
}

int map_find(const struct map *m, const char *name, size_t length)
{
	for (uint32_t i = 0; i < m->application_count; i++)
		if (strlen(m->application[i].name) == length && !memcmp(m->application[i].name, name, length))
			return (int)i;
	return -1;
}

const struct cluster *map_cluster(const struct map *m, uint32_t number)
{
	for (uint32_t i = 0; i < m->cluster_count; i++)
		if (m->cluster[i].number == number)
			return &m->cluster[i];
	return NULL;
}

static uint32_t cell(const void *property, unsigned index)
{
	return fdt32_ld((const fdt32_t *)property + index);
}

static const char *read_string(const void *dtb, int node, const char *name)
{
	int length;
	const char *s = fdt_getprop(dtb, node, name, &length);
	return s && length > 0 && s[length - 1] == 0 ? s : NULL;
}

static bool read_u32(const void *dtb, int node, const char *name, uint32_t *value)
{
	int length;
	const void *p = fdt_getprop(dtb, node, name, &length);
	if (!p || length != 4)
		return false;
	*value = cell(p, 0);
	return true;
}

/* A list whose last string is terminated; empty when absent. */
static bool read_strings(const void *dtb, int node, const char *name, struct string_list *list)
{
	int length;
	const char *p = fdt_getprop(dtb, node, name, &length);
	*list = (struct string_list){ 0 };
	if (!p)
		return true;
	if (length > 0 && p[length - 1] != 0)
		return false;
	*list = (struct string_list){ p, (size_t)length };
	return true;
}

/* "10.0.2.15" in network byte order; 0 when it is none. */
static uint32_t read_ipv4(const void *dtb, int node, const char *name)
{
	const char *s = read_string(dtb, node, name);
	uint8_t byte[4];
	if (!s)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		unsigned value = 0, digits = 0;
		for (; *s >= '0' && *s <= '9' && digits < 3; s++, digits++)
			value = value * 10 + (unsigned)(*s - '0');
		if (digits == 0 || value > 255 || *s++ != (i == 3 ? 0 : '.'))
			return 0;
		byte[i] = (uint8_t)value;
	}
	uint32_t address;
	memcpy(&address, byte, 4);
	return address;
}

/* The place of the core with this phandle among the map's cpus. */
static bool cpu_number(const void *dtb, uint32_t phandle, uint32_t *number)
{
	int cpus = fdt_path_offset(dtb, "/cpus");
	int node;
	uint32_t place = 0;
	fdt_for_each_subnode(node, dtb, cpus) {
		if (fdt_get_phandle(dtb, node) == phandle) {
			*number = place;
			return true;
		}
		place++;
	}
	return false;
}

/* The machine of the map's cpu of this place; most maps have one machine and do not say. */
static uint32_t cpu_machine(const void *dtb, uint32_t number)
{
	int cpus = fdt_path_offset(dtb, "/cpus"), node, length;
	const void *reg = NULL;
	if (fdt_address_cells(dtb, cpus) != 2)
		return 0;
	fdt_for_each_subnode(node, dtb, cpus)
		if (number-- == 0)
			reg = fdt_getprop(dtb, node, "reg", &length);
	return reg && length == 8 ? cell(reg, 0) : 0;
}

/* Which cluster, and which core of it, has this core of the map? */
static bool cpu_cluster(const struct map *m, uint32_t number, uint32_t *cluster, uint32_t *core)
{
	for (uint32_t c = 0; c < m->cluster_count; c++)
		for (uint32_t i = 0; i < m->cluster[c].cpu_count; i++)
			if (m->cluster[c].cpu[i] == number) {
				*cluster = m->cluster[c].number;
				*core = i;
				return true;
			}
	return false;
}

static bool parse_cpus(struct cluster *cluster, const void *dtb, int node)
{
	int length;
	const void *cpus = fdt_getprop(dtb, node, "cpus", &length);
	if (!cpus || length <= 0 || length % 4 || length / 4 > BOOT_MAX_CPUS)
		return false;
	cluster->cpu_count = (uint32_t)length / 4;
	for (uint32_t i = 0; i < cluster->cpu_count; i++)
		if (!cpu_number(dtb, cell(cpus, i), &cluster->cpu[i]))
			return false;
	cluster->machine = cpu_machine(dtb, cluster->cpu[0]);
	return true;
}

/* The cluster that has a machine's devices; null: none, of those read so far. */
static const struct cluster *owner(const struct map *m, uint32_t machine)
{
	for (uint32_t i = 0; i < m->cluster_count; i++)
		if (m->cluster[i].machine == machine && m->cluster[i].devices)
			return &m->cluster[i];
	return NULL;
}

static const char *parse_clusters(struct map *m, const void *dtb, const char **culprit)
{
	int clusters = fdt_path_offset(dtb, "/clusters");
	int node;
	fdt_for_each_subnode(node, dtb, clusters) {
		*culprit = fdt_get_name(dtb, node, NULL);
		if (m->cluster_count == MAP_MAX_CLUSTERS)
			return "too many clusters";
		struct cluster *cluster = &m->cluster[m->cluster_count++];
		if (!read_u32(dtb, node, "reg", &cluster->number))
			return "a cluster without a number (reg)";
		if (!parse_cpus(cluster, dtb, node))
			return "a cluster whose cpus are not cores of the map";
		if (!fdt_getprop(dtb, node, "devices", NULL))
			continue;
		if (owner(m, cluster->machine))
			return "a second cluster that owns the devices";
		cluster->devices = true;
	}
	*culprit = "clusters";
	if (!owner(m, 0))
		return "no cluster owns the devices";
	m->primary = owner(m, 0)->number;
	return NULL;
}

static const char *parse_application(struct map *m, const void *dtb, int node, struct application *a)
{
	int length;
	const char *name = fdt_get_name(dtb, node, &length);
	if (length <= 0 || length >= (int)sizeof(a->name))
		return "a name of more than 31 bytes";
	if (map_find(m, name, (size_t)length) >= 0)
		return "a name that is there twice";
	memcpy(a->name, name, (size_t)length);
	a->name[length] = 0;

	a->program = read_string(dtb, node, "program");
	if (!a->program)
		return "no program";
	uint32_t phandle;
	if (!read_u32(dtb, node, "cpu", &phandle) || !cpu_number(dtb, phandle, &a->cpu) ||
	    !cpu_cluster(m, a->cpu, &a->cluster, &a->core))
		return "a cpu that no cluster has";

	const char *role = read_string(dtb, node, "role");
	if (!role)
		a->role = ROLE_PROGRAM;
	else if (!strcmp(role, "switch"))
		a->role = ROLE_SWITCH;
	else if (!strcmp(role, "nic"))
		a->role = ROLE_NIC;
	else
		return "a role that is neither \"switch\" nor \"nic\"";

	const void *heap = fdt_getprop(dtb, node, "heap", &length);
	if (heap && length == 8)
		a->heap = (uint64_t)cell(heap, 0) << 32 | cell(heap, 1);
	else if (heap)
		return "a heap that is not one 64-bit size";
	if (a->heap & 0x1fffff || a->heap > PROCESS_PORT_VADDR - PROCESS_HEAP_VADDR)
		return "a heap that is not a multiple of 2 MiB";

	a->ipv4 = read_ipv4(dtb, node, "ipv4");
	if (!a->ipv4 && fdt_getprop(dtb, node, "ipv4", NULL))
		return "an ipv4 address that is none";
	const void *mac = fdt_getprop(dtb, node, "mac", &length);
	a->has_mac = mac && length == 6;
	if (a->has_mac)
		memcpy(a->mac, mac, 6);
	else if (a->ipv4)
		return "an ipv4 address without a mac address";
	a->barrier = fdt_getprop(dtb, node, "barrier", NULL) != NULL;
	a->statistics = fdt_getprop(dtb, node, "statistics", NULL) != NULL;

	const char *ids = fdt_getprop(dtb, node, "pci-id", &length);
	if (ids && (length <= 0 || length % 8))
		return "a pci-id that is not pairs of numbers";
	a->pci_id = (struct string_list){ ids, ids ? (size_t)length : 0 };
	a->stack = a->stack_of = -1;
	a->stack_name = read_string(dtb, node, "stack");
	if (!a->stack_name && fdt_getprop(dtb, node, "stack", NULL))
		return "a stack that is not one name";
	if (!read_strings(dtb, node, "args", &a->args) || !read_strings(dtb, node, "await", &a->await))
		return "a list of strings that does not end";
	return NULL;
}

/* Joins a program and the stack that it names. */
static const char *join_stack(struct map *m, uint32_t i)
{
	struct application *a = &m->application[i], *stack;
	if (!a->stack_name)
		return NULL;
	a->stack = map_find(m, a->stack_name, strlen(a->stack_name));
	if (a->stack < 0)
		return "its stack is not in the map";
	stack = &m->application[a->stack];
	if (stack == a || stack->stack_name || stack->role != ROLE_PROGRAM)
		return "its stack is none: it has one itself, or is the switch or the NIC driver";
	if (stack->cluster != a->cluster)
		return "its stack is in another cluster";
	if (!a->ipv4 || stack->ipv4)
		return "the address is the program's, not its stack's";
	if (stack->stack_of >= 0)
		return "its stack is another program's already";
	stack->stack_of = (int)i;
	return NULL;
}

static const char *parse_applications(struct map *m, const void *dtb, const char **culprit)
{
	int applications = fdt_path_offset(dtb, "/applications");
	int node;
	m->switch_index = -1;
	if (applications < 0)
		return NULL; /* a map that runs nothing */
	fdt_for_each_subnode(node, dtb, applications) {
		*culprit = fdt_get_name(dtb, node, NULL);
		if (m->application_count == MAP_MAX_APPLICATIONS)
			return "too many applications";
		struct application *a = &m->application[m->application_count];
		const char *wrong = parse_application(m, dtb, node, a);
		if (wrong)
			return wrong;
		if (a->role == ROLE_SWITCH) {
			if (m->switch_index >= 0)
				return "a second switch";
			m->switch_index = (int)m->application_count;
		}
		m->application_count++;
	}
	for (uint32_t i = 0; i < m->application_count; i++) {
		const struct application *a = &m->application[i];
		const char *name = NULL;
		*culprit = a->name;
		while ((name = string_list_next(&a->await, name)))
			if (map_find(m, name, strlen(name)) < 0)
				return "it awaits an application that is not in the map";
		const char *wrong = join_stack(m, i);
		if (wrong)
			return wrong;
	}
	return NULL;
}

const char *map_parse(struct map *m, const void *dtb, size_t size, const char **culprit)
{
	memset(m, 0, sizeof(*m));
	*culprit = "map";
	if (size < FDT_V1_SIZE || fdt_check_header(dtb) != 0 || fdt_totalsize(dtb) > size)
		return "not a device tree";
	const char *wrong = parse_clusters(m, dtb, culprit);
	if (!wrong)
		wrong = parse_applications(m, dtb, culprit);
	if (wrong)
		return wrong;

	m->mtu = 1500;
	int network = fdt_path_offset(dtb, "/network");
	if (network >= 0) {
		uint32_t mtu;
		m->netmask = read_ipv4(dtb, network, "netmask");
		m->gateway = read_ipv4(dtb, network, "gateway");
		if (read_u32(dtb, network, "mtu", &mtu)) {
			*culprit = "network";
			if (mtu < 576 || mtu > 1500)
				return "an mtu outside 576 .. 1500";
			m->mtu = (uint16_t)mtu;
		}
	}
	int run = fdt_path_offset(dtb, "/run");
	const char *shutdown = run >= 0 ? read_string(dtb, run, "shutdown") : NULL;
	m->shutdown_when_done = shutdown && !strcmp(shutdown, "when-done");
	return NULL;
}
