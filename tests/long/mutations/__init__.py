# SPDX-License-Identifier: BSD-2-Clause
"""Mutation testing of the kernel: `build/venv/bin/python -m tests.long.mutations`.

list/*.toml says what is broken, one thing at a time; each must turn a test red. The kernel of a private copy of
HEAD is broken, built, tested (first the tests that caught what is alike, then the hosted tests, then ktest in the
machine, few cores first) until a test fails, and mended. What has a verdict in verdicts.json is not tried again:
an interrupted run goes on where it was. docs/generated/mutations.md is generated from the verdicts.
"""
