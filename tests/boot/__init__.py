# SPDX-License-Identifier: BSD-2-Clause
"""Tests that boot the whole and talk to it from outside."""
