/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Volumes of a family (skerry/family_files.h): which process may use a file port, and what open files of it processes
 * share. A process that waits for its turn has a bit in `waiting`, and sleeps on a notification that the volume has for
 * that; whoever gives up the port signals it where somebody waits. So does the manager when a process has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include "family.h"
#include "platform.h"
#include "volume.h"

static unsigned depth[PROCESS_MAX_VOLUMES]; /* of volume_enter(), by the thread that has the layer's lock */

static uint32_t own_place(void) { return platform_info()->place; }

static struct family_files *files(void) { return &((struct family_area *)PROCESS_FAMILY_VADDR)->files; }

bool volume_is_shared(void) { return platform_info()->places > 1; }

struct family_volume *volume_shared(unsigned volume)
{
	require(volume && volume <= platform_info()->volume_count && volume_is_shared());
	return &files()->volume[volume - 1];
}

uint64_t volume_life(void) { return volume_is_shared() ? family_get(&files()->life) : platform_info()->life; }

/* Only the first process has a life of its own. */
void volumes_fork(void)
{
	if (volume_is_shared() && platform_info()->volume_count && process_id == 1)
		family_set(&files()->life, platform_info()->life);
}

/* --- the port's turn --- */

static void close_handle(unsigned volume, uint64_t handle)
{
	struct file_request request = { .operation = FILE_CLOSE, .handle = (uint32_t)handle };

	if (volume_data(volume))
		volume_ask(volume, &request, 0);
}

static bool is_served(const struct family_file *file, unsigned volume)
{
	return family_get(&file->holders) & FAMILY_SERVED && family_get(&file->volume) == volume;
}

/* Closes what a process has opened that ended before it had the answer. */
static void close_opened(unsigned volume, struct family_volume *v)
{
	struct file_answer answer;
	bool known = false;

	if (family_get(&v->opening) && family_get(&v->opening) == family_get(&v->asked) &&
	    volume_last_answer(volume, &answer)) {
		for (unsigned i = 0; i < FAMILY_FILES; i++)
			known |= is_served(&files()->file[i], volume) &&
			         family_get(&files()->file[i].handle) == answer.handle;
		if (!known)
			close_handle(volume, answer.handle);
	}
	family_set(&v->opening, 0);
}

/* Sets right what processes have left that ended since the last time. */
static void repair(unsigned volume, struct family_volume *v)
{
	const uint64_t ended = family_get(&files()->ended);

	if (family_get(&v->swept) == ended)
		return;
	volume_settle(volume);
	close_opened(volume, v);
	for (unsigned i = 0; i < FAMILY_FILES; i++) {
		struct family_file *file = &files()->file[i];
		if (!is_served(file, volume) || family_get(&file->holders) != FAMILY_SERVED)
			continue;
		close_handle(volume, family_get(&file->handle));
		family_set(&file->holders, 0);
	}
	family_set(&v->swept, ended);
}

void volume_enter(unsigned volume)
{
	require(layer_is_locked());
	if (!volume_is_shared() || depth[volume - 1]++)
		return;
	struct family_volume *v = volume_shared(volume);

	if (process_id == 1 && !family_get(&files()->life))
		volumes_fork();
	while (!family_replace(&v->lock, 0, own_place() + 1)) {
		family_or(&v->waiting, 1ull << own_place());
		if (family_replace(&v->lock, 0, own_place() + 1))
			break;
		platform_volume_turn_wait(volume - 1);
	}
	family_and(&v->waiting, ~(1ull << own_place()));
	repair(volume, v);
}

void volume_leave(unsigned volume)
{
	if (!volume_is_shared() || --depth[volume - 1])
		return;
	struct family_volume *v = volume_shared(volume);

	require(family_get(&v->lock) == own_place() + 1);
	family_swap(&v->lock, 0);
	if (family_get(&v->waiting)) {
		platform_volume_turn(volume - 1);
		platform_yield(); /* all are on one core: else this one asks again before the next one runs */
	}
}

/* --- open files --- */

int volume_file_begin(struct family_file **taken)
{
	*taken = 0;
	for (unsigned i = 0; i < FAMILY_FILES && volume_is_shared(); i++) {
		struct family_file *file = &files()->file[i];
		if (!family_get(&file->holders) && family_replace(&file->holders, 0, 1ull << own_place())) {
			*taken = file;
			return 0;
		}
	}
	return volume_is_shared() ? -ENFILE : 0;
}

void volume_file_served(unsigned volume, struct family_file *file, const struct file_answer *answer, int flags)
{
	require(depth[volume - 1]);
	family_set(&file->volume, volume);
	family_set(&file->handle, answer->handle);
	family_set(&file->inode, answer->file.inode);
	family_set(&file->position, 0);
	family_set(&file->flags, (uint64_t)flags);
	family_set(&file->lock, 0);
	family_or(&file->holders, FAMILY_SERVED); /* last: from here on it is closed like any other */
	family_set(&volume_shared(volume)->opening, 0);
}

void volume_file_undo(unsigned volume, struct family_file *file)
{
	if (!file)
		return;
	family_set(&volume_shared(volume)->opening, 0);
	family_set(&file->holders, 0);
}

bool volume_file_end(struct family_file *file)
{
	if (!file)
		return true;
	const bool locked = family_get(&file->lock), last = family_file_drop(file, own_place());

	if (last && locked)
		family_locks_changed();
	return last;
}

void volume_file_free(struct family_file *file)
{
	if (file)
		family_set(&file->holders, 0);
}
