# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns that take longer than a test may."""
