# SPDX-License-Identifier: BSD-2-Clause
"""The command line: options, help, completion, the manual page, and one file for each command (commands/)."""
