# SPDX-License-Identifier: BSD-2-Clause
"""Throughput by cores."""
