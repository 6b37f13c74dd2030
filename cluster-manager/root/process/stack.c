/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <string.h>
#include <skerry/require.h>
#include "map.h"
#include "memory.h"
#include "root.h"
#include "stack.h"
#include "vspace.h"

enum {
	FRAMES = PROCESS_STACK_SIZE / SIZE_4K,
	STEP = PROCESS_STACK_STEP / SIZE_4K,
	ARGUMENT_FRAMES = MAP_ARGUMENT_PAGES, /* what is written before the program starts is in the topmost ones */
	ARGUMENT_BYTES = ARGUMENT_FRAMES * SIZE_4K,
};

_Static_assert(ARGUMENT_FRAMES <= STEP, "the first step has them");
/* Promises make no page tables but for the first step's (promise.h). */
_Static_assert(PROCESS_STACK_TOP % SIZE_2M == 0 && PROCESS_STACK_SIZE <= SIZE_2M, "one page table has the stack");

/* The topmost frames while they are written: grows down. */
struct builder {
	char *memory;
	uint64_t top; /* bytes of `memory` not yet used */
};

static uint64_t address_of(const struct builder *b) { return PROCESS_STACK_TOP - ARGUMENT_BYTES + b->top; }

/* The address in the program, or 0 when there is no room. */
static uint64_t stack_push(struct builder *b, const void *bytes, uint64_t size)
{
	require(b->top <= ARGUMENT_BYTES);
	if (size > b->top)
		return 0;
	b->top -= size;
	memcpy(b->memory + b->top, bytes, size);
	return address_of(b);
}

/* The strings of a list, their addresses behind what is in `table` already, and a null. False: there is no room. */
static bool push_strings(struct builder *b, const struct map_list *list, uint64_t *table, uint64_t *count,
                         uint64_t most)
{
	for (const char *s = map_next_string(map, list, NULL); s; s = map_next_string(map, list, s)) {
		if (*count == most || !(table[*count] = stack_push(b, s, strlen(s) + 1)))
			return false;
		++*count;
	}
	table[*count] = 0;
	return true;
}

/* The paths of its volumes, the first at the lowest address. Returns that, or 0: there is no room. */
static uint64_t push_mounts(struct builder *b, const struct map_application *a)
{
	uint64_t address = address_of(b);
	for (uint32_t i = map_named_count(&a->volumes); address && i--;) {
		const struct map_list *mount = &map->application[map_named(map, &a->volumes, i)].mount;
		address = stack_push(b, map_bytes(map, mount), mount->size);
	}
	return address;
}

static int stack_build(struct builder *b, const struct map_application *a, const struct elf_image *image,
		 const uint64_t random[2], struct process_info *info)
{
	uint64_t argv[MAP_MAX_ARGUMENTS + 1], envp[MAP_MAX_VARIABLES + 1];
	uint64_t argc = 1, variables = 0;
	argv[0] = stack_push(b, a->program, strlen(a->program) + 1);
	if (!argv[0] || !push_strings(b, &a->args, argv, &argc, MAP_MAX_ARGUMENTS) ||
	    !push_strings(b, &a->env, envp, &variables, MAP_MAX_VARIABLES))
		return -SKERRY_BAD_ARGUMENT;
	info->cwd = 0;
	if (a->cwd.size && !(info->cwd = stack_push(b, map_bytes(map, &a->cwd), a->cwd.size)))
		return -SKERRY_BAD_ARGUMENT;
	info->volumes = a->volumes.size ? push_mounts(b, a) : 0;
	if (a->volumes.size && !info->volumes)
		return -SKERRY_BAD_ARGUMENT;
	uint64_t random_address = stack_push(b, random, 16);

	uint64_t auxv[][2] = {
		{ AT_PHDR, elf_headers(image) }, { AT_PHENT, image->header_size }, { AT_PHNUM, image->header_count },
		{ AT_PAGESZ, SIZE_4K }, { AT_ENTRY, image->entry }, { AT_RANDOM, random_address },
		{ AT_EXECFN, argv[0] }, { AT_UID, a->uid }, { AT_EUID, a->uid }, { AT_GID, a->gid },
		{ AT_EGID, a->gid },
		{ AT_SECURE, 0 }, { AT_SKERRY, PROCESS_INFO_VADDR }, { AT_NULL, 0 },
	};
	/* argc must end up 16-byte aligned: argc, argv and its null, the environment and its null, auxv */
	uint64_t size = 8 + (argc + 1) * 8 + (variables + 1) * 8 + sizeof(auxv);
	if (!random_address || size + 16 > b->top)
		return -SKERRY_BAD_ARGUMENT;
	require(argc && argc <= MAP_MAX_ARGUMENTS && variables <= MAP_MAX_VARIABLES);
	b->top = ((b->top - size) & ~15ull) + size;
	stack_push(b, auxv, sizeof(auxv));
	stack_push(b, envp, (variables + 1) * 8);
	stack_push(b, argv, (argc + 1) * 8);
	stack_push(b, &argc, 8);
	return 0;
}

int stack_make(const struct map_application *a, const struct elf_image *image, struct process *p,
               const uint64_t random[2],
	       uint64_t *stack_pointer, struct process_info *info)
{
	int error = promise_make(&p->stack, PROCESS_STACK_TOP - PROCESS_STACK_SIZE, OBJECT_FRAME_4K, PROCESS_STACK_SIZE,
	                         STEP, PROCESS_TOUCHED_STACK);
	if (!error)
		error = promise_commit(&p->stack, FRAMES / STEP - 1);
	if (error)
		return error;
	struct builder b = { window_open(p->stack.first + FRAMES - ARGUMENT_FRAMES, ARGUMENT_FRAMES), ARGUMENT_BYTES };
	if (!b.memory)
		return -SKERRY_NO_MEMORY;
	error = stack_build(&b, a, image, random, info);
	window_close();
	*stack_pointer = address_of(&b);
	return error ? error : promise_map(&p->stack, p->vspace, &p->touched, FRAMES / STEP - 1,
	                                   RIGHT_READ | RIGHT_WRITE);
}
