# SPDX-License-Identifier: BSD-2-Clause
"""Turns a fresh Debian 12 or 13 and a clean clone into a built tree.

bootstrap.py and what it imports run on the system's Python alone, before the virtual environment exists.
"""
