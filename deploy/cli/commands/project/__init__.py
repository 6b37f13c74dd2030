# SPDX-License-Identifier: BSD-2-Clause
"""Commands about this tree: build, test, prove, explore, fuzz, documents, releases."""
