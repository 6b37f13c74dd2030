# SPDX-License-Identifier: BSD-2-Clause
"""Loads for locks that adapt."""
