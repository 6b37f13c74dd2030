# SPDX-License-Identifier: BSD-2-Clause
"""Commands that measure, predict and report."""
