/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * glibc's _dl_find_object() (its manual, "Dynamic Linker Introspection"), which Debian's libgcc_eh.a asks for the table
 * of exception frames. A program of ours is one object, so the answer is always the same.
 */
#include <elf.h>
#include <stddef.h>

struct dl_find_object {
	unsigned long long flags;
	void *map_start, *map_end;
	void *link_map;
	void *eh_frame; /* PT_GNU_EH_FRAME: the table that the linker's --eh-frame-hdr makes */
	unsigned long long reserved[7];
};
_Static_assert(sizeof(struct dl_find_object) == 96 && offsetof(struct dl_find_object, eh_frame) == 32, "glibc's");

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
extern char _end[];

/* Describes the program in *result, if the address is in it. Returns 0, or -1 if not. Any thread may call it. */
int _dl_find_object(void *address, struct dl_find_object *result)
{
	const Elf64_Phdr *headers = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
	if ((char *)address < (const char *)&__ehdr_start || (char *)address >= _end)
		return -1;
	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
		if (headers[i].p_type == PT_GNU_EH_FRAME) {
			*result = (struct dl_find_object){.map_start = (void *)&__ehdr_start, .map_end = _end,
			                                  .eh_frame = (void *)headers[i].p_vaddr};
			return 0;
		}
	return -1;
}
