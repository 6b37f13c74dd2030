# SPDX-License-Identifier: BSD-2-Clause
"""Cluster maps: made, checked, written, read."""
