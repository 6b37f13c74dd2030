# SPDX-License-Identifier: BSD-2-Clause
"""Machines: their parts, where they are read from, and emulated ones."""
