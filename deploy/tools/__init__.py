# SPDX-License-Identifier: BSD-2-Clause
"""Tools for this project's developers: documents, fuzzing, releases, the test runner."""
