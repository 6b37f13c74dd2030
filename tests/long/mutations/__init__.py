# SPDX-License-Identifier: BSD-2-Clause
"""Mutation testing of the kernel: `build/venv/bin/python -m tests.long.mutations`.

list/*.toml says what is broken, one thing at a time; each must turn a test red. The kernel of a private copy of
HEAD is broken, built, tested (the hosted tests first, then ktest in the machine, few cores first) until a test
fails, and mended. What has a verdict is not tried again: an interrupted run goes on where it was. When all have
one, docs/mutations.md is written.
"""
