/* SPDX-License-Identifier: BSD-2-Clause */
/* Which files image_make() takes for programs; where it puts their segments, and what their pages hold when they are touched. */
#include <elf.h>
#include <skerry/errors.h>
#include <skerry/process.h>
#include "image.h"
#include "test-check.h"
#include "test-image.h"

enum { SEGMENTS = 2, PAGE = 4096, TEXT = 0x400000, DATA = 0x402000, VSPACE = 7, PAGES = 4096 };

static struct file {
	Elf64_Ehdr e;
	Elf64_Phdr p[SEGMENTS];
	char bytes[3 * PAGE];
} file;

/* What is mapped, from TEXT on: slots of frames, and rights. */
static int mapped[PAGES];
static unsigned mapped_rights[PAGES];
static unsigned maps;

int vspace_map_range(int vspace, int first, uint32_t count, uint64_t size, uint64_t address, unsigned rights, unsigned attributes)
{
	const uint64_t page = (address - TEXT) / PAGE;
	(void)attributes;
	CHECK(vspace == VSPACE && size == PAGE && address % PAGE == 0 && page + count <= PAGES);
	for (uint32_t i = 0; i < count; i++) {
		CHECK(!mapped[page + i] && slot[first + (int)i].frame);
		mapped[page + i] = first + (int)i;
		mapped_rights[page + i] = rights;
	}
	maps += count;
	return 0;
}

static const char *page_at(uint64_t address)
{
	const int at = mapped[(address - TEXT) / PAGE];
	return at ? frames[slot[at].frame] : NULL;
}

static void unmap_all(void)
{
	memset(mapped, 0, sizeof(mapped));
	maps = 0;
}

static void make(void)
{
	file.e = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC,
		.e_machine = EM_X86_64, .e_entry = TEXT + 0x10, .e_phoff = offsetof(struct file, p),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = SEGMENTS,
	};
	file.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, .p_filesz = PAGE, .p_memsz = PAGE };
	file.p[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = PAGE, .p_vaddr = DATA,
				  .p_filesz = 100, .p_memsz = 2 * PAGE };
	unmap_all();
}

static int modules;

static const char *load(void)
{
	static struct error_message err;
	static struct image image;
	struct elf_image elf;
	const struct module m = { .index = modules++, .data = &file, .size = sizeof(file) };
	const int taken = slots_taken;
	err.text[0] = 0;
	int error = image_make(&image, &m, "it", VSPACE, &elf, &err);
	CHECK(error == (err.text[0] ? -SKERRY_BAD_ARGUMENT : 0));
	CHECK(!error || (!maps && slots_taken == taken)); /* nothing is made of a file that is refused */
	CHECK(error || (elf.entry == file.e.e_entry && elf_headers(&elf) == TEXT + offsetof(struct file, p)));
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

/* A program of its own: text from the middle of a page on, and data of which the file has a part. */
enum { TEXT_PAGES = 2 * IMAGE_STEP + 1, DATA_PAGES = 3 * IMAGE_STEP + 2, FAR_PAGES = 600, BIG_DATA = TEXT + 0x100000, SKIP = 0x120 };
enum { FILE_DATA = IMAGE_STEP * PAGE + 77 }; /* bytes of data in the file */

static struct big {
	Elf64_Ehdr e;
	Elf64_Phdr p[SEGMENTS];
	char text[TEXT_PAGES * PAGE], data[FILE_DATA];
} big;

static struct module big_module(uint32_t data_pages)
{
	big.e = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC,
		.e_machine = EM_X86_64, .e_entry = TEXT + PAGE, .e_phoff = offsetof(struct big, p),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = SEGMENTS,
	};
	big.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = offsetof(struct big, text), .p_vaddr = TEXT + SKIP,
				 .p_filesz = TEXT_PAGES * PAGE - SKIP, .p_memsz = TEXT_PAGES * PAGE - SKIP };
	big.p[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = offsetof(struct big, data), .p_vaddr = BIG_DATA,
				 .p_filesz = FILE_DATA, .p_memsz = (uint64_t)data_pages * PAGE };
	for (size_t i = 0; i < sizeof(big.text); i++)
		big.text[i] = (char)(i * 7 + i / PAGE + 1);
	for (size_t i = 0; i < sizeof(big.data); i++)
		big.data[i] = (char)(i * 5 + i / PAGE + 3);
	return (struct module){ .index = modules++, .data = &big, .size = sizeof(big) };
}

/* The byte that the program is to find there. */
static char expected(uint64_t address)
{
	if (address < TEXT + SKIP)
		return 0;
	if (address < BIG_DATA)
		return big.text[address - TEXT - SKIP];
	return address - BIG_DATA < FILE_DATA ? big.data[address - BIG_DATA] : 0;
}

static bool page_is_right(uint64_t address)
{
	const char *page = page_at(address);
	for (unsigned i = 0; page && i < PAGE; i++)
		if (page[i] != expected(address / PAGE * PAGE + i))
			return false;
	return page;
}

static struct image make_big(const struct module *m)
{
	struct image image;
	struct elf_image elf;
	struct error_message err;
	unmap_all();
	CHECK(!image_make(&image, m, "big", VSPACE, &elf, &err));
	return image;
}

