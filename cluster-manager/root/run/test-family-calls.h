/* SPDX-License-Identifier: BSD-2-Clause */
/* In the place of family.c and family-stops.c for the test of requests: a family of two processes. */
#pragma once

#include "exec.h"
#include "family.h"
#include "family-stops.h"
#include "fault.h"
#include "root.h"
#include "test-check.h"

/* One child of place 0 at place CHILD, which has ended with status `child_status` where `child_pid` says that. */
enum { CHILD = 3, CHILD_PID = 7 };
static uint32_t child_pid, child_status;
static unsigned children_ended;
bool family_runs(uint32_t application, uint32_t place) { (void)application; return place == 0 || place == CHILD; }
/* Group 1 is of both, group 8 of nobody. */
uint32_t family_named(uint32_t application, uint32_t place, int64_t target)
{
	(void)application, (void)place;
	return target == 1 ? 1 : target == CHILD_PID ? 1 << CHILD : target == -1 || target == 0 ? 1 | 1 << CHILD : 0;
}
static struct inbox inbox[CHILD + 1];
struct inbox *family_inbox(uint32_t application, uint32_t place) { return (void)application, &inbox[place]; }
int family_send(uint32_t application, uint32_t place, uint32_t to, struct sent_signal signal)
{
	(void)application, (void)place;
	CHECK(inbox[to].count < PROCESS_SIGNALS);
	inbox[to].signal[inbox[to].count++] = signal;
	return 0;
}
int family_group(uint32_t application, uint32_t place, enum manager_group what, uint32_t pid, uint32_t group,
                 struct member_group *answer)
{
	(void)application;
	*answer = (struct member_group){ group, pid };
	return what == GROUP_SET && place == CHILD ? 0 : -SKERRY_NO_RIGHTS;
}
bool family_has_ended(uint32_t application, uint32_t place, uint32_t pid)
{
	(void)application;
	return place == 0 && pid == CHILD_PID + 1;
}
int family_fork(uint32_t application, uint32_t place, const struct fork_start *start, uint32_t *pid)
{
	(void)application, (void)place;
	*pid = CHILD_PID;
	return start->rip == 1 && start->rsp == 2 && start->fs_base == 3 ? CHILD : -SKERRY_BAD_ARGUMENT;
}
static uint32_t stopped_by; /* that has stopped CHILD; 0: it runs */
int family_may_stop(uint32_t application, uint32_t place, uint32_t number)
{
	return (void)application, place != CHILD ? -SKERRY_NO_RIGHTS : number == 19 ? 0 : -SKERRY_BAD_ARGUMENT;
}
void family_stop(uint32_t application, uint32_t place, uint32_t number)
{
	(void)application, (void)place, stopped_by = number;
}
bool family_clears(uint32_t application, uint32_t to, uint32_t number)
{
	(void)application;
	const bool goes_on = to == CHILD && number == 18 && stopped_by;
	stopped_by = goes_on ? 0 : stopped_by;
	return goes_on;
}
static unsigned told;
int family_tell(uint32_t application, uint32_t place) { return (void)application, (void)place, told++, 0; }
static uint64_t alarm_of_child, woken_at;
int family_alarm(uint32_t application, uint32_t place, struct alarm next, struct alarm *before)
{
	(void)application;
	if (place != CHILD)
		return -SKERRY_NOT_FOUND;
	*before = (struct alarm){ alarm_of_child, 0 };
	alarm_of_child = next.at;
	return 0;
}
uint64_t family_next_alarm(void) { return alarm_of_child; }
int family_exec(uint32_t application, uint32_t place, const struct exec_order *order)
{
	(void)application, (void)place;
	CHECK(order->file_size == 2 && order->stack == 3);
	return order->file == 1 ? 0 : order->file == 2 ? EXEC_ENDS : -SKERRY_BAD_ARGUMENT;
}
int family_ended(uint32_t application, uint32_t place, uint32_t status)
{
	(void)application;
	CHECK(place == CHILD);
	child_pid = CHILD_PID;
	child_status = status;
	children_ended++;
	return 0;
}
int family_faulted(uint32_t application, uint32_t place, uint64_t fault, uint64_t vector, uint64_t rip)
{
	(void)vector, (void)rip;
	return family_ended(application, place, fault == FAULT_PAGE ? 11 : 0);
}
int family_reap(uint32_t application, uint32_t place, uint32_t pid, uint32_t group, unsigned how, struct ended *ended)
{
	(void)application, (void)group, (void)how;
	*ended = (struct ended){ child_pid, child_status };
	child_pid = 0;
	return place || (pid && pid != CHILD_PID) ? -SKERRY_NOT_FOUND : 0;
}
