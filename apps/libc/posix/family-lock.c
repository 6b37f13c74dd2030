/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks of files of volumes between the processes of a family, in the memory that they share (skerry/family_files.h):
 * those of flock(), which belong to an open file description, and those of fcntl(), which belong to a process and end
 * when it closes any descriptor of the file. The two do not know of each other, as on Linux. No deadlock is detected.
 *
 * Hazard: a lost wake-up. A thread that waits sets its process's bit in `waiting` before it tries; whoever gives up a
 * lock changes the table first and makes those processes look then.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "family.h"
#include "family-stream.h"
#include "platform.h"
#include "volume.h"

/* A range of a file for a process. */
struct range {
	uint64_t volume, inode, first, last;
	bool writes;
};

static unsigned waiters; /* threads of this process */

static uint64_t own(void) { return platform_info()->place + 1; }
static struct family_files *files(void) { return &((struct family_area *)PROCESS_FAMILY_VADDR)->files; }

static void table_lock(void)
{
	while (!family_replace(&files()->locks, 0, own()))
		platform_yield();
}

static void table_unlock(void) { family_swap(&files()->locks, 0); }

void family_locks_forked(void) { waiters = 0; }

bool family_locks_waited(void) { return waiters; }

void family_locks_changed(void)
{
	const uint32_t places = (uint32_t)family_get(&files()->waiting);

	family_tell(places, places);
	if (waiters)
		event_notify();
}

/* Makes an attempt again until it answers something else than -EAGAIN, or a signal ends that. */
static long wait_for_lock(struct file *file, long (*attempt)(struct file *, const void *), const void *argument)
{
	const uint64_t bit = 1ull << platform_info()->place;
	long result;

	file_hold(file);
	waiters++;
	do {
		family_or(&files()->waiting, bit);
		result = attempt(file, argument);
		if (result != -EAGAIN)
			break;
		result = event_sleep(0);
	} while (!result);
	if (!--waiters)
		family_and(&files()->waiting, ~bit);
	file_put(file);
	return result;
}

/* --- flock() --- */

static bool excludes(const struct family_file *other, const struct family_file *f, uint64_t kind)
{
	const uint64_t held = family_get(&other->lock);

	return other != f && held && family_get(&other->holders) & ~FAMILY_SERVED &&
	       family_get(&other->volume) == family_get(&f->volume) &&
	       family_get(&other->inode) == family_get(&f->inode) && (held == LOCK_EX || kind == LOCK_EX);
}

/* The description's former lock is given up first, even where the new one cannot be had. */
static long try_flock(struct file *file, const void *argument)
{
	struct family_file *f = volume_shared_file(file);
	const uint64_t kind = *(const uint64_t *)argument, before = family_get(&f->lock);
	bool excluded = false;

	if (before == kind)
		return 0;
	table_lock();
	family_set(&f->lock, 0);
	for (unsigned i = 0; i < FAMILY_FILES && !excluded && kind; i++)
		excluded = excludes(&files()->file[i], f, kind);
	if (!excluded)
		family_set(&f->lock, kind);
	table_unlock();
	if (before)
		family_locks_changed();
	return excluded ? -EAGAIN : 0;
}

long family_flock(struct file *file, int operation)
{
	const int what = operation & ~LOCK_NB;
	const uint64_t kind = what == LOCK_UN ? 0 : (uint64_t)what;

	if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN)
		return -EINVAL;
	return operation & LOCK_NB || !kind ? try_flock(file, &kind) : wait_for_lock(file, try_flock, &kind);
}

/* --- fcntl() --- */

static bool is_of_file(const struct family_file_lock *l, const struct range *r)
{
	return family_get(&l->owner) && family_get(&l->volume) == r->volume && family_get(&l->inode) == r->inode;
}

static bool is_own(const struct family_file_lock *l, const struct range *r)
{
	return family_get(&l->owner) == own() && is_of_file(l, r);
}

static bool overlaps(const struct family_file_lock *l, const struct range *r)
{
	return family_get(&l->first) <= r->last && r->first <= family_get(&l->last);
}

/* Returns the lowest lock of another process that excludes the range, or null. The table is locked. */
static const struct family_file_lock *find_other(const struct range *r)
{
	const struct family_file_lock *lowest = 0;

	for (unsigned i = 0; i < FAMILY_FILE_LOCKS; i++) {
		const struct family_file_lock *l = &files()->lock[i];
		if (is_of_file(l, r) && family_get(&l->owner) != own() && overlaps(l, r) &&
		    (r->writes || family_get(&l->writes)) &&
		    (!lowest || family_get(&l->first) < family_get(&lowest->first)))
			lowest = l;
	}
	return lowest;
}

/* Returns whether there are so many free places in the table. */
static bool has_free(int count)
{
	for (unsigned i = 0; i < FAMILY_FILE_LOCKS && count > 0; i++)
		count -= !family_get(&files()->lock[i].owner);
	return count <= 0;
}

static void add(const struct range *r, uint64_t first, uint64_t last, bool writes)
{
	for (unsigned i = 0; i < FAMILY_FILE_LOCKS; i++) {
		struct family_file_lock *l = &files()->lock[i];
		if (family_get(&l->owner))
			continue;
		family_set(&l->volume, r->volume);
		family_set(&l->inode, r->inode);
		family_set(&l->first, first);
		family_set(&l->last, last);
		family_set(&l->writes, writes);
		family_set(&l->pid, (uint64_t)process_id);
		family_set(&l->owner, own());
		return;
	}
	require(!"room, which has_free() has found");
}

