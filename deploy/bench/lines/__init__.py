# SPDX-License-Identifier: BSD-2-Clause
"""Cache lines that cross between cores."""
