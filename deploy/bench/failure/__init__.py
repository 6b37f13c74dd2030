# SPDX-License-Identifier: BSD-2-Clause
"""Clusters of a machine that runs here are ended under load, and come back: for a benchmark, a demonstration and a
campaign."""
