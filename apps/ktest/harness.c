/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "ktest.h"
#include "output.h"

extern const struct test *const __start_ktest_tests[], *const __stop_ktest_tests[];

static struct text why;
static _Atomic bool failed, running;
static intptr_t test_over[5];
static uint64_t never; /* a notification that nobody signals */

static const char *const error_name[] = {
	"OK",
#define NAME(code, name, sentence) #name,
	SKERRY_ERRORS(NAME)
#undef NAME
};

static void text_code(struct text *text, uint64_t code)
{
	if (code < sizeof(error_name) / sizeof(error_name[0]))
		text_string(text, error_name[code]);
	else
		text_hex(text, code);
}

/* The first failure of a test counts; false for any other. */
static bool begin(const char *file, int line, const char *what)
{
	static atomic_flag taken;
	while (atomic_flag_test_and_set(&taken))
		__builtin_ia32_pause();
	bool first = !failed;
	if (first) {
		why.length = 0;
		text_string(&why, file);
		text_put(&why, ':');
		text_number(&why, (uint64_t)line);
		text_string(&why, ": ");
		text_string(&why, what);
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
		text_put(&why, '\n');
		output_console(&why);
		output_exit(EXIT_BAD);
	}
	__builtin_longjmp((void **)test_over, 1);
}

_Noreturn void fail(const char *file, int line, const char *what)
{
	begin(file, line, what);
	end();
}

void check_equal(const char *file, int line, const char *what, uint64_t value, uint64_t expected)
{
	if (value == expected)
		return;
	if (begin(file, line, what)) {
		text_string(&why, " is ");
		text_hex(&why, value);
		text_string(&why, ", not ");
		text_hex(&why, expected);
	}
	end();
}

void check_code(const char *file, int line, const char *what, int result, unsigned expected)
{
	if (result == -(int)expected)
		return;
	if (begin(file, line, what)) {
		text_string(&why, " is ");
		text_code(&why, (uint64_t)-(int64_t)result);
		text_string(&why, ", not ");
		text_code(&why, expected);
	}
	end();
}

bool passed(uint64_t deadline) { return read_tsc() >= deadline; }

void pause_main(void)
{
	if (failed)
		end();
	notification_wait(never, read_tsc() + ROOT->tsc_hz / 10000, 0);
}

void sleep_ms(unsigned ms)
{
	uint64_t deadline = deadline_ms(ms);
	while (!passed(deadline))
		notification_wait(never, deadline, 0);
}

void spin_ms(unsigned ms)
{
	uint64_t deadline = deadline_ms(ms);
	while (!passed(deadline))
		__builtin_ia32_pause();
}

void harness_init(void)
{
	memory_init();
	worker_init();
	never = slot();
	untyped_retype(IPC, test_memory(), OBJECT_NOTIFICATION, 0, ROOT_SLOT_CNODE, never, 1);
}

/* True when the test ran to its end. In a function of its own: nothing of it lives across the jump back. */
static __attribute__((noinline)) bool run(const struct test *test)
{
	failed = false;
	running = true;
	if (__builtin_setjmp((void **)test_over) == 0) {
		test->run();
		if (failed) /* a worker, after the main thread had finished */
			return false;
		return true;
	}
	return false;
}

static bool possible(const struct test *test)
{
	static bool (*const has[])(void) = { has_devices, has_peer, has_gigabyte, has_msi };
	for (unsigned i = 0; i < sizeof(has) / sizeof(has[0]); i++)
		if ((test->needs >> i & 1) && !has[i]())
			return false;
	return cores() >= test->cores;
}

static void report(const struct test *test, bool good, void (*emit)(const struct text *line))
{
	struct text line = { 0 };
	text_string(&line, good ? "ok " : "not ok ");
	text_string(&line, test->name);
	if (!good) {
		text_string(&line, ": ");
		text_string(&line, why.bytes);
	}
	text_put(&line, '\n');
	output_console(&line);

	line = (struct text){ 0 };
	text_string(&line, "{\"event\":\"test\",\"cluster\":");
	text_number(&line, ROOT->cluster);
	text_string(&line, ",\"name\":");
	text_json(&line, test->name);
	text_string(&line, good ? ",\"ok\":true" : ",\"ok\":false,\"why\":");
	if (!good)
		text_json(&line, why.bytes);
	text_string(&line, "}\n");
	emit(&line);
}

struct tally harness_run(void (*emit)(const struct text *line))
{
	struct tally tally = { 0 };
	for (const struct test *const *test = __start_ktest_tests; test < __stop_ktest_tests; test++) {
		if (!possible(*test)) {
			tally.skipped++;
			continue;
		}
		bool good = run(*test);
		worker_reset();
		memory_reset();
		report(*test, good, emit);
		*(good ? &tally.passed : &tally.failed) += 1;
	}
	return tally;
}
