/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breaks a sound map (argv[1], compiled from test-map.dts), or its machine, and
 * one of several machines (argv[2], from test-map-machines.dts) in one place at a
 * time and expects an error that names the culprit.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "read.h"
#include "test-map.h"

struct machine machine;
_Alignas(8) char sound[ROOM], tree[ROOM];
uint64_t tree_size;
uint32_t number;

static uint64_t sound_size;
static int failures;

void fresh(void)
{
	make_machine();
	number = 0;
	must(fdt_open_into(sound, tree, ROOM));
	tree_size = ROOM;
}

static char words[1024]; /* what the loader says of the nodes of a map that it takes */
static unsigned lines;

static void __attribute__((format(printf, 1, 2))) keep(const char *format, ...)
{
	size_t used = strlen(words);
	va_list args;

	va_start(args, format);
	vsnprintf(words + used, sizeof words - used, format, args);
	va_end(args);
	lines++;
}

static char list[512];

static void __attribute__((format(printf, 1, 2))) keep_list(const char *format, ...)
{
	size_t used = strlen(list);
	va_list args;

	va_start(args, format);
	vsnprintf(list + used, sizeof list - used, format, args);
	va_end(args);
	strncat(list, "|", sizeof list - strlen(list) - 1);
}

void expect_list(const char *expected)
{
	bool good = strcmp(list, expected) == 0;

	printf("%s   lists \"%s\"\n", good ? "ok  " : "FAIL", list);
	failures += !good;
}

static bool sound_to_loader(struct cluster_map *map, struct error_message *err)
{
	if (!cluster_map_read(map, tree, tree_size, err))
		return false;
	map->machine = number;
	words[0] = list[0] = '\0';
	lines = 0;
	if (!map_check(map, &machine, err) || !map_check_labels(map, tree, &machine, err))
		return false;
	map_list_nodes(map, &machine, keep_list);
	map_say_nodes(map, &machine, keep);
	return true;
}

void expect_words(unsigned most, const char *expected)
{
	bool good = expected == NULL ? lines == 0 : lines >= 1 && lines <= most && strstr(words, expected) != NULL;

	printf("%s   says \"%s\"\n", good ? "ok  " : "FAIL", words);
	failures += !good;
}

void judge(const char *what, const char *culprit)
{
	static struct cluster_map map;
	struct error_message err = { .text = "" };
	bool good = sound_to_loader(&map, &err);
	bool expected = culprit == NULL ? good : !good && strstr(err.text, culprit) != NULL;

	printf("%s %s: %s\n", expected ? "ok  " : "FAIL", what, good ? "accepted" : err.text);
	failures += !expected;
}

/* Whatever single byte is wrong, the checks come to an end and stay inside the tree (with sanitizers: provably). */
static void flip_every_byte(void)
{
	static struct cluster_map map;
	struct error_message err;
	uint64_t refused = 0;

	for (uint64_t i = 0; i < sound_size; i++) {
		fresh();
		must(fdt_pack(tree));
		tree_size = fdt_totalsize(tree);
		tree[i] ^= 1 << i % 8;
		refused += !sound_to_loader(&map, &err);
	}
	printf("ok   %lu maps of one wrong bit: %lu refused\n", (unsigned long)sound_size, (unsigned long)refused);
}

static bool load(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (file == NULL)
		return false;
	sound_size = fread(sound, 1, sizeof sound, file);
	fclose(file);
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 3 || !load(argv[1])) {
		fprintf(stderr, "usage: test-map SOUND-MAP.dtb SOUND-MAP-OF-MACHINES.dtb\n");
		return 2;
	}
	accept_clusters();
	accept_nodes();
	accept_labels();
	accept_applications();
	break_container();
	break_shapes();
	break_tree();
	break_cores();
	break_nodes();
	break_labels();
	break_clusters();
	break_memory();
	break_applications();
	break_programs();
	break_network();
	break_cables();
	break_switches();
	accept_switches();
	flip_every_byte();
	if (!load(argv[2]))
		return 2;
	accept_machines();
	break_machines();
	flip_every_byte();
	return failures != 0;
}
