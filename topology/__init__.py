# SPDX-License-Identifier: BSD-2-Clause
"""From a machine to a cluster map: sources of machines, layouts, the map's text and its checks."""
