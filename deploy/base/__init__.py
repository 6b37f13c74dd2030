# SPDX-License-Identifier: BSD-2-Clause
"""Parts that every other part may use: errors, paths, files, processes, timeouts, the terminal. It imports no other
part."""
