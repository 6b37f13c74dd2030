/* SPDX-License-Identifier: BSD-2-Clause */
/* Which files elf_load() takes for programs; where it puts their segments. */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <skerry/errors.h>
#include <skerry/process.h>
#include "elf_load.h"
#include "memory.h"
#include "slots.h"
#include "test-check.h"
#include "test-owner.h"
#include "vspace.h"

enum { SEGMENTS = 2, PAGE = 4096, TEXT = 0x400000, DATA = 0x402000 };

static struct file {
	Elf64_Ehdr e;
	Elf64_Phdr p[SEGMENTS];
	char bytes[3 * PAGE];
} file;
static unsigned maps;
static uint64_t mapped[SEGMENTS];
static uint32_t counts[SEGMENTS];
static char frames[64 * PAGE];
static int frames_taken = 1;

int memory_frames(enum skerry_object type, uint32_t count)
{
	CHECK(type == OBJECT_FRAME_4K);
	frames_taken += (int)count;
	return frames_taken - (int)count;
}

int slots_copy(int first, uint32_t count)
{
	(void)count;
	return first;
}

void *window_open(int first, uint32_t count)
{
	(void)count;
	return frames + (size_t)first * PAGE;
}

void window_close(void) { }
int memory_object(enum skerry_object type, unsigned bits) { return (void)type, (void)bits, 1; }

int vspace_map_range(int vspace, int first, uint32_t count, uint64_t size, uint64_t address, unsigned rights,
                     unsigned attributes)
{
	(void)vspace, (void)first, (void)rights, (void)attributes;
	CHECK(size == PAGE && maps < SEGMENTS);
	mapped[maps] = address;
	counts[maps++] = count;
	return 0;
}

static void make(void)
{
	file.e = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_entry = TEXT + 0x10, .e_phoff = offsetof(struct file, p),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = SEGMENTS,
	};
	file.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, .p_filesz = PAGE,
	                          .p_memsz = PAGE };
	file.p[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = PAGE, .p_vaddr = DATA,
				  .p_filesz = 100, .p_memsz = 2 * PAGE };
	maps = 0;
}

static const char *load(void)
{
	static int module;
	static struct error_message err;
	struct elf_image image;
	const struct module m = { .index = module++, .data = &file, .size = sizeof(file) };
	err.text[0] = 0;
	int error = elf_load(&m, "it", 7, &image, NULL, &err);
	CHECK(error == (err.text[0] ? -SKERRY_BAD_ARGUMENT : 0));
	CHECK(!error || !maps); /* nothing is loaded of a file that is refused */
	CHECK(error || (image.entry == file.e.e_entry && elf_headers(&image) == TEXT + offsetof(struct file, p)));
	return err.text;
}

static bool says(const char *words)
{
	const char *wrong = load();
	size_t length = strlen(words);
	for (const char *s = wrong; *s; s++)
		if (!strncmp(s, words, length))
			return true;
	fprintf(stderr, "expected '%s', found '%s'\n", words, wrong);
	return false;
}

static void check_segments(void)
{
	make(), file.p[1].p_flags |= PF_X;
	CHECK(says("is writable and executable"));
	make(), file.p[1].p_vaddr = TEXT + PAGE - 8;
	CHECK(says("share a page"));
	make(), file.p[1].p_vaddr = TEXT - 4 * PAGE;
	CHECK(says("out of order"));
	make(), file.p[0].p_vaddr = 0, file.e.e_entry = 0x10;
	CHECK(says("is outside"));
	make(), file.p[1].p_vaddr = PROCESS_HEAP_VADDR - PAGE;
	CHECK(says("is outside"));
	make(), file.p[1].p_vaddr = PROCESS_HEAP_VADDR;
	CHECK(says("is outside"));
	make(), file.p[1].p_vaddr = 0xffffffff80000000ull;
	CHECK(says("is outside"));
	make(), file.p[1].p_memsz = UINT64_MAX;
	CHECK(says("impossible size"));
	make(), file.p[1].p_filesz = 3 * PAGE;
	CHECK(says("impossible size"));
	make(), file.p[1].p_memsz = file.p[1].p_filesz = sizeof(file) + 1;
	CHECK(says("is cut short"));
	make(), file.p[1].p_offset = UINT64_MAX;
	CHECK(says("is cut short"));
	make(), file.p[1].p_type = PT_INTERP;
	CHECK(says("linked dynamically"));
}

/* The base was once taken from the room that is left before the address was: it wrapped. */
static void check_position_independent(void)
{
	make(), file.e.e_type = ET_DYN;
	CHECK(says("position-independent"));
	file.p[1].p_vaddr = PROCESS_HEAP_VADDR - PAGE, file.p[1].p_memsz = 1ull << 40;
	CHECK(says("position-independent"));
}

static void check_entry(void)
{
	make(), file.e.e_entry = 0;
	CHECK(says("entry point"));
	make(), file.e.e_entry = TEXT + PAGE;
	CHECK(says("entry point"));
	make(), file.e.e_entry = DATA;
	CHECK(says("entry point"));
	make(), file.e.e_entry = 0xffffffff80000000ull;
	CHECK(says("entry point"));
	make(), file.e.e_phnum = 0;
	CHECK(says("nothing to load"));
}

int main(void)
{
	make();
	CHECK(!*load());
	CHECK(maps == 2 && mapped[0] == TEXT && counts[0] == 1 && mapped[1] == DATA && counts[1] == 2);
	check_segments();
	check_position_independent();
	check_entry();
	make(), file.e.e_type = ET_REL;
	CHECK(says("not an ELF64 executable"));
	make(), file.e.e_phoff = sizeof(file) - 8;
	CHECK(says("its program headers are"));
	return failures != 0;
}
