/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>

#define COUNT(...) (sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
#define INVOKE(text, object, what, cap0, cap1, cap2, ...)                                            \
	{ .name = text, .number = SYS_CALL, .cptr = object, .label = what, .words = COUNT(__VA_ARGS__), \
	  .word = { __VA_ARGS__ }, .cap = { cap0, cap1, cap2 } }
#define RETYPE(text, object, bits, slot, count) \
	INVOKE(text, TINY_U, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, object, bits, slot, count)
#define CNODE(text, what, ...) INVOKE(text, ROOT_SLOT_CNODE, what, ROOT_SLOT_CNODE, 0, 0, __VA_ARGS__)
#define TCB(text, slot, what, cap0, ...) INVOKE(text, slot, what, cap0, 0, 0, __VA_ARGS__)
#define SYSCALL(text, which, object, reply_object, ...)                                               \
	{ .name = text, .number = which, .cptr = object, .reply = reply_object, .words = COUNT(__VA_ARGS__), \
	  .word = { __VA_ARGS__ } }

const struct operation operations[] = {
	{ .name = "tick", .kind = OP_TICK },
	{ .name = "go on", .kind = OP_GO_ON },
	{ .name = "store", .kind = OP_STORE },
	{ .name = "touch", .kind = OP_TOUCH },
	{ .name = "pin", .kind = OP_PIN },
	{ .name = "fault", .kind = OP_FAULT },
	RETYPE("retype endpoint P0", OBJECT_ENDPOINT, 0, TINY_P0, 1),
	RETYPE("retype notification P1", OBJECT_NOTIFICATION, 0, TINY_P1, 1),
	RETYPE("retype reply P2", OBJECT_REPLY, 0, TINY_P2, 1),
	RETYPE("retype tcb P1", OBJECT_TCB, 0, TINY_P1, 1),
	RETYPE("retype cnode P2", OBJECT_CNODE, 2, TINY_P2, 1),
	RETYPE("retype large cnode P1", OBJECT_CNODE, 7, TINY_P1, 1),
	RETYPE("retype untyped P3", OBJECT_UNTYPED, 12, TINY_P3, 1),
	RETYPE("retype frame P4", OBJECT_FRAME_4K, 0, TINY_P4, 1),
	RETYPE("retype frames P2", OBJECT_FRAME_4K, 0, TINY_P2, 3),
	RETYPE("retype table P3", OBJECT_PAGE_TABLE, 0, TINY_P3, 1),
	RETYPE("retype vspace P4", OBJECT_VSPACE, 0, TINY_P4, 1),
	RETYPE("retype domain P3", OBJECT_DOMAIN, 0, TINY_P3, 1),
	INVOKE("retype of P3 endpoint P4", TINY_P3, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_ENDPOINT, 0, TINY_P4,
	       1),
	INVOKE("retype endpoint P2/1", TINY_U, UNTYPED_RETYPE, TINY_P2, 0, 0, OBJECT_ENDPOINT, 0, 1, 1),
	INVOKE("retype into read-only", TINY_U, UNTYPED_RETYPE, TINY_CNODE_READ, 0, 0, OBJECT_ENDPOINT, 0, TINY_P0, 1),
	INVOKE("map P4 in V1", TINY_P4, FRAME_MAP, ROOT_SLOT_VSPACE, 0, 0, TINY_PLAY, RIGHT_ALL, 0),
	INVOKE("map P4 in V2", TINY_P4, FRAME_MAP, TINY_V2, 0, 0, TINY_PLAY, RIGHT_READ | RIGHT_WRITE, 0),
	INVOKE("map P5 in V2", TINY_P5, FRAME_MAP, TINY_V2, 0, 0, TINY_PLAY, RIGHT_ALL, 0),
	INVOKE("map P3 in V1", TINY_P3, FRAME_MAP, ROOT_SLOT_VSPACE, 0, 0, TINY_PLAY + 0x1000, RIGHT_ALL, 0),
	INVOKE("unmap P4", TINY_P4, FRAME_UNMAP, 0, 0, 0, 0),
	INVOKE("protect P4", TINY_P4, FRAME_PROTECT, 0, 0, 0, RIGHT_READ),
	INVOKE("map table P3", TINY_P3, PAGE_TABLE_MAP, TINY_V2, 0, 0, TINY_VADDR_B),
	INVOKE("unmap table P3", TINY_P3, PAGE_TABLE_UNMAP, 0, 0, 0, 0),
	INVOKE("unmap table of V2", TINY_TABLE + 1, PAGE_TABLE_UNMAP, 0, 0, 0, 0),
	CNODE("copy P4 to P5", CNODE_COPY, TINY_P5, TINY_P4, RIGHT_READ),
	CNODE("copy EP to P0", CNODE_COPY, TINY_P0, TINY_EP, RIGHT_ALL),
	CNODE("mint EP to P5", CNODE_MINT, TINY_P5, TINY_EP, RIGHT_WRITE | RIGHT_GRANT, 7),
	CNODE("mint P0 to P1", CNODE_MINT, TINY_P1, TINY_P0, RIGHT_ALL, 5),
	CNODE("move P0 to P5", CNODE_MOVE, TINY_P5, TINY_P0),
	INVOKE("move EP out of read-only", ROOT_SLOT_CNODE, CNODE_MOVE, TINY_CNODE_READ, 0, 0, TINY_P0, TINY_EP),
	INVOKE("move P2 into itself", TINY_P2, CNODE_MOVE, ROOT_SLOT_CNODE, 0, 0, 2, TINY_P2),
	INVOKE("copy P2 into itself", TINY_P2, CNODE_COPY, ROOT_SLOT_CNODE, 0, 0, 1, TINY_P2, RIGHT_ALL),
	CNODE("delete P0", CNODE_DELETE, TINY_P0),
	CNODE("delete P1", CNODE_DELETE, TINY_P1),
	CNODE("delete P2", CNODE_DELETE, TINY_P2),
	CNODE("delete P4", CNODE_DELETE, TINY_P4),
	CNODE("delete P5", CNODE_DELETE, TINY_P5),
	CNODE("revoke U", CNODE_REVOKE, TINY_U),
	CNODE("revoke P0", CNODE_REVOKE, TINY_P0),
	CNODE("revoke P3", CNODE_REVOKE, TINY_P3),
	CNODE("revoke P4", CNODE_REVOKE, TINY_P4),
	CNODE("delete EP", CNODE_DELETE, TINY_EP),
	CNODE("revoke EP", CNODE_REVOKE, TINY_EP),
	CNODE("delete R", CNODE_DELETE, TINY_R),
	CNODE("delete V2", CNODE_DELETE, TINY_V2),
	CNODE("revoke V2", CNODE_REVOKE, TINY_V2),
	CNODE("delete B", CNODE_DELETE, TINY_B),
	CNODE("delete N", CNODE_DELETE, TINY_N),
	TCB("suspend A", TINY_A, TCB_SUSPEND, 0, 0),
	TCB("resume A", TINY_A, TCB_RESUME, 0, 0),
	TCB("suspend B", TINY_B, TCB_SUSPEND, 0, 0),
	TCB("resume B", TINY_B, TCB_RESUME, 0, 0),
	TCB("raise A", TINY_A, TCB_SCHEDULE, ROOT_SLOT_TCB, 101, 0),
	TCB("lower B", TINY_B, TCB_SCHEDULE, ROOT_SLOT_TCB, 99, 0),
	TCB("level B", TINY_B, TCB_SCHEDULE, ROOT_SLOT_TCB, 100, 0),
	TCB("bind A", TINY_A, TCB_BIND, TINY_N, 0),
	TCB("unbind A", TINY_A, TCB_UNBIND, 0, 0),
	INVOKE("configure P1", TINY_P1, TCB_CONFIGURE, ROOT_SLOT_CNODE, TINY_V2, TINY_B_FRAME, TINY_VADDR + 0x2000, 0),
	TCB("resume P1", TINY_P1, TCB_RESUME, 0, 0),
	TCB("set tls B", TINY_B, TCB_SET_TLS, 0, 0x1000),
	SYSCALL("call EP", SYS_CALL, TINY_EP, 0, 1, 2),
	SYSCALL("call EP 6 words", SYS_CALL, TINY_EP, 0, 1, 2, 3, 4, 5, 6),
	SYSCALL("call P5", SYS_CALL, TINY_P5, 0, 3),
	SYSCALL("send EP", SYS_SEND, TINY_EP, 0, 4),
	{ .name = "send EP with N", .number = SYS_SEND, .cptr = TINY_EP, .cap = { TINY_N } },
	SYSCALL("nbsend EP", SYS_NB_SEND, TINY_EP, 0, 4),
	SYSCALL("recv EP", SYS_RECV, TINY_EP, TINY_R, 0),
	SYSCALL("nbrecv EP", SYS_NB_RECV, TINY_EP, TINY_R, 0),
	SYSCALL("recv P0", SYS_RECV, TINY_P0, TINY_P2, 0),
	SYSCALL("reply", SYS_REPLY, 0, TINY_R, 9),
	SYSCALL("replyrecv", SYS_REPLY_RECV, TINY_EP, TINY_R, 8),
	SYSCALL("signal N", SYS_SIGNAL, TINY_N, 0, 0),
	SYSCALL("wait N", SYS_WAIT, TINY_N, 0, 0),
	{ .name = "wait N for a time", .number = SYS_WAIT, .cptr = TINY_N, .words = 1, .waits = true },
	SYSCALL("poll N", SYS_POLL, TINY_N, 0, 0),
	SYSCALL("signal-wait N", SYS_SIGNAL_WAIT, TINY_N, TINY_N, 0),
	SYSCALL("yield", SYS_YIELD, 0, 0, 0),
	INVOKE("get irq P3", ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, ROOT_SLOT_CNODE, 0, 0, TINY_P3, 0, 0, 1),
	INVOKE("set irq P3", TINY_P3, IRQ_SET_NOTIFICATION, TINY_N, 0, 0, 0),
	INVOKE("ack irq P3", TINY_P3, IRQ_ACK, 0, 0, 0, 0),
	{ .name = "last core leaves", .number = SYS_CALL, .cptr = ROOT_SLOT_CLUSTER_CONTROL, .label = CORE_LEAVE,
	  .words = 2, .word = { 0, TINY_NEIGHBOUR }, .last = true },
	{ .name = "last core comes", .number = SYS_CALL, .cptr = ROOT_SLOT_CLUSTER_CONTROL, .label = CORE_TAKE,
	  .words = 1, .last = true },
	TCB("B to core 0", TINY_B, TCB_SCHEDULE, ROOT_SLOT_TCB, 100, 0),
	{ .name = "B to the last core", .number = SYS_CALL, .cptr = TINY_B, .label = TCB_SCHEDULE, .words = 2,
	  .word = { 100 }, .cap = { ROOT_SLOT_TCB }, .last = true, .last_word = 1 },
	INVOKE("give M", ROOT_SLOT_CLUSTER_CONTROL, MEMORY_GIVE, TINY_M, 0, 0, TINY_NEIGHBOUR),
	{ .name = "take M", .number = SYS_CALL, .cptr = ROOT_SLOT_CLUSTER_CONTROL, .label = MEMORY_TAKE, .words = 3,
	  .word = { 0, TINY_M_BITS, TINY_M }, .cap = { ROOT_SLOT_CNODE }, .place = true },
	INVOKE("retype of M frame P4", TINY_M, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_FRAME_4K, 0, TINY_P4, 1),
	CNODE("revoke M", CNODE_REVOKE, TINY_M),
	CNODE("N at home on core 0", CNODE_LOCALITY, TINY_N, 1),
	INVOKE("coarse", ROOT_SLOT_CONTROL, CONTROL_GRANULARITY, 0, 0, 0, GRANULARITY_COARSE),
	INVOKE("fine", ROOT_SLOT_CONTROL, CONTROL_GRANULARITY, 0, 0, 0, GRANULARITY_FINE),
};
const unsigned operations_count = sizeof(operations) / sizeof(operations[0]);

