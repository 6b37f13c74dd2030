/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include <skerry/stubs.h>
#include "area.h"
#include "build.h"
#include "cables.h"
#include "console.h"
#include "cores.h"
#include "device.h"
#include "elf_load.h"
#include "files.h"
#include "grant.h"
#include "homes.h"
#include "map.h"
#include "memory.h"
#include "ports.h"
#include "protect.h"
#include "process.h"
#include "random.h"
#include "root.h"
#include "slots.h"
#include "sockets.h"
#include "split.h"
#include "stack.h"
#include "volumes.h"
#include "vspace.h"

enum { OWN_UNTYPED_BITS = 18 };

static struct process process[MAP_MAX_APPLICATIONS];
static int endpoint; /* that programs call */

void processes_init(int service_endpoint) { endpoint = service_endpoint; }

bool process_started(uint32_t application) { return process[application].started; }
int process_tcb(uint32_t application) { return process[application].tcb; }
uint64_t process_memory(uint32_t application) { return process[application].memory; }

struct process *process_of(uint32_t application) { return &process[application]; }

uint64_t process_committed(const struct process *p)
{
	uint64_t promised = (uint64_t)p->stack.count * p->stack.frame_size +
	                    (uint64_t)p->heap.count * p->heap.frame_size +
			    (uint64_t)p->table_count * SIZE_4K;
	uint64_t kept = p->stack.kept + p->heap.kept + (p->shield ? (uint64_t)p->shield->split_count * SIZE_4K : 0);
	return p->memory - (p->memory ? promised - kept : 0);
}

bool process_touches(struct process *p, uint32_t owner, uint64_t address, unsigned needed, int *error)
{
	struct promise *promised = promise_has(&p->heap, address) ? &p->heap : promise_has(&p->stack, address)
	               ? &p->stack : NULL;
	*error = 0;
	if (!promised)
		return false;
	require(p->started && owner_now() == OWNER_MANAGER);
	uint32_t before = owner_set(owner);
	bool may = !(needed & RIGHT_EXECUTE);
	if (p->shield)
		may = protect_touch(p, address, needed, error);
	else if (may)
		*error = promise_keep(promised, p->vspace, &p->touched, address, PAGE_RIGHTS_DEFAULT);
	owner_set(before);
	return may && !*error;
}

/* A page for it is kept for the next process of this owner. */
struct shield *process_shield(uint32_t owner)
{
	static struct shield *shield[OWNERS];
	_Static_assert(sizeof(*shield[0]) <= SIZE_4K, "one page");
	require(owner < OWNERS);
	if (!shield[owner])
		shield[owner] = own_memory(sizeof(*shield[0]));
	return shield[owner];
}

int64_t process_protect(struct process *p, uint32_t owner, uint64_t address, uint64_t size, uint64_t rights)
{
	if (rights & ~(uint64_t)RIGHT_ALL)
		return -SKERRY_NO_RIGHTS;
	if (!p->shield) {
		p->shield = process_shield(owner);
		if (!p->shield)
			return -SKERRY_NO_MEMORY;
		memset(p->shield, 0, sizeof(*p->shield));
	}
	uint32_t before = owner_set(owner);
	int64_t done = protect(p, address, size, (unsigned)rights);
	owner_set(before);
	return done;
}

enum report_place process_place(uint32_t application, uint64_t address, uint64_t stack_pointer)
{
	return protect_place(&process[application], address, stack_pointer);
}

int process_objects(struct process *p)
{
	p->cnode = memory_object(OBJECT_CNODE, PROCESS_CNODE_BITS);
	p->vspace = memory_object(OBJECT_VSPACE, 0);
	p->tcb = memory_object(OBJECT_TCB, 0);
	p->own_memory = memory_untyped(OWN_UNTYPED_BITS);
	int error = p->cnode < 0 ? p->cnode : p->vspace < 0 ? p->vspace : p->tcb < 0 ? p->tcb : p->own_memory;
	return error < 0 ? error : 0;
}

int process_give_first(struct process *p, uint32_t number, uint32_t core)
{
	int reply = memory_object(OBJECT_REPLY, 0);
	int error = reply < 0 ? reply : home_set(ROOT_SLOT_CNODE, (uint64_t)reply, core);
	if (!error)
		error = cnode_move(IPC, (uint64_t)p->cnode, PROCESS_SLOT_REPLY, ROOT_SLOT_CNODE, (uint64_t)reply);
	if (!error)
		error = process_give(p, PROCESS_SLOT_TCB, p->tcb);
	if (!error)
		error = process_give(p, PROCESS_SLOT_CNODE, p->cnode);
	if (!error)
		error = process_give(p, PROCESS_SLOT_VSPACE, p->vspace);
	if (!error)
		error = process_give_badged(p, PROCESS_SLOT_MANAGER, endpoint, RIGHT_WRITE | RIGHT_GRANT,
					    number);
	if (!error)
		error = process_give_badged(p, PROCESS_SLOT_FAULT, endpoint, RIGHT_WRITE | RIGHT_GRANT,
					    number | BADGE_FAULT);
	return error ? error : process_give_memory(p);
}

