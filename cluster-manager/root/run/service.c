/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers the requests of programs to their manager (process.h), in a loop. */
#include <string.h>
#include <skerry/require.h>
#include "channel.h"
#include "console.h"
#include "deliver.h"
#include "device.h"
#include "exec.h"
#include "family.h"
#include "fault.h"
#include "json.h"
#include "life.h"
#include "map.h"
#include "memory.h"
#include "memory-moves.h"
#include "move.h"
#include "debug-orders.h"
#include "orders.h"
#include "power.h"
#include "process.h"
#include "report.h"
#include "request.h"
#include "cluster-restart.h"
#include "root.h"
#include "run.h"
#include "sample.h"
#include "service.h"
#include "signs.h"
#include "timer.h"
#include "waiters.h"
#include "watch.h"
#include "writers.h"

enum { REQUESTS_SHARE = 8 }; /* served after a wake-up before the notification is looked at again */

static int service_endpoint; /* that programs call and that their faults go to */
static int notification;     /* bound to the thread that serves */

static int reply;

/* The request's text, copied where invocations do not overwrite it. */
static bool take_text(struct request *r)
{
	static char text[MANAGER_BYTES + 1];
	unsigned words = message_words(r->m.info);
	uint64_t length = r->m.word[0];
	if (words < 1 || length > MANAGER_BYTES || words < 1 + (length + 7) / 8)
		return false;
	for (unsigned i = 1; i < words; i++) {
		uint64_t word = i < MESSAGE_REGISTERS ? r->m.word[i] : IPC->words[i];
		__builtin_memcpy(text + 8 * (i - 1), &word, 8);
	}
	text[length] = 0;
	r->text = text;
	r->length = length;
	return true;
}

/*
 * The writer is answered when its text has been passed on; at once if the text is
 * kept and there is no place to let the writer wait. WAITERS_EACH texts are kept at most.
 */
static int write(struct request *r, enum manager_request label)
{
	int kept = writers_add(r->application, label, r->text, r->length);
	if (kept > 0)
		request_keep(r, WAIT_CONSOLE, r->application);
	return kept < 0 ? kept : 0;
}

static int write_result(struct request *r)
{
	while (r->length && (r->text[r->length - 1] == '\n' || r->text[r->length - 1] == ' '))
		r->length--;
	if (!json_is_object(r->text, r->length))
		return -SKERRY_BAD_ARGUMENT;
	return write(r, MANAGER_RESULT);
}

static int request_barrier(struct request *r)
{
	uint64_t number = r->m.word[0];
	if (message_words(r->m.info) < 1 || number == 0 || number > 1000000 ||
	    !map->application[r->application].barrier)
		return -SKERRY_BAD_ARGUMENT;
	if (number <= barrier_released())
		return 0;
	int error = request_keep(r, WAIT_BARRIER, (uint32_t)number);
	if (error)
		return error;
	life_arrived(r->application, (uint32_t)number);
	report_about(REPORT_ARRIVED, r->application, (uint32_t)number);
	return 0;
}

static int request_await(struct request *r)
{
	int awaited = map_find(map, r->text, r->length);
	if (awaited < 0)
		return -SKERRY_NOT_FOUND;
	switch (application_fate((uint32_t)awaited)) {
	case FATE_SERVING:
		return 0;
	case FATE_GONE:
		return -SKERRY_PEER_DOWN;
	default:
		return request_keep(r, WAIT_SERVING, (uint32_t)awaited);
	}
}

static int request_sample(struct request *r)
{
	int error = sample_ask();
	return error > 0 ? request_keep(r, WAIT_SAMPLE, 0) : error;
}

/* The record's words, as a message. */
static int read_sample(const struct request *r, struct message *answer)
{
	const void *record;
	size_t size;
	if (message_words(r->m.info) < 3)
		return -SKERRY_TRUNCATED;
	int error = sample_read(r->m.word[0], r->m.word[1], r->m.word[2], &record, &size);
	if (error)
		return error;
	require(size <= sizeof(IPC->words) && size >= sizeof(answer->word) && size % 8 == 0);
	memcpy(IPC->words, record, size);
	memcpy(answer->word, record, sizeof(answer->word));
	answer->info = message_info(0, 0, (unsigned)(size / 8));
	return 0;
}

