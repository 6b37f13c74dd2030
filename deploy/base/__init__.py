# SPDX-License-Identifier: BSD-2-Clause
"""What every part may use: errors, paths, files, processes, timeouts, the terminal. It knows no other part."""
