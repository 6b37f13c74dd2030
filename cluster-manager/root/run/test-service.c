/* SPDX-License-Identifier: BSD-2-Clause */
/* A program can make its manager keep nothing by sending, little by calling, and never what others need. */
#define _GNU_SOURCE
#include <string.h>
#include "channel.h"
#include "console.h"
#include "deliver.h"
#include "family.h"
#include "fault.h"
#include "json.h"
#include "life.h"
#include "map.h"
#include "memory.h"
#include "orders.h"
#include "power.h"
#include "process.h"
#include "report.h"
#include "root.h"
#include "run.h"
#include "sample.h"
#include "test-check.h"
#include "writers.h"

enum { REPLIES = 4096, HOSTILE = 0, HONEST = 1, AWAITED = 2, APPLICATIONS = 3 };

/* The kernel: which reply objects hold a caller, what was answered, and a notification that waits. */
static bool holds[REPLIES];
static uint64_t pending;
static int objects;
static unsigned answers, reports, served;
static struct report_serving last;
static int written; /* what writers_add() says */
static uint64_t last_answer, last_word[2];

static int test_nb_receive(uint64_t endpoint, uint64_t reply, struct message *m)
{
	(void)endpoint;
	if (holds[reply])
		return -SKERRY_BUSY;
	if (!pending)
		return -SKERRY_WOULD_BLOCK;
	m->info = message_info(RECV_NOTIFICATION, 0, 0);
	m->badge = pending;
	pending = 0;
	return 0;
}

static int test_reply(uint64_t reply, const struct message *m)
{
	if (!holds[reply])
		return -SKERRY_NO_REPLY;
	holds[reply] = false;
	answers++;
	last_answer = message_label(m->info);
	last_word[0] = m->word[0];
	last_word[1] = m->word[1];
	return 0;
}

static int never_returns(void) { return -SKERRY_DELETED; }

#define ipc_nb_receive test_nb_receive
#define ipc_reply      test_reply
#define ipc_receive(endpoint, reply, m) never_returns()
#define tcb_bind(ipc, tcb, notification) ((void)(notification), 0)
#define tcb_unbind(tcb) ((void)0)
#define tcb_suspend(...) ((void)0)
#define tcb_resume(...) ((void)0)
#define tcb_read_registers(ipc, tcb, registers) (*(registers) = (struct thread_registers){ 0 }, 0)
#define tcb_write_registers(...) 0
#include "inbox.c"
#include "waiters.c"
#include "life.c"
#include "service.c"
#include "family-requests.c"
#include "test-family-calls.h"

static bool words; /* of a kernel that panics */
static unsigned hurried;
bool watch_words_are_said(void) { return words; }
void timer_hurry(void) { hurried++; }
void watch_report(void) {}
void cluster_restart_tick(void) {}
void debug_orders_tick(void) {}
void moves_tick(void) {}
void memory_moves_tick(void) {}
void signs_begin(void) {}
void sign_pass(void) {}

static struct cluster_map tested_map;
const struct cluster_map *map = &tested_map;

int memory_object(enum skerry_object type, unsigned size_bits)
{
	(void)size_bits;
	CHECK(type == OBJECT_ENDPOINT || type == OBJECT_REPLY);
	return objects + 1 < REPLIES ? ++objects : -SKERRY_NO_MEMORY;
}

int map_find(const struct cluster_map *m, const char *name, size_t length)
{
	for (uint32_t i = 0; i < m->application_count; i++)
		if (length == 1 && m->application[i].name[0] == *name)
			return (int)i;
	return -1;
}

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	_Exit(1);
}

