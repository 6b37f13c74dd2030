/* SPDX-License-Identifier: BSD-2-Clause */
/* The run's state, shared by run.c (what follows from what), run_report.c (what clusters say), and sample.c, which reads it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "map.h"

enum run_phase { RUN_BEFORE, RUN_GOING, RUN_FINISHING, RUN_OVER };
enum run_application_state { APPLICATION_WAITING, APPLICATION_STARTED, APPLICATION_ENDED };

struct run {
	enum run_phase phase;
	uint32_t status;
	const char *why;   /* it failed, or ended early; null when it did neither */
	uint64_t deadline; /* TSC: clusters have sent their last statistics by then or will not */
	bool switch_off;   /* at the end, whatever the map says */
	uint32_t released; /* the last barrier that opened */
	struct run_application {
		enum run_application_state state;
		bool serving;
		uint32_t arrived; /* the last barrier it came to */
		uint32_t status;
	} application[MAP_MAX_APPLICATIONS];
	struct {
		bool finished; /* its last report has come */
		char kernel[BOOT_NAME_SIZE + 1];
	} cluster[MAP_MAX_CLUSTERS]; /* in the map's order */
};

extern struct run run;

void run_step(void);
void run_finish(uint32_t status, const char *why);
/* It was killed, could not be started, or its cluster is gone. `why` is a lasting string. */
void run_ended(uint32_t application, const char *why);
void run_exited(uint32_t application, uint32_t status);
void run_arrived(uint32_t application, uint32_t barrier);
void run_serving(uint32_t application);
