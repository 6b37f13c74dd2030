/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads test-map.dts, compiled; then the same with one thing broken after another. */
#include <libfdt.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"
#include "test-check.h"

static char dtb[65536];
static size_t dtb_size;

static void check_good(void)
{
	const char *culprit;
	const char *wrong = map_parse(&map, dtb, dtb_size, &culprit);
	CHECK(!wrong);
	CHECK(map.cluster_count == 2 && map.primary == 3);
	CHECK(map_cluster(&map, 3)->cpu[0] == 1 && map_cluster(&map, 3)->cpu[1] == 0);
	CHECK(!map_cluster(&map, 0));
	CHECK(map.application_count == 4 && map.switch_index == 0);
	CHECK(map.mtu == 1400 && map.shutdown_when_done);
	CHECK(!memcmp(&map.gateway, "\x0a\x00\x02\x02", 4) && !memcmp(&map.netmask, "\xff\xff\xff\x00", 4));

	const struct application *nic = &map.application[1], *redis = &map.application[2], *ycsb = &map.application[3];
	CHECK(nic->role == ROLE_NIC && application_has_port(nic) && nic->pci_id.size == 16);
	CHECK(!application_has_port(&map.application[0]));
	CHECK(!strcmp(redis->name, "redis@2") && redis->cluster == 7 && redis->core == 0 && redis->cpu == 2);
	CHECK(redis->heap == 0x110000000 && !memcmp(&redis->ipv4, "\x0a\x00\x02\x65", 4) && redis->mac[5] == 2);
	CHECK(ycsb->cluster == 3 && ycsb->core == 1 && ycsb->cpu == 0 && ycsb->barrier && !redis->barrier);
	CHECK(ycsb->statistics && !redis->statistics);
	CHECK(map_find(&map, "ycsb@3", 6) == 3 && map_find(&map, "ycsb@", 5) == -1);

	static const char *const args[] = { "--port", "6379", "--save", "" };
	const char *s = NULL;
	for (unsigned i = 0; i < 4; i++) {
		s = string_list_next(&redis->args, s);
		CHECK(s && !strcmp(s, args[i]));
	}
	CHECK(!string_list_next(&redis->args, s) && !string_list_next(&ycsb->args, NULL));
	s = string_list_next(&ycsb->await, NULL);
	CHECK(s && !strcmp(s, "redis@2") && !strcmp(string_list_next(&ycsb->await, s), "switch@0"));
}

/* With `property` of `path` set to these bytes, the map must be refused with `culprit`. */
static void check_broken(const char *path, const char *property, const void *value, int size, const char *expected)
{
	static char copy[65536 + 1024];
	const char *culprit = NULL;
	CHECK(!fdt_open_into(dtb, copy, sizeof(copy)));
	CHECK(!fdt_setprop(copy, fdt_path_offset(copy, path), property, value, size));
	const char *wrong = map_parse(&map, copy, sizeof(copy), &culprit);
	CHECK(wrong);
	if (!wrong || !culprit || strcmp(culprit, expected))
		fprintf(stderr, "%s/%s: refused for %s: %s\n", path, property, culprit, wrong ? wrong : "nothing");
	CHECK(culprit && !strcmp(culprit, expected));
}

static void put(char *copy, const char *path, const char *property, const void *value, int size)
{
	CHECK(!fdt_setprop(copy, fdt_path_offset(copy, path), property, value, size));
}

/* Each cluster on a machine of its own, with devices of its own. */
static void check_machines(void)
{
	static char copy[65536 + 1024];
	const char *culprit;
	CHECK(!fdt_open_into(dtb, copy, sizeof(copy)));
	put(copy, "/cpus", "#address-cells", "\0\0\0\2", 4);
	put(copy, "/cpus/cpu@0", "reg", "\0\0\0\0\0\0\0\0", 8);
	put(copy, "/cpus/cpu@4", "reg", "\0\0\0\0\0\0\0\4", 8);
	put(copy, "/cpus/cpu@8", "reg", "\0\0\0\1\0\0\0\0", 8);
	put(copy, "/clusters/cluster@7", "devices", "", 0);
	CHECK(!map_parse(&map, copy, sizeof(copy), &culprit));
	CHECK(map.primary == 3 && map_cluster(&map, 3)->machine == 0 && map_cluster(&map, 3)->devices);
	CHECK(map_cluster(&map, 7)->machine == 1 && map_cluster(&map, 7)->devices);
	CHECK(map.application[2].cluster == 7);
	CHECK(!fdt_delprop(copy, fdt_path_offset(copy, "/clusters/cluster@3"), "devices"));
	CHECK(map_parse(&map, copy, sizeof(copy), &culprit) && !strcmp(culprit, "clusters"));
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	if (!file)
		return 2;
	dtb_size = fread(dtb, 1, sizeof(dtb), file);
	fclose(file);
	check_good();
	check_machines();

	const char *culprit;
	CHECK(map_parse(&map, dtb, 10, &culprit));
	CHECK(map_parse(&map, dtb, dtb_size - 1, &culprit));
	check_broken("/clusters/cluster@7", "devices", "", 0, "cluster@3");
	check_broken("/clusters/cluster@7", "cpus", "\0\0\0\x63", 4, "cluster@7");
	check_broken("/clusters/cluster@7", "reg", "\0\0", 2, "cluster@7");
	check_broken("/applications/redis@2", "cpu", "\0\0\0\x63", 4, "redis@2");
	check_broken("/applications/redis@2", "cpu", "\0\0", 2, "redis@2");
	check_broken("/applications/redis@2", "program", "abc", 3, "redis@2");
	check_broken("/applications/redis@2", "heap", "\0\0\0\0\0\0\x10\0", 8, "redis@2");
	check_broken("/applications/redis@2", "heap", "\xff\0\0\0\0\x20\0\0", 8, "redis@2");
	check_broken("/applications/redis@2", "ipv4", "10.0.2.256", 11, "redis@2");
	check_broken("/applications/redis@2", "ipv4", "10.0.2", 7, "redis@2");
	check_broken("/applications/redis@2", "ipv4", "10.0.2.1.", 10, "redis@2");
	check_broken("/applications/redis@2", "mac", "\1\2\3", 3, "redis@2");
	check_broken("/applications/redis@2", "args", "abc", 3, "redis@2");
	check_broken("/applications/redis@2", "role", "switch", 7, "redis@2");
	check_broken("/applications/redis@2", "role", "king", 5, "redis@2");
	check_broken("/applications/nic@1", "pci-id", "\0\0\0\1", 4, "nic@1");
	check_broken("/applications/ycsb@3", "await", "redis@9", 8, "ycsb@3");
	check_broken("/applications/redis@2", "stack", "stack@9", 8, "redis@2");
	check_broken("/applications/redis@2", "stack", "redis@2", 8, "redis@2");
	check_broken("/applications/redis@2", "stack", "ycsb@3", 7, "redis@2");
	check_broken("/network", "mtu", "\0\0\xff\xff", 4, "network");
	return failures != 0;
}
