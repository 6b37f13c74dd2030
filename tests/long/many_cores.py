# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines of 192 and 576 cores: `build/venv/bin/python -m tests.long.many_cores [JSON]`.

Rounds that take a translation from all cores of an address space, beside what was computed of them; a saturated lock
over cores, twice: both runs agree in every digit. Takes an hour on two processors; tests/boot/test_modelled.py has a
short one.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, marked_events
from deploy.bench.ipc import pingpong
from deploy.bench.scale import measure as scale
from deploy.emulator import run
from deploy.emulator.machine_file import load
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.machines.machine import default_memory

LOCK = "clh"
ROUNDS = 8
SILENCE = 3600.0  # seconds in which a boot must come to its end
CALL, RETURNED = 1, 2  # marks of apps/pingpong/shootdown.c
# Cycles of a round that were computed with the prices of an EPYC 7402, one interrupt a core after the other, and in
# groups of sixteen. The EPYC's ids are within xAPIC's, where an interrupt is stores to a device for each core: a core
# of 16 takes four times what was computed, and from 60 on less than twice (30 November 2026: 19,686, 72,255 and
# 230,346 cycles).
COMPUTED = {16: (5_600, 4_300), 60: (59_400, 7_900), 192: (204_800, 16_700), 384: (416_300, 29_900)}
FEWEST = 60  # cores from which on a round is within twice of one of the two
MACHINES = {"epyc-9654": (16, 60, 192), "xeon-6990e": (384,)}
SCALED = {"epyc-9654": 192, "xeon-6990e": 576}
DELAY, PAIRS = 4000.0, 2048


@dataclass(frozen=True)
class Round:
    machine: str
    cores: int
    cycles: float  # median of a call
    seconds: float  # of the boot, all numbers of cores together

    @property
    def ratio(self) -> float:
        """Over the nearer of the two that were computed."""
        ratios = (self.cycles / computed for computed in COMPUTED[self.cores])
        return min(ratios, key=lambda ratio: max(ratio, 1 / ratio))


def shootdowns(name: str, sizes: Sequence[int]) -> list[Round]:
    machine = load(name)
    shape = machine.shape(max(sizes), default_memory(machine.cores_per_socket))
    words = ("shootdown", str(ROUNDS), ",".join(map(str, sizes)))
    begun = monotonic()
    events, moments = marked_events(pingpong.machine(LOCK, *words, shape=shape),
                                    Bench(run.mode(machine), Patience(SILENCE, None), stepped=True), machine,
                                    priced=run.POINTS)
    took, made, at = monotonic() - begun, [], iter(moments)
    for event in events.of("shootdown"):
        pairs = [(next(at), next(at)) for _ in range(event["warm_up"] + event["rounds"])]
        if any((a.number, b.number) != (CALL, RETURNED) for a, b in pairs):
            raise Failure("shootdown: the emulator did not see each call's begin and end")
        made.append(Round(name, event["cores"], median(b.clock - a.clock for a, b in pairs[event["warm_up"]:]), took))
    if [one.cores for one in made] != list(sizes):
        raise Failure("shootdown: the results do not have the requested numbers of cores")
    return made


def saturated(name: str, cores: int) -> tuple[float, float]:
    """Returns kernel entries in 1,000 cycles, all cores together, and the seconds that the boot took."""
    machine = load(name)
    request = scale.Request(LOCK, [cores], [DELAY], PAIRS, modelled=machine)
    begun = monotonic()
    (point,) = scale.measure(scale.case(request), Bench(run.mode(machine), Patience(SILENCE, None), stepped=True))
    return 1000 * point.throughput, monotonic() - begun


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.many_cores",
                                     description="Modelled machines of 192 and of 576 cores.")
    parser.add_argument("json", nargs="?", type=Path, help="the results go there, too")
    path = parser.parse_args().json
    ensure_built(Output(), needs.kernels([LOCK], *pingpong.PROGRAMS, "root") | needs.MODELLED)
    rounds = [one for name, sizes in MACHINES.items() for one in shootdowns(name, sizes)]
    for one in rounds:
        print(f"{one.machine}: {one.cores} cores forget a translation in {one.cycles:,.0f} cycles; computed "
              f"{' or '.join(f'{cycles:,}' for cycles in COMPUTED[one.cores])}: {one.ratio:.2f} of it "
              f"({one.seconds:.0f} s)")
    rates = {name: [saturated(name, cores) for _ in range(2)] for name, cores in SCALED.items()}
    for name, ((first, seconds), (second, _)) in rates.items():
        print(f"{name}: {SCALED[name]} cores do {first:.4f} entries in 1,000 cycles ({seconds:.0f} s)")
        if first != second:
            raise Failure(f"{name}: a second run did {second}, not {first}")
    if path:
        write_text(path, json.dumps({"rounds": [vars(one) for one in rounds], "rates": rates}, indent=1))
    return 0 if all(1 / 2 <= one.ratio <= 2 for one in rounds if one.cores >= FEWEST) else 1


if __name__ == "__main__":
    sys.exit(main())
