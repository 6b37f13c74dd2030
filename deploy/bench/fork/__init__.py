# SPDX-License-Identifier: BSD-2-Clause
"""The cost of fork(): instructions of a program's forks, and of the writes behind them."""
