# SPDX-License-Identifier: BSD-2-Clause
"""One-way IPC and other system calls on one core, by apps/pingpong in the place of the root task."""

from dataclasses import dataclass
from typing import Any

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench import boot
from deploy.bench.boot import Bench
from deploy.bench.ipc import pingpong
from deploy.bench.regimes import BASELINE
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine.qemu import Accel
from deploy.results import kinds
from deploy.results.result import Result
from topology import regimes
from topology.maps.clustermap import COARSE
from topology.model.papers import FIGURE_3

ROUNDS_MAX = 200_000  # the program has room for
EMPTY = "empty"  # the readings of the clock alone

# The program's operations, in the order of the table, with their titles.
OPERATIONS = {
    "call": "Call, no words",
    "call_1": "Call, 1 word",
    "call_2": "Call, 2 words",
    "call_3": "Call, 3 words",
    "call_4": "Call, 4 words",
    "call_same_vspace": "Call within one address space",
    "reply_recv": "ReplyRecv, no words",
    "reply_recv_1": "ReplyRecv, 1 word",
    "reply_recv_2": "ReplyRecv, 2 words",
    "reply_recv_3": "ReplyRecv, 3 words",
    "reply_recv_4": "ReplyRecv, 4 words",
    "reply_recv_same_vspace": "ReplyRecv within one address space",
    "slow_call": "Call, slow path: 5 words",
    "slow_call_0": "Call, slow path: no words, a capability that may not travel",
    "slow_call_10": "Call, slow path: 10 words",
    "slow_call_120": "Call, slow path: 120 words",
    "slow_reply_recv": "ReplyRecv, slow path: 5 words",
    "slow_reply_recv_0": "ReplyRecv, slow path: no words, a capability that may not travel",
    "slow_reply_recv_10": "ReplyRecv, slow path: 10 words",
    "slow_reply_recv_120": "ReplyRecv, slow path: 120 words",
    "signal": "Signal, nobody waits",
    "wait": "Wait, signalled before",
    "poll": "Poll of nothing",
    "nb_send": "NBSend, nobody waits",
    "yield": "Yield, alone",
    "yield_switch": "Yield to a thread of another address space",
    "signal_wait": "Signal and wait, for a thread of another address space",
}
ONE_WAY = "one_way"  # the mean of Call and ReplyRecv without words: what Figure 3 shows

# Figures that others published or measured elsewhere.
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


@dataclass(frozen=True)
class Spread:
    """Median and extremes over all rounds, less the time of reading the clock."""

    median: float
    least: float
    most: float


@dataclass
class Measured:
    lock: str
    unit: str  # instructions or cycles
    emulated: bool
    rounds: int
    spread: dict[str, Spread]
    modelled: ModelledMachine | None = None
    granularity: str | None = None  # for kernels that have a choice
    local: bool = False  # all objects are at home on the core

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.lock, self.granularity, "local" if self.local else "")))

    @property
    def kept(self) -> dict[str, Any]:
        """Returns the settings that tell it from other kernels of its regime."""
        return ({"granularity": self.granularity} if self.granularity else {}) | ({"local": True} if self.local else {})

    @property
    def metrics(self) -> dict[str, float]:
        return {metric(name, self.unit): value.median for name, value in self.spread.items()}

    def to_json(self) -> dict[str, Any]:
        entry = Result(
            layout="per-socket", lock=self.lock, workload="ipc", clusters=1, cores=1, emulated=self.emulated,
            metrics=self.metrics | {"rounds": self.rounds}, per_core=[],
        ).to_json()
        spread = {metric(name, self.unit): [value.least, value.most] for name, value in self.spread.items()}
        entry |= {"min_max": spread} | self.kept | ({"kind": kinds.COUNTED} if self.unit == "instructions" else {})
        return entry | ({"modelled": self.modelled.to_json()} if self.modelled else {})


def metric(name: str, unit: str) -> str:
    return f"{name}_kernel_{unit}"


def measure(
    lock: str, accel: Accel, rounds: int, timeout: Patience, modelled: ModelledMachine | None = None,
    granularity: str = COARSE, local: bool = False,
) -> Measured:
    """`granularity`: of a kernel that has a choice. `local`: of such a kernel, whether all objects are at home on the
    core."""
    chosen = granularity if lock in regimes.names(regimes.SWITCHED) else None
    local = local and chosen is not None
    target = pingpong.machine(lock, "ipc", str(rounds), *pingpong.AT_HOME[local], granularity=chosen)
    with modelled_run.clocks(modelled, False, target) as marks:
        reported = boot.events(target, Bench(accel, timeout), marks.arguments if marks else ())
    events = {event["name"]: event for event in reported.of("pingpong")}
    missing = {EMPTY, *OPERATIONS} ^ set(events)
    if missing:
        raise Failure(f"kernel {lock}: results do not match: {', '.join(sorted(missing))}")
    if any(event["rounds"] != rounds for event in events.values()):
        raise Failure(f"kernel {lock}: the results do not have the requested {rounds} rounds")
    # Where instructions are counted, SYSCALL is the last of the user's; cycles of it are the kernel's.
    overhead = events[EMPTY]["median"] + accel.icount
    spread = {
        name: Spread(*(events[name][which] - overhead for which in ("median", "min", "max"))) for name in OPERATIONS
    }
    ways = (spread["call"], spread["reply_recv"])
    spread[ONE_WAY] = Spread(*(sum(getattr(way, which) for way in ways) / 2 for which in ("median", "least", "most")))
    unit = "instructions" if accel.icount else "cycles"
    return Measured(lock, unit, accel.emulated, rounds, spread, modelled, chosen, local)


def ratios(measured: Measured, baseline: Measured) -> dict[str, Any]:
    """Beside the kernel without a lock, in the same run."""
    quotients = {
        metric(name, measured.unit): value.median / baseline.spread[name].median
        for name, value in measured.spread.items()
        if baseline.spread[name].median > 0
    }
    entry: dict[str, Any] = {"of": measured.lock, "to": BASELINE, "workload": "ipc", "metrics": quotients}
    entry |= measured.kept
    if measured.lock in FIGURE_RATIOS:
        entry["published"] = {ONE_WAY: FIGURE_RATIOS[measured.lock]}
    return entry | ({"emulated": True} if measured.emulated else {})
