# SPDX-License-Identifier: BSD-2-Clause
"""The test runner: Meson tests and pytest side by side."""
