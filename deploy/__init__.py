# SPDX-License-Identifier: BSD-2-Clause
"""The host tool: from a cluster map and a deployment file to images, runs and reports."""