/* Takes the range out of one of this process's locks. */
static void cut(struct family_file_lock *l, const struct range *r)
{
	const uint64_t first = family_get(&l->first), last = family_get(&l->last);

	if (first < r->first && last > r->last)
		add(r, r->last + 1, last, family_get(&l->writes));
	if (first < r->first)
		family_set(&l->last, r->first - 1);
	else if (last > r->last)
		family_set(&l->first, r->last + 1);
	else
		family_set(&l->owner, 0);
}

/* Returns whether a lock is of the same kind as the range, and the two are one. */
static bool touches(const struct family_file_lock *l, const struct range *r)
{
	return family_get(&l->writes) == r->writes && family_get(&l->first) <= r->last + 1 &&
	       r->first <= family_get(&l->last) + 1;
}

/* A lock that touches the range becomes part of it. Returns whether this one has. */
static bool merge(struct family_file_lock *l, struct range *r)
{
	const uint64_t first = family_get(&l->first), last = family_get(&l->last);

	if (!touches(l, r))
		return false;
	r->first = first < r->first ? first : r->first;
	r->last = last > r->last ? last : r->last;
	family_set(&l->owner, 0);
	return true;
}

/* Returns how many more places of the table a change takes than it frees. */
static int more_places(const struct range *r, bool lock)
{
	int more = lock;

	for (unsigned i = 0; i < FAMILY_FILE_LOCKS; i++) {
		const struct family_file_lock *l = &files()->lock[i];
		if (!is_own(l, r))
			continue;
		const uint64_t first = family_get(&l->first), last = family_get(&l->last);
		if ((lock && touches(l, r)) || (first >= r->first && last <= r->last))
			more--;
		else if (first < r->first && last > r->last)
			more++;
	}
	return more;
}

/* `lock`: else the range is unlocked. Returns 0 or -ENOLCK. The table is locked. */
static long change(struct range *r, bool lock)
{
	if (!has_free(more_places(r, lock)))
		return -ENOLCK;
	for (unsigned i = 0; i < FAMILY_FILE_LOCKS; i++) {
		struct family_file_lock *l = &files()->lock[i];
		if (is_own(l, r) && !(lock && merge(l, r)) && overlaps(l, r))
			cut(l, r);
	}
	if (lock)
		add(r, r->first, r->last, r->writes);
	return 0;
}

static long try_range(struct file *file, const void *argument)
{
	struct range r = *(const struct range *)argument;

	(void)file;
	table_lock();
	const long result = find_other(&r) ? -EAGAIN : change(&r, true);
	table_unlock();
	if (!result) /* a lock for writing may have become one for reading */
		family_locks_changed();
	return result;
}

static long unlock_range(struct range *r)
{
	table_lock();
	const long result = change(r, false);
	table_unlock();
	family_locks_changed();
	return result;
}

/* Stores the bytes that a struct flock means. Returns 0 or an error. */
static long take_range(struct file *file, const struct flock *lock, struct range *r)
{
	const struct family_file *f = volume_shared_file(file);
	struct stat st = { 0 };
	off_t first, last = INT64_MAX;
	const long error = lock->l_whence == SEEK_END ? file->ops->stat(file, &st) : 0;

	if (error || lock->l_whence < SEEK_SET || lock->l_whence > SEEK_END)
		return error ? error : -EINVAL;
	const off_t base = lock->l_whence == SEEK_CUR ? file->ops->seek(file, 0, SEEK_CUR) : st.st_size;
	if (__builtin_add_overflow(base, lock->l_start, &first))
		return -EOVERFLOW;
	if (lock->l_len > 0 && __builtin_add_overflow(first, lock->l_len - 1, &last))
		return -EOVERFLOW;
	if (lock->l_len < 0) {
		last = first - 1;
		first += lock->l_len;
	}
	if (first < 0 || last < first)
		return -EINVAL;
	*r = (struct range){ family_get(&f->volume), family_get(&f->inode), (uint64_t)first, (uint64_t)last,
	                     lock->l_type == F_WRLCK };
	return 0;
}

static void get_other(const struct range *r, struct flock *lock)
{
	table_lock();
	const struct family_file_lock *other = find_other(r);
	if (other) {
		const uint64_t first = family_get(&other->first), last = family_get(&other->last);
		lock->l_whence = SEEK_SET;
		lock->l_start = (off_t)first;
		lock->l_len = last == INT64_MAX ? 0 : (off_t)(last - first + 1);
		lock->l_pid = (pid_t)family_get(&other->pid);
		lock->l_type = family_get(&other->writes) ? F_WRLCK : F_RDLCK;
	} else {
		lock->l_type = F_UNLCK;
	}
	table_unlock();
}

long family_range_lock(struct file *file, int command, struct flock *lock)
{
	const uint32_t access = file->flags & O_ACCMODE;
	struct range r;

	if (lock->l_type != F_RDLCK && lock->l_type != F_WRLCK && (lock->l_type != F_UNLCK || command == F_GETLK))
		return -EINVAL;
	const long error = take_range(file, lock, &r);
	if (error)
		return error;
	if (command == F_GETLK)
		return get_other(&r, lock), 0;
	if (lock->l_type == F_UNLCK)
		return unlock_range(&r);
	if (access == (lock->l_type == F_RDLCK ? O_WRONLY : O_RDONLY))
		return -EBADF;
	return command == F_SETLKW ? wait_for_lock(file, try_range, &r) : try_range(file, &r);
}

void family_locks_closed(const struct file *file)
{
	const struct family_file *f = volume_shared_file(file);
	bool any = false;

	if (!f)
		return;
	const struct range all = { family_get(&f->volume), family_get(&f->inode), 0, INT64_MAX, true };
	table_lock();
	for (unsigned i = 0; i < FAMILY_FILE_LOCKS; i++)
		if (is_own(&files()->lock[i], &all)) {
			family_set(&files()->lock[i].owner, 0);
			any = true;
		}
	table_unlock();
	if (any)
		family_locks_changed();
}
