/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process may execute: whatever it asks for, nothing outside its files and its heap is looked at, and a program
 * that has no room is refused before anything changes. */
#include <elf.h>
#include <string.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "root.h"
#include "test-check.h"

enum { PAGE = 4096, TEXT = 0x400000, DATA = 0x600000, STEPS = 4, OWN = 1, BORROWED = 2, ABSENT = 3,
       FREE_SLOTS = 1 << 16 };

static struct {
	char before[PAGE];
	struct file {
		Elf64_Ehdr e;
		Elf64_Phdr p[2];
		char bytes[2 * PAGE];
	} file;
} files;
static uint64_t touched, free_bytes;
static uint32_t slots;

#define tcb_write_registers(ipc, tcb, resume, registers) ((void)(registers), 0)
#include "elf_load.h"
#include "exec.c"

static struct cluster_map own_map;
const struct cluster_map *map = &own_map;

struct module module_find(const char *name)
{
	(void)name;
	return (struct module){ &files, sizeof(files), 1 };
}
int promise_word(const struct promise_table *t, uint64_t word, uint64_t *value)
{
	(void)t;
	CHECK(word == PROCESS_TOUCHED_HEAP / 64);
	*value = touched;
	return 0;
}
struct split *split_find(struct shield *shield, uint32_t step)
{
	return shield->split_count && shield->split[0].step == step ? &shield->split[0] : NULL;
}
uint64_t memory_free(void) { return free_bytes; }
uint32_t slots_free(void) { return slots; }
uint32_t owner_now(void) { return 0; }
uint32_t owner_set(uint32_t next) { return next; }
void memory_return(uint32_t owner) { (void)owner; }
void sign_pass(void) {}
int promise_note_word(const struct promise_table *t, uint64_t w, uint64_t v) { return (void)t, (void)w, (void)v, 0; }
int share_leave(struct shares *s, unsigned place) { return (void)s, (void)place, 0; }
void process_stop(struct process *p) { (void)p; }
int process_give_memory(const struct process *p) { return (void)p, 0; }
int64_t process_protect(struct process *p, uint32_t owner, uint64_t address, uint64_t size, uint64_t rights)
{
	return (void)p, (void)owner, (void)address, (void)rights, (int64_t)size;
}
void elf_unload(uint32_t owner) { (void)owner; }
int elf_tables(int vspace, uint64_t begin, uint64_t end, uint64_t *made)
{
	return (void)vspace, (void)begin, (void)end, (void)made, 0;
}
int elf_load(const struct module *m, const char *name, int vspace, struct elf_image *image, struct elf_mapping *mapped,
             struct error_message *err)
{
	return (void)m, (void)name, (void)vspace, (void)image, (void)mapped, (void)err, 0;
}
void vspace_unmap_range(int first, uint32_t count) { (void)first, (void)count; }
int promise_commit(struct promise *p, uint32_t group) { return (void)p, (void)group, 0; }
int promise_map(const struct promise *p, int vspace, const struct promise_table *t, uint32_t group, unsigned rights)
{
	return (void)p, (void)vspace, (void)t, (void)group, (void)rights, 0;
}
int frames_overwrite(int to, uint32_t count, int from, uint64_t offset, bool small)
{
	return (void)to, (void)count, (void)from, (void)offset, (void)small, 0;
}

static struct shield shield;
static uint8_t source[STEPS] = { [BORROWED] = 1 };
static struct process process = { .shield = &shield,
	.heap = { .address = PROCESS_HEAP_VADDR, .frame_size = SIZE_2M, .count = STEPS, .first = 100,
	          .bit = PROCESS_TOUCHED_HEAP } };
static struct shares shares = { .steps = STEPS, .at[1] = { .process = &process, .source = source } };
static struct map_application application = { .files = "files" };

static void make(void)
{
	files.file.e = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_entry = TEXT + 0x10, .e_phoff = offsetof(struct file, p),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
	};
	files.file.p[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, .p_filesz = PAGE,
	                                .p_memsz = PAGE };
	files.file.p[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = DATA, .p_filesz = 100,
	                                .p_memsz = 3 * PAGE };
	touched = 1 << OWN | 1 << BORROWED;
	free_bytes = 64 << 20;
	slots = FREE_SLOTS;
	shield.split_count = 0;
}

static struct exec_plan plan;

static int check_at(unsigned place, struct exec_order order)
{
	static struct error_message err;
	const struct exec_process e = { &process, 7, 8, &shares, place };
	return exec_check(&application, &e, &order, &plan, &err);
}

static int check(uint64_t file, uint64_t file_size, uint64_t stack, uint64_t stack_size)
{
	return check_at(1, (struct exec_order){ file, file_size, stack, stack_size });
}

