# SPDX-License-Identifier: BSD-2-Clause
"""One module for each command of the command line; deploy/cli/main.py lists them."""
