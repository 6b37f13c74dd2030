# SPDX-License-Identifier: BSD-2-Clause
"""Commands that describe, pack and boot one machine."""