static int check_file(uint64_t file, uint64_t size)
{
	return check(file, size, PROCESS_HEAP_VADDR + OWN * (uint64_t)SIZE_2M, 4096);
}

static int check_stack(uint64_t stack, uint64_t size) { return check(PAGE, sizeof(files.file), stack, size); }

static void places_of_files(void)
{
	CHECK(!check_file(PAGE, sizeof(files.file)));
	CHECK(check_file(PAGE, sizeof(files.file) + 1) == -SKERRY_BAD_ARGUMENT);
	CHECK(check_file(PAGE, UINT64_MAX) == -SKERRY_BAD_ARGUMENT);
	CHECK(check_file(UINT64_MAX - 100, 200) == -SKERRY_BAD_ARGUMENT);
	CHECK(check_file(sizeof(files), 0) == -SKERRY_BAD_ARGUMENT);
	CHECK(check_file(0, sizeof(files)) == -SKERRY_BAD_ARGUMENT);
	CHECK(check_file(PAGE, sizeof(Elf64_Ehdr)) == -SKERRY_BAD_ARGUMENT);
	application.files[0] = 0;
	CHECK(check_file(PAGE, sizeof(files.file)) == -SKERRY_BAD_ARGUMENT);
	application.files[0] = 'f';
	application.ipv4 = 1;
	CHECK(!check_file(PAGE, sizeof(files.file))); /* the network is the first process's */
	shares.at[0] = shares.at[1];
	CHECK(check_at(0, (struct exec_order){ PAGE, sizeof(files.file), PROCESS_HEAP_VADDR + SIZE_2M, 16 }) ==
	      -SKERRY_NO_RIGHTS);
	application.ipv4 = 0;
}

static void places_of_stacks(void)
{
	const uint64_t own = PROCESS_HEAP_VADDR + OWN * (uint64_t)SIZE_2M;
	CHECK(!check_stack(own, 16) && plan.stack_frame == 100 + OWN && !plan.stack_offset && !plan.stack_split);
	CHECK(!check_stack(own + SIZE_2M - PAGE, PAGE) && plan.stack_offset == SIZE_2M - PAGE);
	CHECK(!check_stack(own, PROCESS_EXEC_STACK));
	const struct { uint64_t stack, size; } bad[] = {
		{ own, 0 }, { own, 8 }, { own + 16, 16 }, { own, PROCESS_EXEC_STACK + 16 }, { own, UINT64_MAX - 15 },
		{ own + SIZE_2M - PAGE, PAGE + 16 }, { PROCESS_HEAP_VADDR + BORROWED * (uint64_t)SIZE_2M, 16 },
		{ PROCESS_HEAP_VADDR + ABSENT * (uint64_t)SIZE_2M, 16 }, { PROCESS_HEAP_VADDR - PAGE, 16 },
		{ PROCESS_HEAP_VADDR + STEPS * (uint64_t)SIZE_2M, 16 }, { 0, 16 }, { -(uint64_t)PAGE, 16 },
	};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(check_stack(bad[i].stack, bad[i].size) == -SKERRY_BAD_ARGUMENT);
	/* of a split step the pages must be there */
	shield.split_count = 1;
	shield.split[0] = (struct split){ .step = OWN, .first = 500, .made = 1 << 1 };
	CHECK(check_stack(own, 16) == -SKERRY_BAD_ARGUMENT);
	CHECK(!check_stack(own + PROCESS_STACK_STEP, PROCESS_STACK_STEP) && plan.stack_split);
	CHECK(plan.stack_frame == 500 + PROCESS_STACK_STEP / PAGE);
	CHECK(check_stack(own + PROCESS_STACK_STEP, PROCESS_STACK_STEP + 16) == -SKERRY_BAD_ARGUMENT);
	shield.split_count = 0;
}

static void sizes(void)
{
	files.file.p[1].p_memsz = 1ull << 31;
	CHECK(check_file(PAGE, sizeof(files.file)) == -SKERRY_NO_MEMORY);
	make();
	free_bytes = 8 * PAGE;
	CHECK(check_file(PAGE, sizeof(files.file)) == -SKERRY_NO_MEMORY);
	make();
	slots = 16;
	CHECK(check_file(PAGE, sizeof(files.file)) == -SKERRY_NO_MEMORY);
	make();
	files.file.p[1].p_vaddr = PROCESS_HEAP_VADDR;
	CHECK(check_file(PAGE, sizeof(files.file)) == -SKERRY_BAD_ARGUMENT);
	make();
}

int main(void)
{
	make();
	places_of_files();
	places_of_stacks();
	sizes();
	return failures != 0;
}
