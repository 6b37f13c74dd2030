# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's fuzzer: libFuzzer over records of system calls (cluster-kernel/test/operation.h)."""
