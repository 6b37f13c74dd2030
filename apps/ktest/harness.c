/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "ktest.h"

extern const struct test *const __start_ktest_tests[], *const __stop_ktest_tests[];

static char why_bytes[LINE_SIZE];
static struct text reason = { .data = why_bytes, .size = sizeof(why_bytes) - 1 }; /* a zero behind it */
static _Atomic bool failed, running;
static intptr_t test_over[5];
static _Atomic uint64_t progress;

static const char *const error_name[] = {
	"OK",
#define NAME(code, name, sentence) #name,
	SKERRY_ERRORS(NAME)
#undef NAME
};

static void text_code(struct text *text, uint64_t code)
{
	if (code < sizeof(error_name) / sizeof(error_name[0]))
		text_format(text, "%s", error_name[code]);
	else
		text_format(text, "0x%lx", code);
}

/* The first failure of a test counts; false for any other. */
static bool begin(const char *file, int line, const char *what)
{
	static atomic_flag taken;
	while (atomic_flag_test_and_set(&taken))
		__builtin_ia32_pause();
	bool first = !failed;
	if (first) {
		reason.length = 0;
		text_format(&reason, "%s:%d: %s", file, line, what);
	}
	atomic_flag_clear(&taken);
	return first;
}

static _Noreturn void end(void)
{
	failed = true;
	if (in_worker())
		worker_stop();
	if (!running) { /* before the first test */
		text_format(&reason, "\n");
		output_console(&reason);
		output_exit(EXIT_BAD);
	}
	__builtin_longjmp((void **)test_over, 1);
}

void test_progress(void) { progress++; }

/* Calls that return are progress of the main thread, however slowly the host lets it make them. */
static void gets_on(void)
{
	if (!in_worker())
		test_progress();
}

_Noreturn void fail(const char *file, int line, const char *what)
{
	begin(file, line, what);
	end();
}

void check_equal(const char *file, int line, const char *what, uint64_t value, uint64_t expected)
{
	if (value == expected) {
		gets_on();
		return;
	}
	if (begin(file, line, what)) {
		text_format(&reason, " is 0x%lx, not 0x%lx", value, expected);
	}
	end();
}

void check_code(const char *file, int line, const char *what, int result, unsigned expected)
{
	if (result == -(int)expected) {
		gets_on();
		return;
	}
	if (begin(file, line, what)) {
		text_format(&reason, " is ");
		text_code(&reason, (uint64_t)-(int64_t)result);
		text_format(&reason, ", not ");
		text_code(&reason, expected);
	}
	end();
}

/*
 * The watchdog: when the main thread gets on with nothing for a minute, as in a call that never returns, it makes that
 * thread fail. It looks every second.
 */
enum { OVERDUE = 60, WATCHDOG_PAGE = 511 };
#define WATCHDOG_IPC ((struct ipc_buffer *)(WINDOW + WATCHDOG_PAGE * 4096ull))
static uint8_t watchdog_stack[4096] __attribute__((aligned(16)));
static _Atomic uint64_t tests_begun; /* 0: nothing to watch */

static _Noreturn void overdue(void) { fail(__FILE_NAME__, __LINE__, "progress within a minute"); }

static _Noreturn void watchdog(uint64_t bell)
{
	uint64_t seen = 0;
	for (unsigned seconds = 0;; seconds++) {
		notification_wait(bell, deadline_ms(1000), 0);
		uint64_t now = tests_begun ? tests_begun + progress : 0;
		if (seen != now)
			seconds = 0;
		seen = now;
		if (!seen || seconds < OVERDUE)
			continue;
		struct thread_registers r;
		tcb_suspend(ROOT_SLOT_TCB);
		tcb_read_registers(WATCHDOG_IPC, ROOT_SLOT_TCB, &r);
		r.rip = (uint64_t)overdue;
		r.rsp = (r.rsp - 256) & ~15ull; /* behind whatever it keeps below its stack pointer */
		r.rsp -= 8;                     /* as after a CALL */
		tcb_write_registers(WATCHDOG_IPC, ROOT_SLOT_TCB, 1, &r);
		seconds = 0;
	}
}

static void watchdog_start(void)
{
	uint64_t tcb = object(OBJECT_TCB, 0), frame = map_page(WATCHDOG_PAGE, RIGHT_READ | RIGHT_WRITE);
	struct thread_registers r = {
		.rip = (uint64_t)watchdog,
		.rsp = (uint64_t)watchdog_stack + sizeof(watchdog_stack) - 8,
		.rdi = object(OBJECT_NOTIFICATION, 0),
	};
	check_ok(tcb_configure(IPC, tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, frame, (uint64_t)WATCHDOG_IPC, 0));
	check_ok(tcb_schedule(IPC, tcb, ROOT_SLOT_TCB, 255, 0));
	check_ok(tcb_write_registers(IPC, tcb, 1, &r));
}

bool has_processor(void) { return true; }

void test_pause(void)
{
	if (failed)
		end();
}

void harness_init(void)
{
	tests_init();
	watchdog_start();
}

/* True when the test ran to its end. In a function of its own: nothing of it lives across the jump back. */
static __attribute__((noinline)) bool run(const struct test *test)
{
	failed = false;
	running = true;
	tests_begun++;
	if (__builtin_setjmp((void **)test_over) == 0) {
		test->run();
		if (failed) /* a worker, after the main thread had finished */
			return false;
		return true;
	}
	return false;
}

static void report(const struct test *test, bool good, void (*emit)(const struct text *line))
{
	struct text line = LINE;
	why_bytes[reason.length] = 0;
	text_format(&line, "%s%s%s%s\n", good ? "ok " : "not ok ", test->name, good ? "" : ": ", good ? "" : why_bytes);
	output_console(&line);

	line.length = 0;
	text_format(&line, "{\"event\":\"test\",\"cluster\":%u,\"name\":", ROOT->cluster);
	text_json_string(&line, test->name);
	text_format(&line, ",\"ok\":%s", good ? "true" : "false,\"why\":");
	if (!good)
		text_json_string(&line, why_bytes);
	text_format(&line, "}\n");
	emit(&line);
}

struct tally harness_run(void (*emit)(const struct text *line))
{
	struct tally tally = { 0 };
	for (const struct test *const *test = __start_ktest_tests; test < __stop_ktest_tests; test++) {
		if (!test_possible(*test)) {
			tally.skipped++;
			continue;
		}
		bool good = run(*test);
		tests_reset();
		report(*test, good, emit);
		*(good ? &tally.passed : &tally.failed) += 1;
	}
	tests_begun = 0;
	return tally;
}
