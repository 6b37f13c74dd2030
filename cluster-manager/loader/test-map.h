/* SPDX-License-Identifier: BSD-2-Clause */
/* Cluster maps with one thing broken each: the map and the machine that are edited, the ways to edit them, the
 * cases. */
#pragma once

#include <elf.h>
#include <libfdt.h>

#include "map.h"

enum { ROOM = 512 * 1024 };

extern struct machine machine;
extern char sound[ROOM], tree[ROOM]; /* as it was read; what the loader is given */
extern uint64_t tree_size;           /* what the loader is told */
extern uint32_t number;              /* which machine of the map we are on */
extern unsigned char kernel_file[4096], program_file[4096], redis_file[4096];

#define C0 "/clusters/cluster@0"
#define C1 "/clusters/cluster@1"
#define CHANNEL "/channels/channel@0"
#define SWITCH "/applications/switch@0"
#define REDIS "/applications/redis@2"
#define YCSB "/applications/ycsb@3"
#define BELOW "/applications/below@9" /* add_switch() */

/* --- test-map.c --- */

void fresh(void); /* the sound map and its machine */
/* `culprit` NULL: must be accepted. */
void judge(const char *what, const char *culprit);

/* Checks the lines about the nodes of the map accepted last: at most so many, `words` among them. NULL: none at all. */
void expect_words(unsigned most, const char *words);

/* Checks the lines that list the nodes of the map accepted last, a '|' behind each. */
void expect_list(const char *lines);

/* Something unusual that must pass, and the statement that makes it so. */
#define ACCEPT(what, line) (fresh(), line, judge(what, NULL))
/* Something broken, the statement that breaks it, and a part of the error that must follow. */
#define BREAK(what, line, culprit) (fresh(), line, judge(what, culprit))

/* --- test-map-edit.c --- */

int at(const char *path);
struct fdt_property *property(const char *path, const char *name);
void must(int error); /* libfdt's, if not 0, ends the test */
void set_cell(const char *path, const char *name, uint32_t value);
void set_cells(const char *path, const char *name, uint32_t first, uint32_t second);
void set_high_ids(void);
void set_text(const char *path, const char *name, const char *value);
void set_memory(const char *path, uint64_t base, uint64_t size);
void drop(const char *path, const char *name);
void set_length(const char *path, const char *name, uint32_t length);
void set_length_minus_4(const char *path, const char *name);
void rename_property(const char *path, const char *name, const char *other);
void rename_node(const char *path, const char *name);
void add_applications(uint32_t count, bool with_address);
void add_switch(const char *above);
void set_arguments(const char *path, uint32_t count, uint32_t size);
void name_all(const char *path, const char *property, uint32_t count);
struct machine_module *module(const char *name);
void drop_module(const char *name);
Elf64_Phdr *segment_of(unsigned char *file);
Elf64_Ehdr *elf_of(unsigned char *file);
void add_segment(unsigned char *file, uint64_t vaddr);
void make_machine(void);

/* --- cases --- */

void break_container(void);
void break_shapes(void);
void break_tree(void);
void break_cores(void);
void accept_nodes(void);
void break_nodes(void);
void accept_labels(void);
void break_labels(void);
void break_clusters(void);
void break_memory(void);
void accept_clusters(void);
void break_applications(void);
void break_programs(void);
void break_network(void);
void break_cables(void);
void break_switches(void);
void accept_switches(void);
void accept_applications(void);
/* for maps of several machines */
void break_machines(void);
void accept_machines(void);
