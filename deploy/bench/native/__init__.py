# SPDX-License-Identifier: BSD-2-Clause
"""The kernel as a library on this host's cores."""
