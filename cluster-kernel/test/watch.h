/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what a test was doing when it stands still or dies. */
#pragma once

/*
 * `what` tells on what the program works just now: a line, valid whenever a signal arrives. It is printed, with what
 * each core does, when the program is told to end (SIGTERM), breaks down (SIGABRT, SIGSEGV), or uses processor time
 * for a minute in which no core enters the kernel: then it ends itself.
 */
void watch(const char *(*what)(void));
