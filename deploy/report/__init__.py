# SPDX-License-Identifier: BSD-2-Clause
"""Results files as one self-contained HTML page: load reads, group makes means of repeats, page puts it together."""
