/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <string.h>
#include <skerry/require.h>
#include "area.h"
#include "build.h"
#include "console.h"
#include "exec.h"
#include "family-record.h"
#include "fault.h"
#include "files.h"
#include "fork-heap.h"
#include "inherit.h"
#include "map.h"
#include "memory.h"
#include "process.h"
#include "root.h"
#include "share.h"
#include "signs.h"
#include "slots.h"
#include "split.h"
#include "volumes.h"
#include "vspace.h"

enum { CHILDREN = PROCESS_MEMBERS - 1, FAMILIES = OWNERS_CHILDREN / CHILDREN };
enum { STEPS_OF_PROTECT = 64 /* that one MANAGER_PROTECT visits, protect.c */ };

struct family *family[MAP_MAX_APPLICATIONS];
static uint32_t family_count;

static uint32_t owner_of(const struct family *f, uint32_t application, uint32_t place)
{
	require(place < PROCESS_MEMBERS);
	return place ? OWNER_CHILDREN + f->number * CHILDREN + place - 1 : owner_application(application);
}

/* --- the first process --- */

/* Makes the family's record, which stays for the program's next start. */
static struct family *family_make(uint32_t application)
{
	const uint64_t steps = map->application[application].heap / PROCESS_HEAP_STEP;
	struct family *f = family_count < FAMILIES ? own_memory(sizeof(*f) + 3 * PROCESS_MEMBERS * steps) : NULL;
	if (!f)
		return NULL;
	f->number = family_count++;
	f->shares.steps = (uint32_t)steps;
	for (unsigned i = 0; i < PROCESS_MEMBERS; i++) {
		f->shares.at[i].source = f->steps + 3 * i * steps;
		f->shares.at[i].lent_to = f->steps + (3 * i + 1) * steps;
		f->shares.at[i].closed = f->steps + (3 * i + 2) * steps;
	}
	return f;
}

static void sharer_reset(struct shares *s, unsigned place, struct process *p)
{
	struct sharer *own = &s->at[place];
	memset(own->source, 0, s->steps);
	memset(own->lent_to, 0, s->steps);
	memset(own->closed, 0, s->steps);
	own->lent = 0;
	own->process = p;
}

int family_start(uint32_t application)
{
	if (map->application[application].processes == 1)
		return process_start(application);
	struct family *f = family[application] ? family[application] : family_make(application);
	if (!f) {
		console_print("%s cannot be started: its family (at most %u of a cluster)",
		              map->application[application].name, (unsigned)FAMILIES);
		return -SKERRY_NO_MEMORY;
	}
	family[application] = f;
	memset(f->member, 0, sizeof(f->member));
	for (unsigned i = 0; i < PROCESS_MEMBERS; i++)
		sharer_reset(&f->shares, i, i ? NULL : process_of(application));
	f->last_pid = FIRST_PID;
	f->member[0].pid = FIRST_PID;
	f->member[0].in = (struct member_group){ FIRST_PID, FIRST_PID };
	process_of(application)->image = f->member[0].image;
	return process_start(application);
}

bool family_runs(uint32_t application, uint32_t place)
{
	if (place == 0)
		return process_started(application);
	return place < PROCESS_MEMBERS && family[application] &&
	       family[application]->member[place].life == MEMBER_RUNS;
}

/* Returns the place of a process that runs, by its pid; -1: there is none. */
static int family_find(uint32_t application, uint32_t pid)
{
	const struct family *f = family[application];
	for (unsigned i = 0; f && i < PROCESS_MEMBERS; i++)
		if (f->member[i].pid == pid && (i == 0 || f->member[i].life == MEMBER_RUNS))
			return (int)i;
	return -1;
}

/* --- ends --- */

/* Gives back the memory of those that have ended and from which nobody borrows any more. */
static void give_back(struct family *f, uint32_t application)
{
	for (unsigned i = 1; i < PROCESS_MEMBERS; i++) {
		struct member *m = &f->member[i];
		if (!m->kept || m->life == MEMBER_RUNS || f->shares.at[i].lent)
			continue;
		memory_return(owner_of(f, application, i));
		memory_return(exec_owner(f->number, i));
		f->shares.at[i].process = NULL;
		m->kept = false;
		m->child.memory = 0;
	}
}

