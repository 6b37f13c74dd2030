# SPDX-License-Identifier: BSD-2-Clause
"""Figures that others published or measured elsewhere. Nothing here is measured by this program."""

from topology.model.papers import FIGURE_3

FIGURE = (
    "Figure 3 of Elphinstone et al., 'An Evaluation of Coarse-Grained Locking for Multicore Microkernels' (2016): "
    "one-way IPC on one core, "
    "each lock beside none; there clh +3 %, fine +20 %, rtm +17 %, in cycles of a real machine."
)
FIGURE_RATIOS = {lock: published.value for lock, published in FIGURE_3.items()}

SEL4 = "seL4 (master, August 2026), kernel instructions under the same emulator, uncontended"
SEL4_SMP = {
    "call": 297,
    "reply_recv": 333,
    "slow_call": 889,
    "slow_reply_recv": 795,
    "signal": 515,
    "wait": 336,
    "yield": 400,
}
SEL4_ONE_CORE = {"call": 208, "reply_recv": 234}  # built without its lock