/* Whatever is touched first, in whatever order, is there as the file has it; nothing else is. */
static void check_touches(void)
{
	const struct module m = big_module(DATA_PAGES);
	struct image image = make_big(&m);
	CHECK(maps == 2 * IMAGE_STEP && image.mapped == maps && image.mapped_shared == IMAGE_STEP);
	CHECK(image_untouched(&image) == (TEXT_PAGES + DATA_PAGES - maps) * (uint64_t)PAGE);
	const uint64_t last = BIG_DATA + DATA_PAGES * PAGE - 1;
	CHECK(image_has(&image, TEXT) && image_has(&image, last) && !image_has(&image, last + 1) && !image_has(&image, TEXT - 1));
	CHECK(!image_has(&image, TEXT + TEXT_PAGES * PAGE) && !image_has(&image, BIG_DATA - 1));
	for (unsigned i = 0; i < DATA_PAGES; i++)
		CHECK(!!page_at(BIG_DATA + (uint64_t)i * PAGE) == (i < IMAGE_STEP));
	CHECK(!image_touch(&image, VSPACE, last)); /* the step is cut at the end of the segment */
	CHECK(maps == 2 * IMAGE_STEP + DATA_PAGES % IMAGE_STEP && !page_at(last - DATA_PAGES % IMAGE_STEP * PAGE));
	CHECK(!image_touch(&image, VSPACE, last) && image.mapped == maps); /* by another thread, too */
	for (uint64_t at = BIG_DATA + DATA_PAGES * PAGE; at > BIG_DATA; at -= PAGE)
		CHECK(!image_touch(&image, VSPACE, at - PAGE + 8) && page_is_right(at - PAGE));
	for (uint64_t at = TEXT; at < TEXT + TEXT_PAGES * PAGE; at += PAGE)
		CHECK(!image_touch(&image, VSPACE, at) && page_is_right(at));
	CHECK(maps == TEXT_PAGES + DATA_PAGES && image.mapped == maps && image.mapped_shared == TEXT_PAGES && !image_untouched(&image));
	CHECK(mapped_rights[0] == (RIGHT_READ | RIGHT_EXECUTE));
	CHECK(mapped_rights[(BIG_DATA - TEXT) / PAGE] == (RIGHT_READ | RIGHT_WRITE));
}

/* What is read-only is made once, by whichever program touches it first; each has data of its own. */
static void check_shared(void)
{
	const struct module m = big_module(DATA_PAGES);
	const uint64_t at = TEXT + IMAGE_STEP * PAGE, other = TEXT + 2 * IMAGE_STEP * PAGE;
	struct image first = make_big(&m);
	CHECK(!image_touch(&first, VSPACE, at));
	const char *text = page_at(at), *data = page_at(BIG_DATA);
	owner_set(2);
	const int made = frames_made;
	struct image second = make_big(&m);
	CHECK(frames_made == made + IMAGE_STEP && page_at(BIG_DATA) != data && page_is_right(BIG_DATA)); /* of data alone */
	CHECK(!page_at(at) && !image_touch(&second, VSPACE, at) && page_at(at) == text);
	CHECK(frames_made == made + IMAGE_STEP);
	CHECK(!image_touch(&second, VSPACE, other) && page_is_right(other) && frames_made == made + IMAGE_STEP + 1);
	CHECK(slot[mapped[(at - TEXT) / PAGE]].owner == 2 && !slot[mapped[(at - TEXT) / PAGE]].object);
	CHECK(image_untouched(&first) == (DATA_PAGES - IMAGE_STEP) * (uint64_t)PAGE); /* all of the text has been made */
	CHECK(image_untouched(&second) == (DATA_PAGES - IMAGE_STEP) * (uint64_t)PAGE);
	memory_return(1), memory_return(2); /* both end; what they shared stays */
	owner_set(1);
	struct image third = make_big(&m);
	CHECK(!image_touch(&third, VSPACE, other) && page_is_right(other) && frames_made == made + 2 * IMAGE_STEP + 1);
}

/* Something is mapped in each 2 MiB, so that no page table can be missing later. */
static void check_tables(void)
{
	const struct module m = big_module(FAR_PAGES);
	make_big(&m);
	CHECK(maps == 3 * IMAGE_STEP && page_at(TEXT + 0x200000) && page_is_right(TEXT + 0x200000));
}

/* Without slots for all, nothing is left of it, and the next one does not find half of it. */
static void check_without_slots(void)
{
	const struct module m = big_module(DATA_PAGES);
	struct error_message err;
	struct elf_image elf;
	struct image image;
	unmap_all();
	slots_most = slots_taken + TEXT_PAGES - 1;
	CHECK(image_make(&image, &m, "big", VSPACE, &elf, &err) == -SKERRY_NO_RESOURCE && !maps);
	slots_most = HOST_SLOTS;
	image_undo(&image);
	make_big(&m);
	CHECK(page_is_right(TEXT) && page_is_right(BIG_DATA));
}

/* Of a program that is not started after all nothing is kept; what another one reserved before is. */
static void check_undo(void)
{
	const struct module m = big_module(DATA_PAGES);
	struct image first = make_big(&m);
	image_undo(&first);
	CHECK(!image_has(&first, TEXT));
	struct image second = make_big(&m), third = make_big(&m);
	const uint64_t data = (DATA_PAGES - IMAGE_STEP) * (uint64_t)PAGE, text = (TEXT_PAGES - IMAGE_STEP) * (uint64_t)PAGE;
	CHECK(image_untouched(&second) == data + text && image_untouched(&third) == data);
	image_undo(&third);
	CHECK(image_untouched(&second) == data + text && image_has(&second, TEXT) && page_is_right(TEXT));
	third = make_big(&m);
	CHECK(image_untouched(&third) == data);
}

int main(void)
{
	owner_set(1);
	make();
	CHECK(!*load());
	CHECK(maps == 3 && mapped[0] && mapped[2] && mapped[3]);
	check_touches();
	check_shared();
	check_tables();
	check_without_slots();
	check_undo();
	check_segments();
	check_position_independent();
	check_entry();
	make(), file.e.e_type = ET_REL;
	CHECK(says("not an ELF64 executable"));
	make(), file.e.e_phoff = sizeof(file) - 8;
	CHECK(says("its program headers are"));
	return failures != 0;
}
