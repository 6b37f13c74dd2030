/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* The endpoint that programs call and that their faults go to. */
extern int service_endpoint;

void service_init(void);
_Noreturn void service_loop(void);
