# SPDX-License-Identifier: BSD-2-Clause
"""Orders to a running machine, and views of it."""
