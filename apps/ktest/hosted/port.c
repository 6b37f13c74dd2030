/* SPDX-License-Identifier: BSD-2-Clause */
/* The tests' functions of the hosted port; the first test that fails ends them. */
#include <stdio.h>
#include <stdlib.h>
#include "ktest.h"
#include "program.h"

extern const struct test *const __start_ktest_tests[], *const __stop_ktest_tests[];

static const char *name = "before the first test";

int system_call(enum skerry_syscall number, uint64_t cap, uint64_t reply, struct message *m)
{
	uint64_t r[CALL_REGISTERS] = { number, cap, m->info, m->word[0], m->word[1], m->word[2], m->word[3], reply };
	program_call(r);
	*m = (struct message){ .info = r[CALL_INFO], .badge = r[CALL_CPTR],
		               .word = { r[CALL_WORD], r[CALL_WORD + 1], r[CALL_WORD + 2], r[CALL_WORD + 3] } };
	return -(int)r[CALL_RESULT];
}

void system_call_raw(struct registers *registers) { program_call_all((uint64_t *)registers); }
uint64_t read_tsc(void) { return program_time(); }

static _Noreturn void failed(const char *file, int line, const char *what, const char *actual)
{
	fprintf(stderr, "%s: %s:%d: %s%s\n", name, file, line, what, actual);
	abort();
}

_Noreturn void fail(const char *file, int line, const char *what) { failed(file, line, what, ""); }

void check_equal(const char *file, int line, const char *what, uint64_t value, uint64_t expected)
{
	char actual[80];
	snprintf(actual, sizeof(actual), " is %#llx, not %#llx", (unsigned long long)value,
	         (unsigned long long)expected);
	if (value != expected)
		failed(file, line, what, actual);
}

void check_code(const char *file, int line, const char *what, int result, unsigned expected)
{
	char actual[80];
	snprintf(actual, sizeof(actual), " is %d, not %d", -result, (int)expected);
	if (result != -(int)expected)
		failed(file, line, what, actual);
}

void test_pause(void) { }
void test_progress(void) { }

bool has_devices(void) { return true; }
bool has_peer(void) { return false; }
/* its tests are left out */
uint64_t peer_ask(enum peer_request request, uint64_t argument, uint64_t argument2)
{
	abort();
}
bool has_msi(void) { return false; }
bool has_processor(void) { return false; }
bool clock_counts_instructions(void) { return true; } /* it moves on with calls and turns alone */

void worker_entry(void) { abort(); } /* an address */
void program_stay(void) { abort(); } /* the same */
uint64_t program_stays(void) { return (uint64_t)program_stay; }
uint64_t program_entry(void) { return (uint64_t)worker_entry; }
_Noreturn void worker_main(struct worker *worker);
_Noreturn void program_thread(uint64_t argument) { worker_main((struct worker *)argument); }

/* Returns whether the test runs here. Tests that read or set granularity and localities have a run of their own. */
static bool runs(const struct test *test, const char *word)
{
	static const char *const own[] = { "control:", "locality:", "visits:" };
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]) && program_localities(); i++)
		if (!strncmp(test->name, own[i], strlen(own[i])))
			return false;
	return test_possible(test) && strstr(test->name, word);
}

void program_main(const char *word)
{
	check_ok(tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MAIN_PRIORITY, 0));
	tests_init();
	memory_reset();
	if (program_localities())
		check_ok(control_granularity_wait(ROOT_SLOT_CONTROL, GRANULARITY_FINE));
	for (const struct test *const *test = __start_ktest_tests; test < __stop_ktest_tests; test++) {
		if (!runs(*test, word))
			continue;
		name = (*test)->name;
		program_check();
		(*test)->run();
		tests_reset();
		program_check();
		printf("ok %s, %u cores\n", name, cores());
	}
}