static int change_rights(const struct request *r, struct message *answer)
{
	if (message_words(r->m.info) < 3)
		return -SKERRY_TRUNCATED;
	int64_t done = family_protect(r->application, r->place, r->m.word[0], r->m.word[1], r->m.word[2]);
	if (done < 0)
		return (int)done;
	answer->word[0] = (uint64_t)done;
	answer->info = message_info(0, 0, 1);
	return 0;
}

/* --- families --- */

static int request_fork(struct request *r, struct message *answer)
{
	uint32_t pid;
	if (message_words(r->m.info) < 3)
		return -SKERRY_TRUNCATED;
	const struct fork_start start = { r->m.word[0], r->m.word[1], r->m.word[2] };
	int to = family_fork(r->application, r->place, &start, &pid);
	if (to < 0)
		return to;
	r->begins = (uint32_t)to;
	answer->word[0] = pid;
	answer->info = message_info(0, 0, 1);
	return 0;
}

static int request_wait(struct request *r, struct message *answer)
{
	struct ended ended;
	if (message_words(r->m.info) < 3)
		return -SKERRY_TRUNCATED;
	if (r->m.word[0] > UINT32_MAX || r->m.word[2] > UINT32_MAX)
		return -SKERRY_NOT_FOUND;
	const unsigned how = (unsigned)r->m.word[1];
	int error = family_reap(r->application, r->place, (uint32_t)r->m.word[0], (uint32_t)r->m.word[2], how, &ended);
	if (error)
		return error;
	const struct inbox *inbox = family_inbox(r->application, r->place);
	if (!ended.pid && !(how & ASK_NO_WAIT) && !(inbox && inbox->entry && inbox->count))
		return request_keep(r, WAIT_CHILD, wait_key(r->application, r->place));
	answer->word[0] = ended.pid;
	answer->word[1] = ended.status;
	answer->info = message_info(0, 0, 2);
	return 0;
}

/*
 * The caller has killed a process. Hazard: a call that is made again. A caller that is interrupted before it has its
 * answer calls once more, and the process is not there any more.
 */
static void child_killed(struct request *r, int parent)
{
	if (parent != (int)r->place) {
		child_changed(r->application, parent);
		return;
	}
	waiters_wake(WAIT_CHILD, wait_key(r->application, r->place), 0);
	r->signalled = true;
}

static int request_config(struct request *r, struct message *answer)
{
	if (message_words(r->m.info) < 4)
		return -SKERRY_TRUNCATED;
	answer->info = message_info(0, 0, 1);
	return device_config(r->application, r->m.word, &answer->word[0]);
}

/* A signal for another process, or the end of one. */
static int send_to(struct request *r, uint32_t to, uint32_t number)
{
	enum { KILL = 9 };
	if (number == KILL) {
		if (to == 0)
			return -SKERRY_NO_RIGHTS;
		child_killed(r, family_ended(r->application, to, KILL));
		return 0;
	}
	const struct sent_signal signal = { .number = number, .code = (int32_t)r->m.word[2], .value = r->m.word[3] };
	member_clears(r->application, to, number);
	int error = family_send(r->application, r->place, to, signal);
	if (!error)
		member_interrupt(r->application, to);
	return error;
}

