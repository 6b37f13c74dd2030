# SPDX-License-Identifier: BSD-2-Clause
"""The papers' Redis experiment."""
