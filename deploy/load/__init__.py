# SPDX-License-Identifier: BSD-2-Clause
"""The comparison's load, on Skerry and on Linux."""