/* A child of ours, so that revoking ours takes back all that the program made of it. */
int process_give_memory(const struct process *p)
{
	return untyped_retype(IPC, (uint64_t)p->own_memory, OBJECT_UNTYPED, OWN_UNTYPED_BITS, (uint64_t)p->cnode,
	                      PROCESS_SLOT_UNTYPED, 1);
}

void process_describe(uint32_t application, struct gained_core core, struct process_info *info)
{
	const struct map_application *a = &map->application[application];
	memset(info, 0, sizeof(*info));
	info->magic = PROCESS_INFO_MAGIC;
	info->size = sizeof(*info);
	info->cluster = ROOT->cluster;
	info->cpu = core.cpu;
	info->core = core.index;
	info->locality = home_of(core.index);
	info->core_count = cores_list(application, core, info->cores); /* a switch's routes take their place later */
	info->cluster_cores = ROOT->cpu_count;
	info->untyped_bits = OWN_UNTYPED_BITS;
	info->tsc_hz = ROOT->tsc_hz;
	info->epoch = ROOT->epoch;
	info->epoch_tsc = ROOT->epoch_tsc;
	info->placement = a->placement;
	info->heap_size = a->heap;
	info->storage = a->storage;
	info->uid = a->uid;
	info->gid = a->gid;
	info->threads = a->threads;
	for (unsigned i = 0; i < 4; i++)
		info->random[i] = random_word();
	memcpy(info->name, a->name, sizeof(info->name));
}

static int promise_heap(struct process *p, uint64_t size)
{
	int error = promise_make(&p->heap, PROCESS_HEAP_VADDR, OBJECT_FRAME_2M, size, PROCESS_HEAP_STEP / SIZE_2M,
	                         PROCESS_TOUCHED_HEAP);
	if (!error && size)
		error = promise_tables(&p->heap, p->vspace, &p->touched);
	return error || !size ? error : split_reserve(p, p->heap.count);
}

int process_map_info(const struct process_info *info, int vspace)
{
	int frame = memory_frames(OBJECT_FRAME_4K, 1);
	void *window = frame < 0 ? NULL : window_open(frame, 1);
	if (!window)
		return -SKERRY_NO_MEMORY;
	memcpy(window, info, sizeof(*info));
	window_close();
	return vspace_map(vspace, frame, PROCESS_INFO_VADDR, RIGHT_READ, CACHE_WRITE_BACK);
}

/* Attaches everything beside image and stack, and stores in `info` where it is. */
static int process_attach(struct process *p, uint32_t application, struct process_info *info, const char **step)
{
	const struct map_application *a = &map->application[application];
	*step = "its files";
	int error = files_attach(a, p, info);
	if (error)
		return error;
	*step = "its heap";
	error = promise_heap(p, a->heap);
	if (error)
		return error;
	*step = "its network port";
	error = ports_attach(application, p, info);
	if (!error)
		error = cables_attach(application, p, info);
	if (error)
		return error;
	*step = "what its processes share";
	error = area_make(application, p, info);
	if (error)
		return error;
	*step = "its socket port";
	error = sockets_attach(application, p, info);
	if (error)
		return error;
	*step = "its volumes";
	error = volumes_attach(application, p, info);
	if (error || !map_has_device(a))
		return error;
	*step = "its device";
	return device_attach(a, p, &info->device);
}

/* The cores on which it may put its threads: its own thread's TCB is the authority for that. */
static int give_cores(struct process *p, uint32_t application, struct gained_core first)
{
	uint64_t set[BOOT_MAX_CPUS / 64 + 1] = { 0 };
	struct process_core cores[PROCESS_CORES];
	for (uint32_t i = cores_list(application, first, cores); i-- > 0;) {
		require(cores[i].core < BOOT_MAX_CPUS);
		set[cores[i].core / 64] |= 1ull << cores[i].core % 64;
	}
	return tcb_set_cores(IPC, (uint64_t)p->tcb, ROOT_SLOT_TCB, set, BOOT_MAX_CPUS / 64 + 1);
}

