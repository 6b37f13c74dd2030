/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Users and groups. A program starts as the deployment says, else as root, and root
 * may become anybody, as servers do that refuse to run as root; nothing else is
 * allowed or forbidden by it, for there is nobody else.
 */
#include <errno.h>
#include <string.h>
#include "family.h"
#include "layer.h"
#include "platform.h"

enum { UNCHANGED = -1 };

struct identity {
	int real, effective, saved;
};

static struct identity user, group;

void user_start(const struct process_info *info)
{
	const int uid = (int)info->uid, gid = (int)info->gid;

	user = (struct identity){ uid, uid, uid };
	group = (struct identity){ gid, gid, gid };
}

long sys_getuid(const long *a) { (void)a; return user.real; }
long sys_geteuid(const long *a) { (void)a; return user.effective; }
long sys_getgid(const long *a) { (void)a; return group.real; }
long sys_getegid(const long *a) { (void)a; return group.effective; }

/* musl's: lets each thread do what Linux keeps for each of them. Here it is the process's. */
void __synccall(void (*function)(void *), void *context) { function(context); }

static bool is_any_of(const struct identity *of, int id)
{
	return id == UNCHANGED || id == of->real || id == of->effective || id == of->saved;
}

/* UNCHANGED leaves an id as it is. A program that is not root may only set ids that it has. */
static long identity_change(struct identity *of, int real, int effective, int saved)
{
	if (user.effective && !(is_any_of(of, real) && is_any_of(of, effective) && is_any_of(of, saved)))
		return -EPERM;
	if (real != UNCHANGED)
		of->real = real;
	if (effective != UNCHANGED)
		of->effective = effective;
	if (saved != UNCHANGED)
		of->saved = saved;
	return 0;
}

/* setuid() and setgid(): root changes all three for good, others the effective one. */
static long identity_become(struct identity *of, int id)
{
	if (id < 0)
		return -EINVAL;
	return user.effective ? identity_change(of, UNCHANGED, id, UNCHANGED) : identity_change(of, id, id, id);
}

/* setreuid() and setregid(): the saved one follows the effective one where the real one is set. */
static long change_both(struct identity *of, int real, int effective)
{
	int next = effective == UNCHANGED ? of->effective : effective;

	return identity_change(of, real, effective, real == UNCHANGED && next == of->real ? UNCHANGED : next);
}

long sys_setuid(const long *a) { return identity_become(&user, (int)a[0]); }
long sys_setgid(const long *a) { return identity_become(&group, (int)a[0]); }
long sys_setreuid(const long *a) { return change_both(&user, (int)a[0], (int)a[1]); }
long sys_setregid(const long *a) { return change_both(&group, (int)a[0], (int)a[1]); }
long sys_setresuid(const long *a) { return identity_change(&user, (int)a[0], (int)a[1], (int)a[2]); }
long sys_setresgid(const long *a) { return identity_change(&group, (int)a[0], (int)a[1], (int)a[2]); }

static long identity_copy(const struct identity *of, const long *a)
{
	*(int *)a[0] = of->real;
	*(int *)a[1] = of->effective;
	*(int *)a[2] = of->saved;
	return 0;
}

long sys_getresuid(const long *a) { return identity_copy(&user, a); }
long sys_getresgid(const long *a) { return identity_copy(&group, a); }

/* There are no supplementary groups; root may drop them. */
long sys_getgroups(const long *a) { return a[0] < 0 ? -EINVAL : 0; }
long sys_setgroups(const long *a) { (void)a; return user.effective ? -EPERM : 0; }

#ifdef LAYER_FAMILY
void user_get(int32_t id[6])
{
	memcpy(id, &user, sizeof(user));
	memcpy(id + 3, &group, sizeof(group));
}

void user_set(const int32_t id[6])
{
	memcpy(&user, id, sizeof(user));
	memcpy(&group, id + 3, sizeof(group));
}
#endif
