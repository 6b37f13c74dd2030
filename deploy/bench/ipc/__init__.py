# SPDX-License-Identifier: BSD-2-Clause
"""IPC paths, counted or timed."""
