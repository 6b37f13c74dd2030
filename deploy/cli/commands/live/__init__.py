# SPDX-License-Identifier: BSD-2-Clause
"""Commands to a running machine."""