/* Nobody asks for the status of its children from now on. */
static void leave_children(struct family *f, uint32_t pid)
{
	for (unsigned i = 1; i < PROCESS_MEMBERS; i++) {
		struct member *m = &f->member[i];
		if (m->life == MEMBER_FREE || m->parent != pid)
			continue;
		m->parent = 0;
		if (m->life == MEMBER_ENDED)
			m->life = MEMBER_FREE;
	}
}

/* Sends SIGCHLD, with what waitid() says. */
static void send_end(struct family *f, const struct member *m, unsigned parent)
{
	enum { CHILD = 17, EXITED = 1, KILLED = 2 };
	const uint32_t by = m->status & 0x7f;
	inbox_put(&f->member[parent].inbox, &(struct sent_signal){
		.number = CHILD, .sender = m->pid, .code = by ? KILLED : EXITED,
		.value = by ? by : m->status >> 8 & 0xff });
}

int family_ended(uint32_t application, uint32_t place, uint32_t status)
{
	struct family *f = family[application];
	struct member *m = &f->member[place];
	require(place && m->life == MEMBER_RUNS && owner_now() == OWNER_MANAGER);
	process_stop(&m->child);
	share_end(&f->shares, place);
	area_left(application, place);
	const int parent = m->parent ? family_find(application, m->parent) : -1;
	m->life = parent < 0 || f->member[parent].inbox.drops_children ? MEMBER_FREE : MEMBER_ENDED;
	m->status = status;
	if (parent >= 0)
		send_end(f, m, (unsigned)parent);
	leave_children(f, m->pid);
	give_back(f, application);
	return parent;
}

/* Returns whether a line of it may be printed: LINES at once, and one each second. */
static bool may_say(struct family *f)
{
	enum { LINES = 20, EACH_MS = 1000 };
	const uint64_t now = read_tsc(), each = milliseconds(EACH_MS);
	if (f->said < now)
		f->said = now;
	if (f->said - now >= LINES * each)
		return false;
	f->said += each;
	return true;
}

int family_faulted(uint32_t application, uint32_t place, uint64_t fault, uint64_t vector, uint64_t rip)
{
	const uint32_t signal = fault_signal(fault, vector);
	if (may_say(family[application]))
		console_print("%s: process %u ends by signal %u, a fault at 0x%lx", map->application[application].name,
		              family[application]->member[place].pid, signal, rip);
	return family_ended(application, place, signal);
}

void family_kill(uint32_t application)
{
	struct family *f = family[application];
	for (unsigned i = 1; f && i < PROCESS_MEMBERS; i++) {
		struct member *m = &f->member[i];
		if (m->life == MEMBER_RUNS)
			process_stop(&m->child);
		m->life = MEMBER_FREE;
		f->shares.at[i].lent = 0;
	}
	if (f)
		give_back(f, application);
	process_kill(application);
	if (f)
		memory_return(exec_owner(f->number, 0));
}

bool family_has_ended(uint32_t application, uint32_t place, uint32_t pid)
{
	const struct family *f = family[application];
	for (unsigned i = 1; f && i < PROCESS_MEMBERS; i++)
		if (f->member[i].life == MEMBER_ENDED && f->member[i].pid == pid &&
		    f->member[i].parent == f->member[place].pid)
			return true;
	return false;
}

/* Returns whether `how` (ASK_*) asks for the change of a child, with its status, and forgets the change. */
static bool take_change(struct member *m, unsigned how, uint32_t *status)
{
	if (!m->change || !(how & (m->change == STATUS_CONTINUED ? ASK_CONTINUED : ASK_STOPPED)))
		return false;
	*status = m->change;
	m->change = 0;
	return true;
}

int family_reap(uint32_t application, uint32_t place, uint32_t pid, uint32_t group, unsigned how, struct ended *ended)
{
	struct family *f = family[application];
	bool any = false;
	*ended = (struct ended){ 0 };
	for (unsigned i = 1; f && i < PROCESS_MEMBERS; i++) {
		struct member *m = &f->member[i];
		if (m->life == MEMBER_FREE || m->parent != f->member[place].pid || (pid && m->pid != pid) ||
		    (group && m->in.group != group))
			continue;
		any = true;
		if (m->life == MEMBER_ENDED && !(how & ASK_NOT_ENDED)) {
			*ended = (struct ended){ m->pid, m->status };
			m->life = MEMBER_FREE;
			return 0;
		}
		if (m->life == MEMBER_RUNS && take_change(m, how, &ended->status)) {
			ended->pid = m->pid;
			return 0;
		}
	}
	return any ? 0 : -SKERRY_NOT_FOUND;
}

