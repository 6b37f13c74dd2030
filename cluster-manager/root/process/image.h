/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's image: the segments of its file. Memory and slots for all of it are reserved when the program starts, so
 * that none can be missing later; pages are made, filled from the file and mapped when the program first touches them,
 * up to IMAGE_STEP of a segment at a time. What is read-only is made once for all programs of one module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/executable.h>
#include "memory.h"
#include "modules.h"

enum { IMAGE_STEP = 4 }; /* pages, beginning at a multiple of it in the segment */

/* Frames of a segment: its program's, or shared. */
struct image_frames {
	struct memory_reserve reserve;
	int first;     /* slot of the first frame */
	uint32_t made; /* how many there are */
};

struct image_segment {
	uint64_t address;   /* of its first page */
	uint32_t pages, rights;
	const char *data;   /* what the file has of it */
	uint64_t skip, size;/* where that is, in bytes from `address` */
	struct image_frames own;
	struct image_frames *shared; /* null: it has frames of its own */
	int copies;         /* slots for copies of the capabilities to shared frames */
	bool pays;          /* its program was the first one: memory for the shared frames was reserved then */
};

struct image {
	uint32_t count;
	uint32_t mapped, mapped_shared; /* pages; of read-only segments */
	struct image_segment segment[ELF_MAX_SEGMENTS];
};

/*
 * Reads a program (skerry/executable.h), reserves memory for its image, and maps the first step of each segment and of
 * each 2 MiB. Returns 0 or an error; with SKERRY_BAD_ARGUMENT `err` says what is wrong with the file, for which nothing is
 * reserved then.
 */
int image_make(struct image *image, const struct module *module, const char *name, int vspace, struct elf_image *elf,
	       struct error_message *err);

/* Gives back what was reserved of it to be shared, where the program is not started after all; the rest is its owner's. */
void image_undo(struct image *image);

/* Whether the address is in the image. */
bool image_has(const struct image *image, uint64_t address);

/* Makes and maps the step that has the address, which is in the image, unless it is there. Returns 0 or an error. */
int image_touch(struct image *image, int vspace, uint64_t address);

/* Returns the bytes that were reserved for this program and have not been touched. */
uint64_t image_untouched(const struct image *image);

/* The address of its program headers in the program, 0 where no segment holds them. */
uint64_t elf_headers(const struct elf_image *elf);
