/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of one cluster. The first core that panics reports, stops the other
 * cores of its cluster by NMI and halts; no other cluster is touched, and the
 * machine is not reset.
 */
#pragma once

struct context;

/* An exception in the kernel itself. */
_Noreturn void panic_exception(const struct context *frame);