/* --- signals and groups --- */

uint32_t family_named(uint32_t application, uint32_t place, int64_t target)
{
	const struct family *f = family[application];
	uint32_t named = 0;
	if (!f)
		return 0;
	const uint32_t group = target ? (uint32_t)-target : f->member[place].in.group;
	for (uint32_t i = 0; i < PROCESS_MEMBERS; i++) {
		const struct member *m = &f->member[i];
		const bool is = target > 0 ? m->pid == target : target == -1 ? i && i != place : m->in.group == group;
		if (is && family_runs(application, i))
			named |= 1u << i;
	}
	return named;
}

int family_send(uint32_t application, uint32_t place, uint32_t to, struct sent_signal signal)
{
	struct family *f = family[application];
	signal.sender = f->member[place].pid;
	return inbox_put(&f->member[to].inbox, &signal);
}

struct inbox *family_inbox(uint32_t application, uint32_t place)
{
	return family[application] ? &family[application]->member[place].inbox : NULL;
}

void family_interrupt(uint32_t application, uint32_t place)
{
	const int error = inbox_interrupt(family_inbox(application, place), process_at(application, place));
	if (error && may_say(family[application]))
		console_print("%s: a process cannot be sent a signal (error %d)", map->application[application].name,
		              -error);
}

/* Returns the member with this pid, which may have ended, or null. */
static struct member *member_by(struct family *f, uint32_t pid)
{
	for (unsigned i = 0; i < PROCESS_MEMBERS; i++)
		if (f->member[i].pid == pid && (i == 0 || f->member[i].life != MEMBER_FREE))
			return &f->member[i];
	return NULL;
}

/* Returns whether the group is there, in this session; 0: in any. */
static bool group_is_in(const struct family *f, uint32_t group, uint32_t session)
{
	for (unsigned i = 0; i < PROCESS_MEMBERS; i++) {
		const struct member *m = &f->member[i];
		if ((i == 0 || m->life != MEMBER_FREE) && m->in.group == group &&
		    (!session || m->in.session == session))
			return true;
	}
	return false;
}

/* setpgid() of `m` by `own`, as POSIX has its errors. */
static int group_set(const struct family *f, const struct member *own, struct member *m, uint32_t group)
{
	if (m != own && m->parent != own->pid)
		return -SKERRY_NOT_FOUND;
	if (m->in.session == m->pid || m->in.session != own->in.session ||
	    (group != m->pid && !group_is_in(f, group, own->in.session)))
		return -SKERRY_NO_RIGHTS;
	m->in.group = group;
	return 0;
}

int family_group(uint32_t application, uint32_t place, enum manager_group what, uint32_t pid, uint32_t group,
                 struct member_group *answer)
{
	struct family *f = family[application];
	struct member *own = f ? &f->member[place] : NULL, *m = f && pid ? member_by(f, pid) : own;
	int error = 0;
	if (!m)
		return -SKERRY_NOT_FOUND;
	if (what == GROUP_SET)
		error = group_set(f, own, m, group ? group : m->pid);
	else if (what == GROUP_SESSION && group_is_in(f, own->pid, 0))
		error = -SKERRY_NO_RIGHTS;
	else if (what == GROUP_SESSION)
		own->in = (struct member_group){ own->pid, own->pid };
	else if (what != GROUP_GET)
		error = -SKERRY_BAD_ARGUMENT;
	*answer = m->in;
	return error;
}

/* --- fork --- */

static int find_place(const struct family *f, uint32_t processes)
{
	for (unsigned i = 1; i < processes; i++)
		if (f->member[i].life == MEMBER_FREE && !f->member[i].kept)
			return (int)i;
	return -SKERRY_BUSY;
}

/* Frees the place of one that has ended, but from which others borrow: they get copies. */
static void free_place(struct family *f, uint32_t application, uint32_t processes)
{
	for (unsigned i = 1; i < processes && find_place(f, processes) < 0; i++)
		if (f->member[i].life == MEMBER_FREE && !share_settle(&f->shares, i))
			give_back(f, application);
}