int promise_note_word(const struct promise_table *t, uint64_t word, uint64_t value)
{
	return (void)t, (void)word, (void)value, 0;
}
enum application_fate application_fate(uint32_t application) { (void)application; return FATE_PENDING; }
uint32_t barrier_released(void) { return 0; }
bool process_started(uint32_t application) { (void)application; return true; }
void processes_init(int endpoint) { CHECK(endpoint > 0); }
void family_kill(uint32_t application) { (void)application; }
int device_config(uint32_t application, const uint64_t word[4], uint64_t *result)
{
	*result = word[0] + word[1] + word[2] + word[3];
	return application == HONEST ? 0 : -SKERRY_NOT_FOUND;
}
int family_start(uint32_t application) { (void)application; return 0; }
uint64_t family_memory(uint32_t application) { (void)application; return 0; }
static unsigned interrupts;
static uint32_t asking; /* the place whose request is in hand */
void family_interrupt(uint32_t application, uint32_t place)
{
	(void)application;
	CHECK(inbox_is_due(&inbox[place]));
	CHECK(place != asking || !holds[reply]); /* else it would call again */
	interrupts++;
	inbox[place].told = true;
}
uint32_t family_alarms(uint32_t application, uint64_t now)
{
	if (application != HOSTILE || !alarm_of_child || now < alarm_of_child)
		return 0;
	alarm_of_child = 0;
	inbox_put(&inbox[CHILD], &(struct sent_signal){ .number = 14 });
	return 1u << CHILD;
}
void timer_alarm(uint64_t at) { woken_at = at; }
static unsigned begun, answers_before_it;
void family_begin(uint32_t application, uint32_t place)
{
	(void)application;
	CHECK(place == CHILD);
	begun++;
	answers_before_it = answers;
}
bool family_touches(uint32_t application, uint32_t place, uint64_t address, unsigned needed, bool present)
{
	(void)application, (void)place, (void)address, (void)needed, (void)present;
	return false;
}
int64_t family_protect(uint32_t application, uint32_t place, uint64_t address, uint64_t size, uint64_t rights)
{
	(void)application, (void)place, (void)rights;
	return address % 4096 ? -SKERRY_BAD_ARGUMENT : (int64_t)size;
}
bool sockets_used(uint32_t application) { (void)application; return false; }
int sockets_peer(uint32_t application) { (void)application; return -1; }
int sample_ask(void) { return 1; }
int sample_read(uint64_t kind, uint64_t index, uint64_t core, const void **record, size_t *size)
{
	(void)kind, (void)index, (void)core, (void)record, (void)size;
	return -SKERRY_WOULD_BLOCK;
}
void sample_tick(void) { }
void run_tick(void) { }
void run_happened(enum run_event_kind kind, uint32_t subject, uint32_t value)
{
	(void)kind, (void)subject, (void)value;
}
bool power_button_pressed(void) { return false; }
bool channels_work(void) { return false; }
void channels_tick(void) { }
void console_print(const char *format, ...) { (void)format; }
int writers_add(uint32_t application, enum manager_request label, const char *text, size_t length)
{
	(void)application, (void)label, (void)text, (void)length;
	return written;
}
void writers_pass_on(void) { }
void writers_flush(uint32_t application) { (void)application; }
bool mail_deliver(void) { return false; }
void mail_then_power_off(uint32_t status) { (void)status; }
struct report_fault fault_of(uint32_t application, const struct message *m)
{
	(void)m;
	return (struct report_fault){ .application = application };
}
bool json_is_object(const char *text, size_t length) { (void)text, (void)length; return true; }
int report(enum message_type type, const void *body, size_t size)
{
	reports++;
	served += type == REPORT_SERVING;
	if (type == REPORT_SERVING) {
		CHECK(size == sizeof(last));
		if (size == sizeof(last))
			memcpy(&last, body, sizeof(last));
	}
	return 0;
}
int report_about(enum message_type type, uint32_t application, uint32_t value)
{
	const struct about_application body = { application, value };
	return report(type, &body, sizeof(body));
}

/* A request of one word, or of a text of one byte. */
static void request(uint32_t application, enum manager_request label, uint64_t word, char text, bool call)
{
	struct message m = { .badge = application + 1, .info = message_info(label, 0, text ? 2 : 1),
			     .word = { text ? 1 : word, (uint64_t)text } };
	holds[reply] = call;
	int used = reply;
	message_serve(&m);
	if (!call)
		CHECK(!holds[used]);
}

/* Nothing of what is sent is kept, whatever it asks for. */
static void sent(void)
{
	unsigned before = reports;
	for (unsigned i = 0; i < 1000; i++) {
		request(HOSTILE, MANAGER_AWAIT, 0, 'a', false);
		request(HOSTILE, MANAGER_BARRIER, i + 1, 0, false);
		request(HOSTILE, MANAGER_SAMPLE, 0, 0, false);
		request(HOSTILE, MANAGER_SERVING, 0, 0, false);
	}
	CHECK(reports == before && answers == 0 && objects < 4);
}

