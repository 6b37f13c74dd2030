# SPDX-License-Identifier: BSD-2-Clause
"""Lock statistics of Mach-like loads."""
