/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include "memory.h"
#include "root.h"
#include "stack.h"
#include "string.h"
#include "vspace.h"

enum {
	FRAMES = PROCESS_STACK_SIZE / SIZE_4K,
	ARGUMENT_FRAMES = 4, /* what is written before the program starts is in the topmost ones */
	ARGUMENT_BYTES = ARGUMENT_FRAMES * SIZE_4K,
	ARGUMENTS_MAX = 64,
};

/* The topmost frames while they are written: grows down. */
struct builder {
	char *memory;
	uint64_t top; /* bytes of `memory` not yet used */
};

static uint64_t address_of(const struct builder *b) { return PROCESS_STACK_TOP - ARGUMENT_BYTES + b->top; }

/* The address in the program, or 0 when there is no room. */
static uint64_t push(struct builder *b, const void *bytes, uint64_t size)
{
	if (size > b->top)
		return 0;
	b->top -= size;
	memcpy(b->memory + b->top, bytes, size);
	return address_of(b);
}

static int build(struct builder *b, const struct application *a, const struct elf_image *image,
		 const uint64_t random[2])
{
	uint64_t argv[ARGUMENTS_MAX + 1];
	uint64_t argc = 0;
	const char *argument = a->program;
	do {
		if (argc == ARGUMENTS_MAX)
			return -SKERRY_BAD_ARGUMENT;
		argv[argc] = push(b, argument, strlen(argument) + 1);
		if (!argv[argc++])
			return -SKERRY_BAD_ARGUMENT;
		argument = string_list_next(&a->args, argument == a->program ? NULL : argument);
	} while (argument);
	argv[argc] = 0;
	uint64_t random_address = push(b, random, 16);

	uint64_t auxv[][2] = {
		{ AT_PHDR, image->headers }, { AT_PHENT, image->header_size }, { AT_PHNUM, image->header_count },
		{ AT_PAGESZ, SIZE_4K }, { AT_ENTRY, image->entry }, { AT_RANDOM, random_address },
		{ AT_EXECFN, argv[0] }, { AT_UID, 0 }, { AT_EUID, 0 }, { AT_GID, 0 }, { AT_EGID, 0 },
		{ AT_SECURE, 0 }, { AT_SKERRY, PROCESS_INFO_VADDR }, { AT_NULL, 0 },
	};
	const uint64_t no_environment = 0;
	/* argc must end up 16-byte aligned: argc, argv and its null, the environment's null, auxv */
	uint64_t size = 8 + (argc + 1) * 8 + 8 + sizeof(auxv);
	if (!random_address || size + 16 > b->top)
		return -SKERRY_BAD_ARGUMENT;
	b->top = ((b->top - size) & ~15ull) + size;
	push(b, auxv, sizeof(auxv));
	push(b, &no_environment, 8);
	push(b, argv, (argc + 1) * 8);
	push(b, &argc, 8);
	return 0;
}

int stack_make(const struct application *a, const struct elf_image *image, int vspace, const uint64_t random[2],
	       uint64_t *stack_pointer)
{
	int frames = memory_frames(OBJECT_FRAME_4K, FRAMES);
	if (frames < 0)
		return frames;
	int arguments = frames + FRAMES - ARGUMENT_FRAMES;
	struct builder b = { window_open(arguments, ARGUMENT_FRAMES), ARGUMENT_BYTES };
	if (!b.memory)
		return -SKERRY_NO_MEMORY;
	int error = build(&b, a, image, random);
	window_close(arguments, ARGUMENT_FRAMES);
	*stack_pointer = address_of(&b);
	if (error)
		return error;
	return vspace_map_range(vspace, frames, FRAMES, SIZE_4K, PROCESS_STACK_TOP - PROCESS_STACK_SIZE,
				RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
}
