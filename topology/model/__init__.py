# SPDX-License-Identifier: BSD-2-Clause
"""Queueing models of one lock around one kernel: what a cluster of n cores can do. docs/models.md teaches them.

Times are cycles, throughputs kernel entries per cycle. *Delay* is the mean time that a core spends outside the lock
between two entries, *service* the mean time from the lock's hand-over to the next.
"""
