# SPDX-License-Identifier: BSD-2-Clause
"""Fuzzers: libFuzzer over records of system calls (cluster-kernel/test/operation.h) and over files, and runs drawn from
seeds."""