static int request_kill(struct request *r, struct message *answer)
{
	enum { SIGNALS = 64 };
	if (message_words(r->m.info) < MESSAGE_REGISTERS)
		return -SKERRY_TRUNCATED;
	const int64_t target = (int64_t)r->m.word[0];
	if (target > UINT32_MAX || target < -(int64_t)UINT32_MAX)
		return -SKERRY_NOT_FOUND;
	if (r->m.word[1] > SIGNALS)
		return -SKERRY_BAD_ARGUMENT;
	const uint32_t named = family_named(r->application, r->place, target);
	if (!named && !(target > 0 && family_has_ended(r->application, r->place, (uint32_t)target)))
		return -SKERRY_NOT_FOUND;
	int error = 0;
	for (uint32_t to = 0; r->m.word[1] && to < PROCESS_MEMBERS; to++)
		if (named >> to & 1 && to != r->place) {
			int failed = send_to(r, to, (uint32_t)r->m.word[1]);
			error = error ? error : failed;
		}
	answer->word[0] = named >> r->place & 1;
	answer->info = message_info(0, 0, 1);
	return target > 0 || error == -SKERRY_BUSY ? error : 0;
}

static int request_signals(const struct request *r, struct message *answer)
{
	struct inbox *inbox = family_inbox(r->application, r->place);
	if (message_words(r->m.info) < 3)
		return -SKERRY_TRUNCATED;
	if (!inbox)
		return -SKERRY_NOT_FOUND;
	inbox->entry = r->m.word[0];
	inbox->size = r->m.word[1];
	inbox->drops_children = r->m.word[2] & 1;
	inbox->drops_stops = r->m.word[2] & 2;
	answer->word[0] = inbox->count;
	answer->info = message_info(0, 0, 1);
	return 0;
}

static int request_signal(const struct request *r, struct message *answer)
{
	struct inbox *inbox = family_inbox(r->application, r->place);
	struct sent_signal signal = { 0 };
	if (!inbox)
		return -SKERRY_NOT_FOUND;
	inbox_take(inbox, &signal);
	answer->word[0] = signal.number;
	answer->word[1] = (uint64_t)(int64_t)signal.code;
	answer->word[2] = signal.sender;
	answer->word[3] = signal.value;
	answer->info = message_info(0, 0, MESSAGE_REGISTERS);
	return 0;
}

static int request_group(const struct request *r, struct message *answer)
{
	struct member_group in;
	if (message_words(r->m.info) < 3)
		return -SKERRY_TRUNCATED;
	if (r->m.word[1] > UINT32_MAX || r->m.word[2] > UINT32_MAX)
		return -SKERRY_NOT_FOUND;
	int error = family_group(r->application, r->place, (enum manager_group)r->m.word[0], (uint32_t)r->m.word[1],
	                         (uint32_t)r->m.word[2], &in);
	if (error)
		return error;
	answer->word[0] = in.group;
	answer->word[1] = in.session;
	answer->info = message_info(0, 0, 2);
	return 0;
}

/* The thread's first touch of memory that its program was promised, or a write to what it shares; it goes on. */
static bool is_touch(uint32_t application, uint32_t place, const struct message *m)
{
	enum { PRESENT = 1, WRITE = 2, FETCH = 16 }; /* Intel SDM volume 3, 4.7 */
	const unsigned needed = m->word[3] & FETCH ? RIGHT_EXECUTE : m->word[3] & WRITE ? RIGHT_WRITE : RIGHT_READ;
	return message_label(m->info) == FAULT_PAGE && message_words(m->info) == MESSAGE_REGISTERS &&
	       family_touches(application, place, m->word[2], needed, m->word[3] & PRESENT);
}

static void handle_fault(uint32_t application, uint32_t place, const struct message *m)
{
	if (place) {
		child_changed(application, family_faulted(application, place, message_label(m->info), m->word[3],
		                                        m->word[0]));
		return;
	}
	const struct report_fault body = fault_of(application, m);
	life_end(application);
	life_ended(application, LIFE_KILLED, 0);
	report(REPORT_FAULTED, &body, sizeof(body));
}

static void request_end(struct request *r)
{
	r->answered = true;
	if (r->place) {
		child_changed(r->application, family_ended(r->application, r->place, (uint32_t)r->m.word[0]));
		return;
	}
	life_end(r->application);
	life_ended(r->application, LIFE_EXITED, (uint32_t)r->m.word[0]);
	report_about(REPORT_EXITED, r->application, (uint32_t)r->m.word[0]);
}

