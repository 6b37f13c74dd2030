# SPDX-License-Identifier: BSD-2-Clause
"""Comparisons: their runs, verdict, tables and plot."""
