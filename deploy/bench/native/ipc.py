# SPDX-License-Identifier: BSD-2-Clause
"""One-way IPC on one hosted core (Elphinstone, Figure 3)."""

from collections.abc import Sequence
from typing import Any

from deploy.base.partial import Parts
from deploy.bench.ipc.measure import ONE_WAY, Measured, metric
from deploy.bench.native import host as native_host
from deploy.bench.native.runs import Runs, collect, entry, job

UNIT = "cycles"
ROUNDS = 5000
CONTAINS = (
    "One way: before each entry all instructions before it end, as where a program enters a kernel. Others: one by "
    "one.\n"
    "In it: a system call from its arguments in the thread's registers to those of the next thread: lock, fast or slow "
    "path, and the hosted port's model of a switch.\n"
    "Not in it: SYSCALL and SYSRET, saving and loading the registers, CR3 and TLB, FPU state: they cost every "
    "regime the "
    "same, so that ratios are larger here than on a bare machine."
)
OPERATIONS = {
    "call": "Call, no words",
    "call_4": "Call, 4 words",
    "reply_recv": "ReplyRecv, no words",
    "reply_recv_4": "ReplyRecv, 4 words",
    "slow_call": "Call, slow path: 5 words",
    "slow_reply_recv": "ReplyRecv, slow path: 5 words",
    "signal": "Signal, nobody waits",
    "poll": "Poll, signalled before",
    "yield": "Yield, alone",
}
IN_A_ROW = {
    ONE_WAY: "One way: half a round trip, of 100 in a row",
    "overlapped": "The same, entries run into each other",
}
RUNS = 15  # each lasts a tenth of a second


def measure(
    locks: Sequence[str], rounds: int, runs: int, parts: Parts, usable: native_host.Processors
) -> tuple[list[Measured], list[dict[str, Any]]]:
    """Returns the measurements as Measured, which tables and plots take, and as results."""
    jobs = [job(lock, "ipc", cpus=usable.listed(1), rounds=rounds) for lock in locks]
    collected = collect(jobs, runs, parts, "Calls and answers on one core")
    measured = [_measured(lock, collected[each], rounds) for lock, each in zip(locks, jobs) if each in collected]
    return measured, [_result(one, collected[each])
                      for one, each in zip(measured, (each for each in jobs if each in collected))]


def _measured(lock: str, runs: Runs, rounds: int) -> Measured:
    def of(name: str) -> Any:
        return runs.spread(lambda r: r["cycles"][name])

    return Measured(lock, UNIT, False, rounds, {name: of(name) for name in (*OPERATIONS, *IN_A_ROW)})


def _result(measured: Measured, runs: Runs) -> dict[str, Any]:
    spread = {metric(name, UNIT): value for name, value in measured.spread.items()}
    return entry(measured.lock, "ipc", 1, runs, spread, {"rounds": measured.rounds})
