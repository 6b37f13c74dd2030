# SPDX-License-Identifier: BSD-2-Clause
"""Results of runs: figures, counts, distributions, files."""