/* Threads that call, are stopped by another thread and call again: only those that still wait count. */
static void stopped(void)
{
	for (unsigned i = 0; i < 1000; i++) {
		int used = reply;
		request(HOSTILE, MANAGER_AWAIT, 0, 'c', true);
		CHECK(holds[used]);
		holds[used] = false;
	}
	CHECK(answers == 0 && objects < 2 * WAITERS_EACH);
}

/* As many threads as may wait do; one more is refused, and other programs are not concerned. */
static void called(void)
{
	for (unsigned i = 0; i < WAITERS_EACH; i++)
		request(HOSTILE, MANAGER_AWAIT, 0, 'c', true);
	CHECK(answers == 0);
	request(HOSTILE, MANAGER_SAMPLE, 0, 0, true);
	CHECK(answers == 1 && last_answer == SKERRY_NO_RESOURCE);
	request(HONEST, MANAGER_BARRIER, 1, 0, true);
	request(HONEST, MANAGER_AWAIT, 0, 'c', true);
	request(HONEST, MANAGER_SAMPLE, 0, 0, true);
	CHECK(answers == 1);
	waiters_wake(WAIT_BARRIER, 1, SKERRY_OK);
	waiters_wake(WAIT_SAMPLE, 0, SKERRY_OK);
	CHECK(answers == 3 && last_answer == SKERRY_OK);
	waiters_wake(WAIT_SERVING, AWAITED, SKERRY_PEER_DOWN);
	CHECK(answers == 3 + WAITERS_EACH + 1 && last_answer == SKERRY_PEER_DOWN);
}

/* A text that is kept is a success, whether or not there is a place to let its writer wait; one that is not is
 * refused. */
static void writes(void)
{
	unsigned before = answers;
	written = 1;
	for (unsigned i = 0; i < WAITERS_EACH; i++)
		request(HOSTILE, MANAGER_WRITE, 0, 'c', true);
	CHECK(answers == before);
	request(HOSTILE, MANAGER_WRITE, 0, 'c', true);
	CHECK(answers == before + 1 && last_answer == SKERRY_OK);
	written = -SKERRY_NO_RESOURCE;
	request(HOSTILE, MANAGER_WRITE, 0, 'c', true);
	CHECK(answers == before + 2 && last_answer == SKERRY_NO_RESOURCE);
	written = 0;
	request(HOSTILE, MANAGER_WRITE, 0, 'c', true);
	CHECK(answers == before + 3 && last_answer == SKERRY_OK);
	waiters_wake(WAIT_CONSOLE, HOSTILE, SKERRY_OK);
	CHECK(answers == before + 3 + WAITERS_EACH);
}

/* A look at a reply object takes no wake-up from the service loop. */
static void wake_ups(void)
{
	waiters_woken();
	pending = WAKE_TIMER;
	request(HONEST, MANAGER_LOOKUP, 0, 'a', false);
	CHECK(!pending && waiters_woken() == WAKE_TIMER && waiters_woken() == 0);
}

/* A peer that rings because its kernel panics makes the timer thread look at once, any other one does not. */
static void last_words(void)
{
	serve_wake_up(WAKE_CHANNEL);
	CHECK(hurried == 0);
	words = true;
	serve_wake_up(WAKE_CHANNEL);
	CHECK(hurried == 1);
	serve_wake_up(WAKE_TIMER);
	CHECK(hurried == 1);
	words = false;
}

static void says_it_again(void)
{
	for (unsigned i = 0; i < 100; i++)
		request(HOSTILE, MANAGER_SERVING, 0, 0, true);
	CHECK(served == 1);
	request(HONEST, MANAGER_SERVING, 0, 0, true);
	CHECK(served == 2);
	request(HONEST, MANAGER_SERVING, 80, 0, true);
	request(HONEST, MANAGER_SERVING, 443, 0, true);
	CHECK(served == 4 && last.port == 443 && last.application == HONEST && !last.address);
	for (unsigned i = 0; i < 100; i++)
		request(HONEST, MANAGER_SERVING, i % 2 ? 80 : 443, 0, true);
	CHECK(served == 4);
	for (uint64_t i = 1; i < 1000; i++)
		request(HOSTILE, MANAGER_SERVING, i | i % 7 << 32, 0, true);
	CHECK(served < 20);
}

