# SPDX-License-Identifier: BSD-2-Clause
"""Figures of Elphinstone et al. 2016 that the models start from; cycles, x86 is a 2 GHz Xeon E5-2683 v3."""

from typing import NamedTuple


class Latency(NamedTuple):
    """Cycles until a core has a line that is in such a cache: its own, another's in its socket, another socket's."""

    local: int
    same_socket: int | None
    other_socket: int | None


# Table 1: memory and cache access latency.
TABLE_1 = {
    "x86": {
        "L1": Latency(4, 115, 218),
        "L2": Latency(12, 105, 208),
        "L3": Latency(44, 44, 163),
        "memory": Latency(185, 185, 265),
    },
    "arm": {"L1": Latency(4, 17, None), "L2": Latency(26, 28, None), "memory": Latency(140, None, None)},
}

SERVICE = 358.0          # 5.1.2: the fit within one socket
BOUNDS = (323.0, 613.0)  # 5.1.2: least and most mean holding time with four cores or more
HOLD_ALONE = 164.0       # 5.1.2: mean holding time of a single core, no line moves
DELAYS = "500..32000"    # Figure 4
CORES = "1..28"          # Figure 4: hardware threads, as cores; the second socket starts at 15
SOCKET = 14
