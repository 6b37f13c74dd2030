# SPDX-License-Identifier: BSD-2-Clause
"""Figures of Elphinstone et al. 2016 that the models start from; cycles, x86 is a 2 GHz Xeon E5-2683 v3."""

SERVICE = 358.0  # 5.1.2: the fit within one socket
BOUNDS = (323.0, 613.0)  # 5.1.2: least and most mean holding time with four cores or more
HOLD_ALONE = 164.0  # 5.1.2: mean holding time of a single core, no line moves
DELAYS = "500..32000"  # Figure 4
CORES = "1..28"  # Figure 4: hardware threads, as cores; the second socket starts at 15
SOCKET = 14

# Table 1: until a core has a line that is in another core's L1. The ARM MPCore beside it needs 17.
LINE_SAME_SOCKET = 115.0
LINE_OTHER_SOCKET = 218.0
