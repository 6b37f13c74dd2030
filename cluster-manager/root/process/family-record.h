/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a family, for the files of families alone. */
#pragma once

#include "elf_load.h"
#include "family.h"
#include "family-stops.h"
#include "grant.h"
#include "process.h"
#include "share.h"

enum { FIRST_PID = 1 };
enum { STATUS_STOPPED = 0x7f, STATUS_CONTINUED = 0xffff }; /* as wait() has them */

/* ENDED: nobody has asked for its status. */
enum member_life { MEMBER_FREE, MEMBER_RUNS, MEMBER_ENDED };

struct member {
	enum member_life life;
	uint32_t pid, parent; /* parent 0: nobody asks for its status */
	uint32_t status;
	struct member_group in;
	struct inbox inbox;
	uint32_t change;      /* status of a stop, or of going on, of which nobody has asked; 0: none */
	struct alarm alarm;
	bool kept;            /* it has memory; after its end as long as others borrow from it */
	struct process child; /* not of the first, which process.c has */
	struct elf_mapping image[ELF_MAX_SEGMENTS];
};

struct family {
	uint32_t number, last_pid;
	uint64_t said; /* TSC until which its lines on the console have been counted */
	struct shares shares;
	struct member member[PROCESS_MEMBERS];
	uint8_t steps[]; /* shares.at[].source, .lent_to and .closed */
};

extern struct family *family[MAP_MAX_APPLICATIONS]; /* null: the program is one process, or has never been started */

static inline struct process *process_at(uint32_t application, uint32_t place)
{
	return place ? &family[application]->member[place].child : process_of(application);
}
