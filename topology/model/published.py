# SPDX-License-Identifier: BSD-2-Clause
"""Figures of Elphinstone et al. 2016 that the models start from; cycles, x86 is a 2 GHz Xeon E5-2683 v3."""

from topology.model.papers import (
    HOLDING_LEAST,
    HOLDING_MOST,
    HOLDING_ONE_CORE,
    SCALES_MACHINE,
    SCALES_SOCKET,
    SERVICE_TIME,
    TABLE_1,
)

SERVICE = SERVICE_TIME.value
BOUNDS = (HOLDING_LEAST.value, HOLDING_MOST.value)
HOLD_ALONE = HOLDING_ONE_CORE.value
DELAYS = "500..32000"  # Figure 4
CORES = "1..28"  # Figure 4: hardware threads, as cores; the second socket starts at 15
SOCKET = 14
SPANS_SOCKET = SCALES_SOCKET.value
SPANS_MACHINE = SCALES_MACHINE.value

# Until a core has a line that is in another core's L1. The ARM MPCore beside it needs 17.
LINE_SAME_SOCKET = TABLE_1["L1", "intra-socket"].value
LINE_OTHER_SOCKET = TABLE_1["L1", "inter-socket"].value
