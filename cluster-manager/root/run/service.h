/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* `notification` is bound to the calling thread, which is to serve. */
void service_init(int notification);
/* Answers programs, delivers mail and watches channels for ever. */
_Noreturn void service_loop(void);
