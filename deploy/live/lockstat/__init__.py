# SPDX-License-Identifier: BSD-2-Clause
"""Counters of kernels (cluster-kernel/include/skerry/stat.h): read from a running machine or from what a run wrote.

record    one core's record, or the sum of several
live      the records of a machine that runs, through its emulator's monitor
source    snapshots: of a run that is over, or of one that is not
check     whether what was counted adds up
table     the tables of the Mach study, of a snapshot
"""
