/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Free slots of the root CNode, which the loader has sized by the applications of the map.
 *
 * What is taken, of slots and of memory (memory.h), belongs to an owner, and is given back by the owner as a whole.
 */
#pragma once

#include <stdint.h>
#include <skerry/map_limits.h>

/*
 * The manager keeps what it takes. Others: an application; what it shares with its stack process; what programs share;
 * what one request needs for as long as it is served; a process that another one has forked; the program that a
 * process of a family has executed.
 */
enum { OWNER_MANAGER = 0, OWNER_SHARED = 1 + 2 * MAP_MAX_APPLICATIONS, OWNERS_SHARED = 65,
       OWNER_SCRATCH = OWNER_SHARED + OWNERS_SHARED, OWNER_CHILDREN, OWNERS_CHILDREN = 480,
       OWNER_IMAGES = OWNER_CHILDREN + OWNERS_CHILDREN, OWNERS_IMAGES = 512,
       OWNERS = OWNER_IMAGES + OWNERS_IMAGES };
static inline uint32_t owner_application(uint32_t application) { return 1 + application; }
static inline uint32_t owner_sockets(uint32_t application) { return 1 + MAP_MAX_APPLICATIONS + application; }

/* Sets the owner of what is taken from now on. Returns the one before. */
uint32_t owner_set(uint32_t owner);
/* Returns the owner of what is taken now. */
uint32_t owner_now(void);

/* Takes all slots from ROOT->first_free_slot on. Called once, before slots_take(). */
void slots_init(void);
/* Returns the bytes of the table of owners and their lists. Until it is there, slots are the manager's. */
uint64_t slots_table_size(void);
/* Takes the memory of the table, for good. Called once, before an owner is set. */
void slots_table(void *zeroed);

/* Returns the first of `count` empty slots in a row, for capabilities of any kind, or -SKERRY_NO_RESOURCE. */
int slots_take(uint32_t count);
/* The same, for objects: revoking the untyped that they are made of empties them. */
int slots_take_for_objects(uint32_t count);
/* Gives empty slots back: the manager's, or what the latest request of another owner has taken. */
void slots_give(int first, uint32_t count);

/*
 * Gives all slots of an owner back, and deletes its capabilities in those of slots_take(). Those for objects are empty:
 * their untypeds have been revoked. Takes as many steps as the owner has slots.
 */
void slots_return(uint32_t owner);

/* Returns how many slots are free. */
uint32_t slots_free(void);
/* Returns how many slots have been looked at, in all, to give slots back. */
uint64_t slots_steps(void);
