/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that take the root task's place (root_info.h) and make kernel
 * objects by hand: start.S calls bare_main(). What they make after the first
 * memory_reset() comes from one piece of untyped memory, which each further
 * reset revokes, so that what comes next runs on memory that held the objects
 * of others before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <skerry/cluster_map.h>
#include <skerry/format.h>
#include <skerry/root_info.h>
#include <skerry/stubs.h>

#include "places.h"

enum { MAIN_PRIORITY = 100 }; /* of the thread that starts the others and waits, on core 0 */

_Noreturn void bare_main(void);

/* Checks. What one does that does not hold is the program's: fail() and the two after it are. */
#define check(condition) ((condition) ? (void)0 : fail(__FILE_NAME__, __LINE__, #condition))
#define check_eq(value, expected) check_equal(__FILE_NAME__, __LINE__, #value, (uint64_t)(value), (uint64_t)(expected))
#define check_ok(call) check_code(__FILE_NAME__, __LINE__, #call, (call), 0)
#define check_error(call, name) check_code(__FILE_NAME__, __LINE__, #call, (call), SKERRY_##name)

_Noreturn void fail(const char *file, int line, const char *what);
void check_equal(const char *file, int line, const char *what, uint64_t value, uint64_t expected);
void check_code(const char *file, int line, const char *what, int result, unsigned expected);

/* --- memory.c: capability pointers are slots of the root CNode --- */

/* So many new slots, all empty, the first of them; the memory's reset empties them again. */
uint64_t slots(unsigned count);
static inline uint64_t slot(void) { return slots(1); }
/* New objects from the test memory, in consecutive slots. */
uint64_t objects(enum skerry_object type, unsigned size_bits, unsigned count);
static inline uint64_t object(enum skerry_object type, unsigned size_bits) { return objects(type, size_bits, 1); }
uint64_t badged(uint64_t cap, uint64_t badge, unsigned rights); /* a minted copy */
uint64_t copy_of(uint64_t cap, unsigned rights);
bool is_empty(uint64_t slot);
/* The untyped that a test's objects come from: 32 MiB where the build says nothing else. */
#ifndef TEST_MEMORY_BITS
#define TEST_MEMORY_BITS 25
#endif
uint64_t test_memory(void);
/* The untyped that test_memory() is taken from. */
uint64_t source_untyped(void);

/* Addresses of the main address space that are for tests; tables exist already. */
#define WINDOW       0x1000000000ull /* 4 KiB pages, 2 MiB of them */
#define LARGE_WINDOW 0x1040000000ull /* 2 MiB pages, 1 GiB of them */
#define NO_TABLES    0x10000000000ull /* nothing there, no tables either */
/* Maps new zeroed memory at WINDOW + page * 4096; its frame. */
uint64_t map_page(unsigned page, unsigned rights);
void memory_init(void);
void memory_reset(void);

/* --- modules.c --- */

/* Maps the loader's modules at the first call. Returns the address of the one with this name, or null. */
const void *modules_map(const char *name);

/* --- output.c: a line for people on COM1, a JSON line on COM2 --- */

/* This cluster has the I/O ports: only it writes results and ends the machine. */
bool has_devices(void);

enum { LINE_SIZE = 400 };
#define LINE TEXT((char[LINE_SIZE]){ 0 }) /* a line of text, in the block where it stands */

void output_init(void);
void output_console(const struct text *line);
/* Straight to COM2; the cluster with devices only. */
void output_results(const struct text *line);
enum { EXIT_GOOD = 0x10, EXIT_BAD = 0x11 };
/* Ends the machine by QEMU's isa-debug-exit. */
_Noreturn void output_exit(unsigned status);

/* --- arguments.c: the `args` of its application in the cluster map --- */

extern const char program_name[];

/*
 * To be called first: sets up priority, output and memory, and has the kernel take the granularity that the map says.
 * Returns the map; its mapping stays.
 */
const struct cluster_map *experiment_begin(void);

/* Null when there is none of this number. */
const char *argument(const struct cluster_map *map, unsigned number);
uint64_t argument_number(const struct cluster_map *map, unsigned number, uint64_t otherwise);
/* Reads numbers separated by commas into `values`, followed by a 0. Returns false unless there are 1 to `most`, none of
 * them 0. */
bool argument_list(const struct cluster_map *map, unsigned number, uint32_t *values, unsigned most);