/* A program's own loopback interface: its listener is reported, and it does not serve until it listens elsewhere,
 * too. */
static void listens_inside(void)
{
	const uint32_t loopback = 0x0100007f, own = 0x6502000a; /* 127.0.0.1, 10.0.2.101 */
	const unsigned before = served;
	life_end(HONEST);
	for (unsigned i = 0; i < 2; i++)
		request(HONEST, MANAGER_SERVING, (uint64_t)loopback << 32 | 80, 0, true);
	CHECK(served == before + 1 && last.port == 80 && last.address == loopback && !life_of(HONEST).serving);
	for (uint64_t i = 1; i < 1000; i++)
		request(HONEST, MANAGER_SERVING, (i << 8 | 127) << 32 | 80, 0, true);
	CHECK(served < before + 20 && !life_of(HONEST).serving);
	request(HONEST, MANAGER_SERVING, (uint64_t)own << 32 | 80, 0, true);
	CHECK(last.port == 80 && last.address == own && life_of(HONEST).serving);
}

/* A request of a process of HOSTILE's family, by its place. */
static void family_request(uint32_t place, enum manager_request label, uint64_t a, uint64_t b, uint64_t c)
{
	const struct message m = { .badge = (HOSTILE + 1) | place << BADGE_PLACE,
	                           .info = message_info(label, 0, MESSAGE_REGISTERS),
	                           .word = { a, b, c } };
	holds[reply] = true;
	asking = place;
	message_serve(&m);
}

static void families(void)
{
	const struct message fault = { .badge = (HOSTILE + 1) | CHILD << BADGE_PLACE | BADGE_FAULT,
	                               .info = message_info(FAULT_PAGE, 0, MESSAGE_REGISTERS) };
	unsigned before = answers;
	family_request(0, MANAGER_FORK, 1, 2, 3);
	CHECK(answers == before + 1 && last_answer == 0 && last_word[0] == CHILD_PID);
	CHECK(begun == 1 && answers_before_it == answers); /* behind the answer to its parent */
	family_request(0, MANAGER_FORK, 0, 2, 3);
	CHECK(last_answer == SKERRY_BAD_ARGUMENT && begun == 1);
	before = answers - 1;
	/* what a child may not, and a place that nobody has */
	family_request(CHILD, MANAGER_BARRIER, 1, 0, 0);
	CHECK(last_answer == SKERRY_NO_RIGHTS);
	family_request(CHILD, MANAGER_SERVING, 80, 0, 0);
	CHECK(last_answer == SKERRY_NO_RIGHTS && answers == before + 3);
	family_request(CHILD + 1, MANAGER_FORK, 1, 2, 3);
	CHECK(answers == before + 3);
	/* a parent waits until its child ends, and asks again; only for its own */
	family_request(0, MANAGER_WAIT, 0, 1, 0);
	CHECK(answers == before + 4 && last_answer == 0 && last_word[0] == 0);
	family_request(0, MANAGER_WAIT, CHILD_PID, 0, 0);
	family_request(CHILD, MANAGER_WAIT, 0, 0, 0);
	CHECK(answers == before + 5 && last_answer == SKERRY_NOT_FOUND);
	family_request(CHILD, MANAGER_EXIT, 5 << 8, 0, 0);
	CHECK(answers == before + 6 && last_answer == 0 && children_ended == 1);
	family_request(0, MANAGER_WAIT, CHILD_PID, 0, 0);
	CHECK(answers == before + 7 && last_word[0] == CHILD_PID && last_word[1] == 5 << 8);
	/* a child's fault is its end alone */
	const unsigned reported_before = reports;
	message_serve(&fault);
	CHECK(children_ended == 2 && child_status == 11 && reports == reported_before);
	/* it is killed by others and by itself, which nobody answers; the first is not */
	family_request(0, MANAGER_KILL, CHILD_PID, 9, 0);
	CHECK(last_answer == 0 && children_ended == 3 && child_status == 9);
	family_request(0, MANAGER_KILL, CHILD_PID, 65, 0);
	CHECK(last_answer == SKERRY_BAD_ARGUMENT);
	family_request(CHILD, MANAGER_KILL, 1, 9, 0);
	CHECK(last_answer == SKERRY_NO_RIGHTS);
	family_request(CHILD, MANAGER_KILL, (1ull << 32) + 1, 0, 0);
	CHECK(last_answer == SKERRY_NOT_FOUND && children_ended == 3);
	/* a child that has ended is there until its parent has asked for its status, and for it alone */
	for (uint64_t signal = 0; signal <= 9; signal += 9) {
		family_request(0, MANAGER_KILL, CHILD_PID + 1, signal, 0);
		CHECK(last_answer == 0 && children_ended == 3);
		family_request(CHILD, MANAGER_KILL, CHILD_PID + 1, signal, 0);
		CHECK(last_answer == SKERRY_NOT_FOUND && children_ended == 3);
	}
	family_request(CHILD, MANAGER_KILL, CHILD_PID, 9, 0); /* the layer ends it */
	CHECK(last_answer == 0 && last_word[0] == 1 && children_ended == 3);
}

