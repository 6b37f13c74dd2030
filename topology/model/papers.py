# SPDX-License-Identifier: BSD-2-Clause
"""Published figures: each number with the place where it stands in its paper. Nothing here is measured by this program.

A figure of which the text states no points is here only by what the text says of it: a fit, a bound or a ratio.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ELPHINSTONE, PETERS, BOYD_WICKIZER, UEMURA = "Elphinstone 2016", "Peters 2015", "Boyd-Wickizer 2012 (slides)", "Uemura"
UHLIG = "Uhlig 2007"


@dataclass(frozen=True)
class Published:
    value: float
    source: str  # paper, section, figure or table


@dataclass(frozen=True)
class Between:
    """The text states a range, or what cannot be less or more."""

    low: float
    high: float
    source: str


# ---- Elphinstone et al. 2016, x86; cycles ----

SERVICE_TIME = Published(358.0, f"{ELPHINSTONE}, 5.1.2: least squares, up to 14 cores")
HOLDING_LEAST = Published(323.0, f"{ELPHINSTONE}, 5.1.2: least mean holding time with four cores or more")
HOLDING_MOST = Published(613.0, f"{ELPHINSTONE}, 5.1.2: most mean holding time with four cores or more")
HOLDING_ONE_CORE = Published(164.0, f"{ELPHINSTONE}, 5.1.2: mean holding time of one core, no line moves")
SCALES_SOCKET = Published(4000.0, f"{ELPHINSTONE}, 5.1.3: mean delay with which a workload scales to 14 cores")
SCALES_MACHINE = Published(16000.0, f"{ELPHINSTONE}, 5.1.3: mean delay with which a workload scales to 28 cores")

_TABLE_1 = {
    "L1": (4.0, 115.0, 218.0),
    "L2": (12.0, 105.0, 208.0),
    "L3": (44.0, 44.0, 163.0),
    "memory": (185.0, 185.0, 265.0),
}
LEVELS, DISTANCES = tuple(_TABLE_1), ("local", "intra-socket", "inter-socket")
TABLE_1: Mapping[tuple[str, str], Published] = {
    (level, where): Published(value, f"{ELPHINSTONE}, Table 1: {level}, {where}")
    for level, row in _TABLE_1.items()
    for where, value in zip(DISTANCES, row)
}

FIGURE_3: Mapping[str, Published] = {  # one-way IPC over the same without a lock
    "clh": Published(1.03, f"{ELPHINSTONE}, 5.1.1, Figure 3a"),
    "fine": Published(1.20, f"{ELPHINSTONE}, 5.1.1, Figure 3a"),
    "rtm": Published(1.17, f"{ELPHINSTONE}, 5.1.1, Figure 3a"),
}
FIGURE_4_PEAK = Published(7.0, f"{ELPHINSTONE}, 5.2.2: where Figure 4's curve of 1,000 cycles peaks")
FIGURE_5_FINE = Published(28.0, f"{ELPHINSTONE}, 5.1.2 and 5.1.4, Figure 5a: fine-grained locks scale perfectly")
FIGURE_5_RTM = Published(1.0, f"{ELPHINSTONE}, 5.1.4, Figure 5a: rtm behaves identically to fine")

# Redis: Figure 7
REDIS_CORES = 5  # the case of which the text has numbers
REDIS_FINE_OVER_RTM = Between(0.60, 0.75, f"{ELPHINSTONE}, 5.2.2, Figure 7: fine over rtm")
REDIS_FINE_OVER_CLH = Published(0.75, f"{ELPHINSTONE}, 7: fine over one lock, until that reaches its knee")
REDIS_CLH_OVER_RTM = Published(1.0, f"{ELPHINSTONE}, 5.2.2, Figure 7: one lock keeps up until 5 cores")
REDIS_CLH_MORE_CORES = Between(0.0, 1.0, f"{ELPHINSTONE}, 5.2.2, Figure 7: beyond 5 cores throughput drops")
REDIS_DELAY_NETWORK = Published(800.0, f"{ELPHINSTONE}, 5.2.2: mean delay on core 0, five cores")
REDIS_DELAY_OTHERS = Published(1600.0, f"{ELPHINSTONE}, 5.2.2: mean delay on the other cores, five cores")

# ---- Peters et al. 2015, x86: a Core i7-4770, four Haswell cores of 3.4 GHz ----

PETERS_FIGURE_1: Mapping[str, Published] = {  # an IPC there and back over the same without a lock; "about"
    "clh": Published(1.10, f"{PETERS}, 2.1, Figure 1 (about)"),
    "fine": Published(1.30, f"{PETERS}, 2.1, Figure 1 (about)"),
    "rtm": Published(1.30, f"{PETERS}, 2.1, Figure 1 (about)"),
}
PETERS_LOCK_CYCLES = Published(65.0, f"{PETERS}, 2.1: what one lock costs there and back")
PETERS_CORES = 4
PETERS_FIGURE_2_CLH = Published(1.0, f"{PETERS}, 5.1.2, Figure 2: one lock levels off after 3 cores")
PETERS_FIGURE_2_FINE = Published(4.0, f"{PETERS}, 5.1.2, Figure 2: fine scales well")
PETERS_FIGURE_2_RTM = Published(1.0, f"{PETERS}, 5.1.2, Figure 2: rtm behaves as fine does")
PETERS_FIGURE_3 = Published(1.0, f"{PETERS}, 5.2, Figure 3: throughput is independent of the kernel, for the network "
                                 f"limits it")
PETERS_IDLE = Between(0.1, 1.0,
                      f"{PETERS}, 5.2, Figure 3: every core idles for a significant part of the time (here: a tenth)")
PETERS_FIGURE_4 = Published(1.0,
                            f"{PETERS}, 5.2, Figure 4: throughput over utilisation is very similar under all locks")

# ---- Boyd-Wickizer et al. 2012, as the stored slides have it ----

IN_SECTION = Published(0.02, f"{BOYD_WICKIZER}, 'Short sections result in collapse': share of time in the section")
SHORT_SECTIONS = Between(0.0, 1.0, f"{BOYD_WICKIZER}, 'Short sections result in collapse': more cores do less")
LONG_SECTIONS = Between(1.0, 2.0,
                        f"{BOYD_WICKIZER}, 'Non-scalable locks fine for long sections': twice the cores do more")
SCALABLE_LOCKS = Between(0.0, 1.0, f"{BOYD_WICKIZER}, 'Scalable locks avoid collapse': a ticket lock does less")

# ---- other machines' lines: nanoseconds of a compare-and-swap of a line that another core wrote, one way ----

_CORE_TO_CORE = "github.com/nviennot/core-to-core-latency, README, median"
# By machine file (emulator/machines) and by how far apart the cores are. No price is taken from these.
LINE_COSTS: Sequence[tuple[str, str, Published]] = (
    ("xeon-gold-6242", "cluster", Published(48.0, f"{_CORE_TO_CORE}: Xeon Gold 6242")),
    ("xeon-gold-6242", "cluster", Published(47.0, f"{_CORE_TO_CORE}: Xeon Platinum 8275CL, Cascade Lake of 24 cores")),
    ("epyc-7402", "cluster", Published(24.0, f"{_CORE_TO_CORE}: Threadripper 3960X, Zen 2 of 24 cores, same complex")),
    ("epyc-7402", "socket", Published(94.0, f"{_CORE_TO_CORE}: Threadripper 3960X, Zen 2 of 24 cores, other complex")),
)

# ---- Uemura et al., the Mach kernel on four processors: conflicts of an acquisition ----

_MACH_1 = "Uemura, Table 1 (message program, 4 processors)"
_MACH_2 = "Uemura, Table 2 (VM program, 4 processors)"
MACH_PROCESSORS = 4
MACH_TOTAL = "total"
# By program and by the lock class of this kernel to which Mach's is nearest. Rows of GLOBAL RUNQ (Table 1) and of
# OBJ LOCK (Table 2) are not whole in the text.
MACH_CONFLICTS: Mapping[tuple[str, str], Published] = {
    ("messages", "run_queue"): Published(55232 / 822000, f"{_MACH_1}: CPU LIST"),
    ("messages", "tcb"): Published(209 / 562419, f"{_MACH_1}: THREAD LOCK"),
    ("messages", "endpoint"): Published((15016 + 381) / (1849730 + 320540), f"{_MACH_1}: OBJ LOCK and MESSAGEQ"),
    ("messages", MACH_TOTAL): Published(125655 / 8791258, f"{_MACH_1}: total"),
    ("memory", "run_queue"): Published((44 + 1) / (1165 + 224), f"{_MACH_2}: CPU LIST and GLOBAL RUNQ"),
    ("memory", "endpoint"): Published(0.009, f"{_MACH_2}: OBJ LOCK"),
    ("memory", MACH_TOTAL): Published(203 / 37134, f"{_MACH_2}: total"),
}
MACH_READS = Between(3.0, 4.0, "Uemura, 4: acquisitions to read for each one to write, 3:1 to 4:1")

# ---- Uhlig 2007: eight Pentium 4 Xeons, each with two hardware threads ----

UHLIG_MACHINE = "an IBM xSeries 445, eight Pentium 4 Xeons of 2.2 GHz"
# one-way IPC over the kernel for one processor; address spaces, series
UHLIG_FIGURE_6: Mapping[tuple[str, str], Published] = {
    (spaces, series): Published(value, f"{UHLIG}, 4.1, Figure 6: {series}, {spaces}-address-space")
    for spaces, series, value in (("inter", "msg", 1.029), ("intra", "msg", 1.086), ("inter", "lock", 1.276),
                                  ("intra", "lock", 1.812))
}
# by processors: time with messages over time with locks; the text has the ends only
UHLIG_FIGURE_7: Mapping[int, Published] = {
    2: Published(2.5, f"{UHLIG}, 4.1, Figure 7: 2 processors"),
    16: Published(3.6, f"{UHLIG}, 4.1, Figure 7: 16 processors"),
}
UHLIG_UNMAP_MORE = Published(185.0, f"{UHLIG}, 4.2: cycles that a mapping takes more with fine locks than with a "
                                    f"coarse one, one processor")
# by pages: a mapping with fine locks over one with a coarse one, one processor
UHLIG_UNMAP_OVERHEAD: Mapping[int, Published] = {
    128: Published(1.24, f"{UHLIG}, 4.2: 128 pages"),
    256: Published(1.32, f"{UHLIG}, 4.2: 256 pages"),
}
UHLIG_SPLIT_NODE_BYTES = Published(20.0, f"{UHLIG}, 4.3: intermediary descriptor")
UHLIG_MAPPING_GROWTH = Published(1.25, f"{UHLIG}, 4.3: descriptor of a mapping, over what it was")