const struct theme themes[] = {
	{ "all", 1, 3, 0, 0 },
	{ "retype", 1, 5, 0,
	  "tick,go on,store,retype endpoint P0,retype notification P1,retype tcb P1,retype cnode P2,retype frame P4,"
	  "map P4 in V1,retype untyped P3,retype of P3 endpoint P4,delete P0,delete P1,delete P2,delete P4,revoke U,"
	  "revoke P3," },
	{ "dirty", 1, 4, START_DIRTY,
	  "tick,go on,retype endpoint P0,retype tcb P1,retype cnode P2,retype large cnode P1,retype frame P4,"
	  "retype table P3,retype vspace P4,map P4 in V2,map table P3,delete P0,delete P1,delete P4,revoke U,yield," },
	{ "capabilities", 1, 7, 0,
	  "tick,go on,retype cnode P2,retype endpoint P2/1,retype into read-only,copy EP to P0,mint EP to P5,"
	  "mint P0 to P1,move P0 to P5,move EP out of read-only,move P2 into itself,copy P2 into itself,delete P0,"
	  "delete P2,delete P5,delete EP,revoke EP,revoke U,revoke P0," },
	{ "messages", 1, 6, 0,
	  "tick,go on,call EP,call EP 6 words,send EP,send EP with N,nbsend EP,recv EP,nbrecv EP,reply,replyrecv,"
	  "delete R,fault," },
	{ "deaths", 1, 6, 0,
	  "tick,go on,call EP,recv EP,replyrecv,reply,suspend A,resume A,suspend B,resume B,delete B,delete R,"
	  "delete EP,set tls B,delete V2,yield," },
	{ "signals", 1, 6, 0,
	  "tick,go on,signal N,wait N,wait N for a time,poll N,signal-wait N,bind A,unbind A,recv EP,nbsend EP,"
	  "delete N,suspend A,resume A," },
	{ "mappings", 1, 8, 0,
	  "tick,go on,store,touch,retype frame P4,map P4 in V1,map P4 in V2,copy P4 to P5,map P5 in V2,unmap P4,"
	  "protect P4,delete P4,delete P5,revoke P4,revoke U,unmap table of V2," },
	{ "times", 1, 6, 0,
	  "tick,yield,raise A,lower B,level B,wait N for a time,signal N,suspend B,resume B,call EP,recv EP," },
	{ "interrupts", 1, 9, 0,
	  "tick,go on,pin,get irq P3,set irq P3,ack irq P3,wait N,poll N,signal N,bind A,recv EP,delete N,revoke U," },
	{ "fast path", 2, 8, 0, "go on,call EP,recv EP,revoke V2," },
	{ "two cores", 2, 4, 0,
	  "go on,tick,call EP,recv EP,replyrecv,revoke V2,delete V2,suspend B," },
	{ "two cores, signals", 2, 4, 0, "go on,tick,signal N,wait N,poll N,delete N,suspend B,resume B," },
	{ "two cores, more", 2, 3, 0,
	  "go on,tick,call EP,recv EP,replyrecv,reply,send EP,nbsend EP,signal N,revoke V2,delete V2,suspend B," },
	{ "three cores", 3, 3, 0, "go on,call EP,recv EP,replyrecv,signal N,wait N,suspend B,delete V2," },
	{ "cores that move", 3, 3, START_MOVES,
	  "go on,last core leaves,last core comes,B to core 0,B to the last core,signal N,wait N,suspend B," },
	{ "memory that moves", 1, 8, START_MOVES,
	  "tick,go on,store,touch,give M,take M,retype of M frame P4,map P4 in V1,map P4 in V2,delete P4,revoke M," },
	{ "memory that moves, two cores", 2, 5, START_MOVES,
	  "go on,touch,give M,take M,retype of M frame P4,map P4 in V1,revoke M," },
	{ "visitors", 3, 4, START_HOMES, "go on,tick,signal N,poll N,N at home on core 0," },
	{ "visitors of a core that leaves", 3, 6, START_MOVES | START_HOMES | START_AWAY,
	  "go on,signal N,N at home on core 0,last core leaves," },
	{ "sleepers", 2, 5, 0, "go on,tick,wait N for a time,yield,B to the last core,suspend B," },
	{ "granularity", 2, 4, 0, "go on,coarse,fine,call EP,recv EP,signal N,wait N," },
};
const unsigned themes_count = sizeof(themes) / sizeof(themes[0]);

unsigned operation_find(const char *name)
{
	unsigned i = 0;
	while (i < operations_count && strcmp(operations[i].name, name) != 0)
		i++;
	return i;
}

const struct theme *theme_find(const char *name)
{
	for (unsigned i = 0; i < themes_count; i++)
		if (!strcmp(themes[i].name, name))
			return &themes[i];
	return 0;
}

static bool theme_has(const struct theme *theme, const char *name)
{
	const size_t length = strlen(name);
	if (!theme->operations)
		return true;
	for (const char *at = theme->operations; *at; at = strchr(at, ',') + 1)
		if (!strncmp(at, name, length) && at[length] == ',')
			return true;
	return false;
}

unsigned theme_operations(const struct theme *theme, uint16_t *number)
{
	unsigned count = 0;
	for (unsigned i = 0; i < operations_count; i++)
		if (theme_has(theme, operations[i].name))
			number[count++] = (uint16_t)i;
	return count;
}