/* Signals wait until they can be taken, end waits, and come with what was said. */
static void signals(void)
{
	child_pid = 0;
	family_request(0, MANAGER_KILL, CHILD_PID, 10, (uint64_t)-2);
	CHECK(last_answer == 0 && last_word[0] == 0 && inbox[CHILD].count == 1 && !interrupts);
	family_request(CHILD, MANAGER_SIGNALS, 0x400000, 32, 0);
	CHECK(last_answer == 0 && last_word[0] == 1 && !interrupts && !inbox[CHILD].drops_children);
	family_request(CHILD, MANAGER_SIGNAL, 0, 0, 0);
	CHECK(last_answer == 0 && last_word[0] == 10 && last_word[1] == (uint64_t)-2);
	family_request(CHILD, MANAGER_SIGNAL, 0, 0, 0);
	CHECK(last_answer == 0 && last_word[0] == 0);
	/* of a group the caller is left out, and told so */
	family_request(CHILD, MANAGER_KILL, 0, 12, 0);
	CHECK(last_answer == 0 && last_word[0] == 1 && inbox[0].count == 1 && inbox[CHILD].count == 0);
	family_request(0, MANAGER_SIGNALS, 0x400000, 32, 1);
	CHECK(inbox[0].drops_children && last_word[0] == 1);
	unsigned before = answers;
	family_request(0, MANAGER_WAIT, 0, 0, 0); /* does not wait while a signal is there */
	CHECK(answers == before + 1 && last_answer == 0 && last_word[0] == 0);
	family_request(0, MANAGER_SIGNAL, 0, 0, 0);
	family_request(0, MANAGER_SIGNAL, 0, 0, 0);
	before = answers;
	family_request(0, MANAGER_WAIT, 0, 0, 0);
	CHECK(answers == before && !interrupts);
	family_request(CHILD, MANAGER_KILL, 1, 15, 0);
	CHECK(answers == before + 2 && interrupts == 1 && inbox[0].signal[0].number == 15);
	family_request(0, MANAGER_KILL, -8, 15, 0);
	CHECK(last_answer == SKERRY_NOT_FOUND);
	family_request(0, MANAGER_GROUP, GROUP_SET, 1, 2);
	CHECK(last_answer == SKERRY_NO_RIGHTS);
	family_request(CHILD, MANAGER_GROUP, GROUP_SET, 1, 2);
	CHECK(last_answer == 0 && last_word[0] == 2 && last_word[1] == 1);
	family_request(CHILD, MANAGER_GROUP, GROUP_SET, 1ull << 32, 2);
	CHECK(last_answer == SKERRY_NOT_FOUND);
}

/* A parent that kills its child has its answer before it is interrupted for the child's end. */
static void killer(void)
{
	const unsigned before = answers, interrupted = interrupts;
	inbox[0] = (struct inbox){ .entry = 0x400000, .size = 32, .count = 1, .signal = { { .number = 17 } } };
	family_request(0, MANAGER_KILL, CHILD_PID, 9, 0);
	CHECK(answers == before + 1 && last_answer == 0 && interrupts == interrupted + 1 && inbox[0].told);
}