/* The caller's thread begins the other program, or is gone: it has no answer. */
static int request_exec(struct request *r)
{
	enum { KILL = 9, KILLED = 128 + KILL /* as a shell says it */ };
	if (message_words(r->m.info) < MESSAGE_REGISTERS)
		return -SKERRY_TRUNCATED;
	const struct exec_order order = { r->m.word[0], r->m.word[1], r->m.word[2], r->m.word[3] };
	int error = family_exec(r->application, r->place, &order);
	if (error < 0)
		return error;
	waiters_wake(WAIT_CHILD, wait_key(r->application, r->place), 0);
	r->answered = true;
	r->m.word[0] = r->place ? KILL : KILLED;
	if (error)
		request_end(r);
	return 0;
}

/* Barriers, and whether it serves, are the business of a family's first process. */
static bool may_child(uint64_t label)
{
	return label == MANAGER_WRITE || label == MANAGER_EXIT || label == MANAGER_RESULT || label == MANAGER_LOOKUP ||
	       label == MANAGER_PROTECT || (label >= MANAGER_FORK && label <= MANAGER_ALARM);
}

static int request_handle(struct request *r, struct message *answer)
{
	uint64_t label = message_label(r->m.info);
	if ((label == MANAGER_WRITE || label == MANAGER_RESULT || label == MANAGER_LOOKUP || label == MANAGER_AWAIT) &&
	    !take_text(r))
		return -SKERRY_TRUNCATED;
	if (r->place && !may_child(label))
		return -SKERRY_NO_RIGHTS;
	switch (label) {
	case MANAGER_WRITE:
		return write(r, MANAGER_WRITE);
	case MANAGER_EXIT:
		request_end(r);
		return 0;
	case MANAGER_RESULT:
		return write_result(r);
	case MANAGER_BARRIER:
		return request_barrier(r);
	case MANAGER_LOOKUP: {
		int named = map_find(map, r->text, r->length);
		if (named < 0)
			return -SKERRY_NOT_FOUND;
		answer->word[1] = map->application[named].ipv4;
		answer->info = message_info(0, 0, 2);
		return 0;
	}
	case MANAGER_SERVING:
		life_serving(r->application, (uint16_t)r->m.word[0], (uint32_t)(r->m.word[0] >> 32));
		return 0;
	case MANAGER_AWAIT:
		return request_await(r);
	case MANAGER_PROTECT:
		return change_rights(r, answer);
	case MANAGER_FORK:
		return request_fork(r, answer);
	case MANAGER_WAIT:
		return request_wait(r, answer);
	case MANAGER_KILL:
		return request_kill(r, answer);
	case MANAGER_SIGNALS:
		return request_signals(r, answer);
	case MANAGER_SIGNAL:
		return request_signal(r, answer);
	case MANAGER_GROUP:
		return request_group(r, answer);
	case MANAGER_EXEC:
		return request_exec(r);
	case MANAGER_STOP:
		return request_stop(r);
	case MANAGER_ALARM:
		return request_alarm(r, answer);
	case MANAGER_CONFIG:
		return request_config(r, answer);
	case MANAGER_SAMPLE:
	case MANAGER_SAMPLE_READ:
		if (!map->application[r->application].statistics || !is_primary())
			return -SKERRY_NO_RIGHTS;
		return label == MANAGER_SAMPLE ? request_sample(r) : read_sample(r, answer);
	default:
		return -SKERRY_BAD_LABEL;
	}
}

static void power_button(void)
{
	if (is_primary()) {
		run_happened(RUN_EVENT_BUTTON, 0, 0);
	} else {
		console_print("the power button of machine %u was pressed", map_cluster(map, ROOT->cluster)->machine);
		mail_then_power_off(0);
	}
}