int process_thread(struct process *p, uint32_t application, struct gained_core core, const char **step)
{
	*step = "its IPC buffer";
	int ipc_frame = memory_frames(OBJECT_FRAME_4K, 1);
	int error = ipc_frame < 0 ? ipc_frame
	            : vspace_map(p->vspace, ipc_frame, PROCESS_IPC_VADDR, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
	if (!error)
		error = process_give(p, PROCESS_SLOT_IPC_FRAME, ipc_frame);
	if (error)
		return error;
	*step = "its thread";
	error = tcb_configure(IPC, (uint64_t)p->tcb, (uint64_t)p->cnode, (uint64_t)p->vspace, (uint64_t)ipc_frame,
			      PROCESS_IPC_VADDR, PROCESS_SLOT_FAULT);
	if (!error)
		error = tcb_schedule(IPC, (uint64_t)p->tcb, ROOT_SLOT_TCB, PROCESS_PRIORITY, core.index);
	if (!error) /* what its own threads may have */
		error = tcb_set_mcp(IPC, (uint64_t)p->tcb, ROOT_SLOT_TCB, PROCESS_PRIORITY);
	return error ? error : give_cores(p, application, core);
}

/* Everything but letting it run. */
static int process_build(struct process *p, uint32_t application, struct thread_registers *registers, const char **step)
{
	static struct process_info info;
	const struct map_application *a = &map->application[application];
	const struct module module = module_find(a->program);
	const struct gained_core core = core_choose(application);
	struct elf_image image;
	*step = "there is no such module";
	if (module.index < 0)
		return -SKERRY_NOT_FOUND;

	*step = "its kernel objects";
	int error = process_objects(p);
	if (!error)
		error = process_give_first(p, application + 1, core.index);
	if (error)
		return error;
	static struct error_message err; /* is read when this has returned */
	*step = "loading the program";
	error = elf_load(&module, a->program, p->vspace, &image, p->image, &err);
	if (error == -SKERRY_BAD_ARGUMENT)
		*step = err.text;
	if (error)
		return error;
	core_use(application, core.index);
	process_describe(application, core, &info);
	uint64_t random[2] = { random_word(), random_word() };
	*step = "its stack";
	error = promise_table_make(&p->touched, p->vspace, a->heap, NULL);
	if (!error)
		error = stack_make(a, &image, p, random, &registers->rsp, &info);
	if (error)
		return error;
	p->cwd = info.cwd;
	p->volumes = info.volumes;
	error = process_attach(p, application, &info, step);
	if (error)
		return error;
	*step = "its information page";
	error = process_map_info(&info, p->vspace);
	if (error)
		return error;

	error = process_thread(p, application, core, step);
	registers->rip = image.entry;
	registers->rflags = 0x202;
	return error;
}

/* Page tables of its image, at most; of a file that is refused later, any number. */
static uint64_t image_tables(const struct map_application *a)
{
	const struct module m = module_find(a->program);
	struct elf_image elf;
	struct error_message err;
	uint64_t tables = 0;
	if (m.index < 0 || !elf_read(&elf, m.data, m.size, a->program, &err))
		return 0;
	for (uint32_t i = 0; i < elf.count; i++)
		if (elf.segment[i].memory_size < PROCESS_HEAP_VADDR)
			tables += elf.segment[i].memory_size / SIZE_2M + 2;
	return tables;
}

/* Its blocks of memory are few but for its page tables, of the heap one for each GiB, and its frames, when memory is in
 * pieces. */
void process_reserve_records(const struct map_application *a)
{
	enum { BLOCKS = 200 };
	void *memory;
	const uint64_t blocks = BLOCKS + (a->heap >> 28) + image_tables(a);
	while (!memory_has_records(blocks) && (memory = own_memory(MEMORY_RECORDS_SIZE)))
		memory_give_records(memory);
}

/* All that it has, when none of its threads runs any more. */
static void give_back(uint32_t application)
{
	core_ended(application);
	area_forget(application);
	cables_close(application);
	ports_close(application);
	device_ended(&map->application[application]);
	elf_unload(owner_application(application));
	memory_return(owner_application(application));
	sockets_ended(application);
	volumes_ended(application);
}

int process_start(uint32_t application)
{
	struct process *p = &process[application];
	struct thread_registers registers = { 0 };
	const char *step = "";
	require(application < map->application_count && !p->started && owner_now() == OWNER_MANAGER);
	process_reserve_records(&map->application[application]);
	const uint32_t kept = elf_kept();
	uint64_t before = memory_free();
	*p = (struct process){ .image = p->image };
	owner_set(owner_application(application));
	int error = process_build(p, application, &registers, &step);
	owner_set(OWNER_MANAGER);
	p->memory += before - memory_free();
	if (!error)
		error = tcb_write_registers(IPC, (uint64_t)p->tcb, 1, &registers);
	if (error) {
		console_print("%s cannot be started: %s (error %d)", map->application[application].name, step, -error);
		give_back(application);
		elf_forget(kept);
		p->memory = 0;
	}
	p->started = !error;
	return error;
}

void process_stop(struct process *p)
{
	tcb_suspend((uint64_t)p->tcb);
	cnode_revoke(ROOT_SLOT_CNODE, (uint64_t)p->own_memory); /* threads that it made itself */
	tcb_suspend((uint64_t)p->tcb); /* one of these may have resumed it meanwhile */
	p->started = false;
}

void process_kill(uint32_t application)
{
	struct process *p = &process[application];
	require(p->started && p->tcb > 0);
	process_stop(p);
	give_back(application);
}
