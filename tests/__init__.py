# SPDX-License-Identifier: BSD-2-Clause
"""The tests and their runner: structure/ of the tree, unit/ of the host tools, boot/ of the whole."""
