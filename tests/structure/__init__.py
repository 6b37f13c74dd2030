# SPDX-License-Identifier: BSD-2-Clause
"""Checks of the source tree and of what the linker makes of it."""