/* A pid that no member has: others are as many as members at most. */
static uint32_t next_pid(struct family *f)
{
	for (;;) {
		bool taken = false;
		f->last_pid = f->last_pid == INT_MAX ? FIRST_PID + 1 : f->last_pid + 1;
		for (unsigned i = 0; i < PROCESS_MEMBERS; i++)
			taken |= (i == 0 || f->member[i].life != MEMBER_FREE) && f->member[i].pid == f->last_pid;
		if (!taken)
			return f->last_pid;
	}
}

static int fork_memory(struct family *f, uint32_t application, unsigned from, unsigned to)
{
	const struct map_application *a = &map->application[application];
	const struct process *parent = process_at(application, from);
	struct process *p = process_at(application, to);
	int error = inherit_image(p, parent, exec_owner(f->number, to));
	if (!error)
		error = inherit_touched(p, parent, a->heap);
	if (!error)
		error = inherit_stack(p, parent);
	if (!error)
		error = inherit_heap(p, a->heap);
	if (!error)
		error = inherit_rights(p, parent, process_shield(owner_of(f, application, to)));
	return error ? error : fork_heap(&f->shares, parent, from, to);
}

/* Everything but letting it run. */
static int fork_build(struct family *f, uint32_t application, unsigned from, unsigned to, const char **step)
{
	static struct process_info info;
	const struct map_application *a = &map->application[application];
	struct process *p = process_at(application, to);
	const struct gained_core core = core_now(application);
	*step = "kernel objects";
	int error = process_objects(p);
	if (!error)
		error = process_give_first(p, (application + 1) | to << BADGE_PLACE, core.index);
	if (error)
		return error;
	*step = "memory";
	error = fork_memory(f, application, from, to);
	if (error)
		return error;
	*step = "files";
	process_describe(application, core, &info);
	info.cwd = p->cwd = process_at(application, from)->cwd; /* in its copy of the stack, as the next ones are */
	info.volumes = p->volumes = process_at(application, from)->volumes;
	error = files_attach(a, p, &info);
	if (!error)
		error = area_give(application, to, p, &info);
	if (!error)
		error = volumes_attach(application, p, &info);
	if (!error)
		error = process_map_info(&info, p->vspace);
	return error ? error : process_thread(p, application, core, step);
}

static int fork_undo(struct family *f, uint32_t application, unsigned place, const char *step, int error)
{
	if (may_say(f))
		console_print("%s cannot fork: %s (error %d)", map->application[application].name, step, -error);
	share_end(&f->shares, place);
	area_left(application, place);
	f->member[place].kept = true;
	give_back(f, application);
	return error;
}

int family_fork(uint32_t application, uint32_t place, const struct fork_start *start, uint32_t *pid)
{
	struct family *f = family[application];
	const uint32_t processes = map->application[application].processes;
	const char *step = "";
	if (f && find_place(f, processes) < 0)
		free_place(f, application, processes);
	const int to = f ? find_place(f, processes) : -SKERRY_NOT_FOUND;
	if (to < 0)
		return to;
	require(owner_now() == OWNER_MANAGER && f->member[place].pid);
	process_reserve_records(&map->application[application]);
	process_shield(owner_of(f, application, (uint32_t)to));
	struct member *m = &f->member[to];
	const uint64_t before = memory_free();
	memset(m, 0, sizeof(*m));
	m->parent = f->member[place].pid;
	m->in = f->member[place].in;
	m->child.image = m->image;
	sharer_reset(&f->shares, (unsigned)to, &m->child);
	owner_set(owner_of(f, application, (uint32_t)to));
	int error = fork_build(f, application, place, (unsigned)to, &step);
	owner_set(OWNER_MANAGER);
	if (error)
		return fork_undo(f, application, (unsigned)to, step, error);
	m->child.memory = before - memory_free();
	m->child.started = m->kept = true;
	m->life = MEMBER_RUNS;
	m->pid = next_pid(f);
	*pid = m->pid;
	const struct thread_registers registers = { .rip = start->rip, .rsp = start->rsp, .fs_base = start->fs_base,
	                                            .rflags = 0x202, .rdi = m->pid, .rsi = m->parent };
	area_inherit(application, place, (uint32_t)to);
	error = tcb_write_registers(IPC, (uint64_t)m->child.tcb, 0, &registers);
	if (!error)
		return to;
	process_stop(&m->child);
	m->life = MEMBER_FREE;
	return fork_undo(f, application, (unsigned)to, "registers", error);
}

