/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contracts that run. The build chooses one of three levels (CHECK_HEADER, in check/):
 *
 *     off.h      release images, and what benchmarks run: nothing is evaluated, the expressions must compile all the
 *                same; the explorer has few-cores.h in its place
 *     cheap.h    debug images ("+debug"): what takes constant time, and a record of the locks that each core holds
 *     all.h      hosted tests under a sanitizer, and the fuzzer: walks of lists and heaps, too
 *
 * A failed assertion panics the cluster (arch_panic()) with the expression and its place in the source.
 *
 *     kernel_assert(e)        takes constant time; evaluates nothing with an effect
 *     kernel_assert_deep(e)   may walk a whole queue or tree
 *     assert_held(&x->lock)   this core holds the object's lock, or has the kernel for itself
 *     assert_entered()        this core is between kernel_enter() and kernel_exit()
 *     assert_exclusive()      and has the kernel for itself
 *
 * The last three hold before the first kernel entry, since only one core runs then. Where the record is kept, taking a
 * lock twice or out of order panics the cluster, too, with both places.
 */
#pragma once

#include CHECK_HEADER
