/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "ktest.h"

static void emit_meeting(const struct text *line)
{
	for (size_t i = 0; i < line->length && meeting->length < MEETING_RESULTS; i++)
		meeting->results[meeting->length++] = line->data[i];
}

static _Noreturn void first(void)
{
	struct tally tally = harness_run(output_results);
	if (has_peer()) {
		meeting->turn = TURN_SECOND;
		peer_serve(TURN_SECOND);
		output_results(&(struct text){ .data = meeting->results, .length = meeting->length });
		tally.passed += meeting->second.passed;
		tally.failed += meeting->second.failed;
		tally.skipped += meeting->second.skipped;
	}
	struct text line = LINE;
	text_format(&line, "{\"event\":\"ktest\",\"passed\":%u,\"failed\":%u,\"skipped\":%u,\"counted\":%u}\n",
	            tally.passed, tally.failed, tally.skipped, clock_counts_instructions());
	output_results(&line);
	output_exit(tally.failed ? EXIT_BAD : EXIT_GOOD);
}

static _Noreturn void second(void)
{
	while (meeting->turn != TURN_FIRST)
		sleep_ms(1);
	peer_serve(TURN_FIRST);
	meeting->length = 0;
	meeting->second = harness_run(emit_meeting);
	meeting->turn = TURN_OVER;
	for (;;)
		sleep_ms(1000);
}

_Noreturn void bare_main(void)
{
	tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MAIN_PRIORITY, 0);
	output_init();
	harness_init();
	peer_init();
	memory_reset();
	if (has_devices())
		first();
	second();
}