/* Who executes another program has no answer, unless that is refused; what cannot be begun ends the process. */
static void executes(void)
{
	unsigned before = answers;
	const unsigned ended = children_ended;
	family_request(CHILD, MANAGER_EXEC, 3, 2, 3);
	CHECK(answers == before + 1 && last_answer == SKERRY_BAD_ARGUMENT);
	before = answers;
	family_request(CHILD, MANAGER_EXEC, 1, 2, 3);
	CHECK(answers == before && children_ended == ended);
	family_request(CHILD, MANAGER_EXEC, 2, 2, 3);
	CHECK(answers == before && children_ended == ended + 1 && child_status == 9);
	request(HOSTILE, MANAGER_EXEC, 0, 0, true);
	CHECK(last_answer == SKERRY_TRUNCATED);
}

/* One that stops has its answer when it is sent SIGCONT; its parent, which waits, asks again each time. */
static void stops_and_alarms(void)
{
	memset(inbox, 0, sizeof(inbox));
	child_pid = 0;
	told = 0;
	unsigned before = answers;
	family_request(0, MANAGER_STOP, 19, 0, 0);
	CHECK(answers == before + 1 && last_answer == SKERRY_NO_RIGHTS);
	family_request(CHILD, MANAGER_STOP, 9, 0, 0);
	CHECK(answers == before + 2 && last_answer == SKERRY_BAD_ARGUMENT && !told);
	family_request(CHILD, MANAGER_STOP, (1ull << 32) + 19, 0, 0);
	CHECK(answers == before + 3 && last_answer == SKERRY_BAD_ARGUMENT);
	family_request(0, MANAGER_WAIT, CHILD_PID, ASK_STOPPED, 0);
	family_request(CHILD, MANAGER_STOP, 19, 0, 0);
	CHECK(answers == before + 4 && stopped_by == 19 && told == 1); /* the parent has its answer */
	family_request(0, MANAGER_KILL, CHILD_PID, 10, 0);
	CHECK(answers == before + 5 && stopped_by == 19);
	family_request(0, MANAGER_KILL, CHILD_PID, 18, 0);
	CHECK(answers == before + 7 && last_answer == 0 && !stopped_by && told == 2);
	family_request(0, MANAGER_ALARM, 5, 0, 0);
	CHECK(last_answer == SKERRY_NOT_FOUND);
	memset(inbox, 0, sizeof(inbox));
	inbox[CHILD].entry = 0x400000;
	family_request(CHILD, MANAGER_ALARM, 7, 0, 0);
	CHECK(last_answer == 0 && last_word[0] == 0 && woken_at == 7);
	before = interrupts;
	serve_wake_up(WAKE_TIMER);
	CHECK(interrupts == before && alarm_of_child == 7);
	serve_wake_up(WAKE_ALARM);
	CHECK(interrupts == before + 1 && inbox[CHILD].signal[0].number == 14 && !woken_at);
}

/* Four words of a driver reach its device, fewer do not. */
static void configuration(void)
{
	const struct message m = { .badge = HONEST + 1, .info = message_info(MANAGER_CONFIG, 0, 4),
	                           .word = { 1000, 200, 30, 4 } };
	holds[reply] = true;
	message_serve(&m);
	CHECK(last_answer == 0 && last_word[0] == 1234);
	request(HONEST, MANAGER_CONFIG, 0, 0, true);
	CHECK(last_answer == SKERRY_TRUNCATED);
	message_serve(&(struct message){ .badge = HONEST + 1, .info = message_info(MANAGER_CONFIG, 0, 3) });
	CHECK(last_answer == SKERRY_TRUNCATED);
}

int main(void)
{
	if (!test_place(ROOT_INFO_VADDR, sizeof(struct root_info)) ||
	    !test_place(ROOT_IPC_BUFFER_VADDR, sizeof(struct ipc_buffer)))
		return SKIPPED;
	tested_map.cluster_count = 1;
	tested_map.application_count = APPLICATIONS;
	for (uint32_t i = 0; i < APPLICATIONS; i++) {
		tested_map.application[i].name[0] = (char)('a' + i);
		tested_map.application[i].barrier = tested_map.application[i].statistics = true;
	}
	service_init(1);
	sent();
	stopped();
	called();
	writes();
	wake_ups();
	last_words();
	says_it_again();
	listens_inside();
	holds[reply] = false;
	families();
	signals();
	killer();
	executes();
	stops_and_alarms();
	configuration();
	return failures != 0;
}