/* A call or a fault of a program of ours. */
static void message_serve(const struct message *m)
{
	const uint32_t number = m->badge & BADGE_PART, place = m->badge >> BADGE_PLACE & BADGE_PART;
	if (number == 0 || number > map->application_count || !family_runs(number - 1, place))
		return;
	struct request r = { .application = number - 1, .place = place, .m = *m, .reply = reply };
	struct message answer = { 0 };
	if (m->badge & BADGE_FAULT && is_touch(r.application, place, m)) {
		ipc_reply((uint64_t)reply, &answer);
		return;
	}
	if (m->badge & BADGE_FAULT) {
		handle_fault(r.application, place, m);
		return; /* the thread is suspended, no other holds the reply object */
	}
	if (!reply_holds(reply))
		return; /* sent, not called: the sender does not wait, so nothing is kept for an answer */
	int error = request_handle(&r, &answer);
	reply = r.reply;
	if (r.answered)
		return;
	if (error)
		answer.info = message_info((uint64_t)-error, 0, 0);
	ipc_reply((uint64_t)reply, &answer);
	if (r.begins)
		family_begin(r.application, r.begins);
	if (r.signalled)
		member_interrupt(r.application, r.place);
}

static void take_reply(void)
{
	reply = reply_take();
	if (reply < 0)
		manager_panic("no memory for a reply object (error %d)", -reply);
}

void service_init(int bound_notification)
{
	notification = bound_notification;
	service_endpoint = memory_object(OBJECT_ENDPOINT, 0);
	if (service_endpoint < 0)
		manager_panic("no endpoint (error %d)", -service_endpoint);
	processes_init(service_endpoint);
	waiters_init();
	take_reply();
}

/* Returns whether peers have more. */
static bool serve_peers(void)
{
	bool more = channels_work();
	if (is_primary()) {
		run_tick();
		sample_tick();
	}
	return more;
}

/* The same, after a wake-up: bits WAKE_*. */
static bool serve_wake_up(uint64_t bits)
{
	bool more = serve_peers();
	if (bits & WAKE_ALARM)
		alarms_tick();
	if (bits & WAKE_CHANNEL && watch_words_are_said())
		timer_hurry();
	if (bits & (WAKE_TIMER | WAKE_OUTPUT))
		writers_pass_on();
	if (bits & WAKE_TIMER) {
		channels_tick();
		watch_report();
		cluster_restart_tick();
		debug_orders_tick();
		moves_tick();
		memory_moves_tick();
		if (power_button_pressed())
			power_button();
	}
	return more;
}

/*
 * A pending notification ends a receive before a waiting request does, so peers
 * that ring without end would starve the programs. Serves requests with the
 * notification unbound; it stays pending meanwhile.
 */
static void serve_programs(void)
{
	tcb_unbind(ROOT_SLOT_TCB);
	for (unsigned i = 0; i < REQUESTS_SHARE; i++) {
		struct message m = { 0 };
		if (ipc_nb_receive((uint64_t)service_endpoint, (uint64_t)reply, &m))
			break;
		message_serve(&m);
	}
	if (tcb_bind(IPC, ROOT_SLOT_TCB, (uint64_t)notification))
		manager_panic("the notification cannot be bound again");
}

_Noreturn void service_loop(void)
{
	bool more = true; /* the mailbox has more, or peers have, for which no doorbell rings again */
	signs_begin();
	for (;;) {
		struct message m = { 0 };
		sign_pass();
		int error = more ? ipc_nb_receive((uint64_t)service_endpoint, (uint64_t)reply, &m) :
				   ipc_receive((uint64_t)service_endpoint, (uint64_t)reply, &m);
		if (error == -SKERRY_BUSY) { /* it still holds a caller that could not be suspended */
			console_print("a reply object is lost");
			take_reply();
		} else if (error == -SKERRY_WOULD_BLOCK) {
			more = serve_peers();
		} else if (error) {
			manager_panic("receive failed (error %d)", -error);
		} else if (message_label(m.info) == RECV_NOTIFICATION) {
			more = serve_wake_up(m.badge);
			serve_programs();
		} else {
			message_serve(&m);
			if (more)
				more = serve_peers();
		}
		uint64_t woken = waiters_woken();
		if (woken)
			more = serve_wake_up(woken);
		more |= mail_deliver(); /* last: all of the above may have put something into the mailbox */
	}
}