void family_begin(uint32_t application, uint32_t place)
{
	require(place && family_runs(application, place));
	tcb_resume((uint64_t)family[application]->member[place].child.tcb);
}

int family_exec(uint32_t application, uint32_t place, const struct exec_order *order)
{
	static struct error_message err;
	struct family *f = family[application];
	struct exec_plan plan;
	if (!f)
		return -SKERRY_NOT_FOUND;
	const struct exec_process e = { process_at(application, place), owner_of(f, application, place),
	                                exec_owner(f->number, place), &f->shares, place };
	process_reserve_records(&map->application[application]);
	int error = exec_check(&map->application[application], &e, order, &plan, &err);
	if (err.text[0] && may_say(f))
		console_print("%s: %s", map->application[application].name, err.text);
	if (error)
		return error;
	f->member[place].inbox.entry = 0; /* what it has been sent stays there */
	f->member[place].inbox.told = false;
	error = exec_run(&e, order, &plan);
	give_back(f, application);
	if (error)
		console_print("%s: a process ends in an exec (error %d)", map->application[application].name, -error);
	return error ? EXEC_ENDS : 0;
}

/* --- memory --- */

static bool step_of(const struct family *f, const struct process *p, uint64_t address, uint32_t *step)
{
	*step = (uint32_t)((address - p->heap.address) / PROCESS_HEAP_STEP);
	return f && promise_has(&p->heap, address);
}

/* A write to a step that is mapped read-only although the process may write there: it is shared, or was. */
static int write_shared(struct family *f, uint32_t application, uint32_t place, uint64_t address)
{
	const struct process *p = process_at(application, place);
	uint64_t end;
	uint32_t step;
	if (!step_of(f, p, address, &step) || (p->shield &&
	    (split_find(p->shield, step) || page_rights_of(&p->shield->rights, address / SIZE_4K, address / SIZE_4K + 1,
	                                                   &end) != PAGE_RIGHTS_DEFAULT)))
		return -SKERRY_NO_RIGHTS;
	int error = share_write(&f->shares, place, step);
	give_back(f, application);
	return error;
}

bool family_touches(uint32_t application, uint32_t place, uint64_t address, unsigned needed, bool present)
{
	struct family *f = family[application];
	int error = 0;
	if (present)
		return f && needed == RIGHT_WRITE && !write_shared(f, application, place, address);
	const bool may = process_touches(process_at(application, place), f ? owner_of(f, application, place)
	                                 : owner_application(application), address, needed, &error);
	if (error && (!f || may_say(f)))
		console_print("%s: memory that it was promised cannot be mapped at 0x%lx (error %d)",
		              map->application[application].name, address, -error);
	return may;
}

/* Whoever changes rights has the steps for itself, so that shared steps have none but the first. */
static int unshare(struct family *f, uint32_t application, uint32_t place, uint64_t address, uint64_t size)
{
	const struct process *p = process_at(application, place);
	uint32_t step;
	int error = 0;
	if (!step_of(f, p, address, &step))
		return 0;
	const uint64_t last = (address + size - 1 - p->heap.address) / PROCESS_HEAP_STEP;
	for (unsigned i = 0; i < STEPS_OF_PROTECT && step <= last && step < f->shares.steps && !error; i++, step++)
		if (share_has(&f->shares, place, step))
			error = share_write(&f->shares, place, step);
	give_back(f, application);
	return error;
}

int64_t family_protect(uint32_t application, uint32_t place, uint64_t address, uint64_t size, uint64_t rights)
{
	struct family *f = family[application];
	int error = f && size ? unshare(f, application, place, address, size) : 0;
	return error ? error : process_protect(process_at(application, place), f ? owner_of(f, application, place)
	                                       : owner_application(application), address, size, rights);
}

uint64_t family_memory(uint32_t application)
{
	uint64_t sum = process_memory(application);
	for (unsigned i = 1; family[application] && i < PROCESS_MEMBERS; i++)
		sum += family[application]->member[i].child.memory;
	return sum;
}

uint64_t family_committed(uint32_t application)
{
	uint64_t sum = process_committed(process_of(application));
	for (unsigned i = 1; family[application] && i < PROCESS_MEMBERS; i++)
		if (family[application]->member[i].kept)
			sum += process_committed(&family[application]->member[i].child);
	return sum;
}
