# SPDX-License-Identifier: BSD-2-Clause
"""This machine's own cores as a machine file: what a program can measure of them (cluster-kernel/bench/prices.c)."""

import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from deploy.base import host
from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.terminal import Output
from deploy.bench.native import host as native_host
from deploy.bench.native.runs import run_program
from deploy.emulator.machine_file import ASSUMED, MOST_CORES, ModelledMachine, load, price_names
from topology.machines.hwloc import survey_live

PROGRAM = "bench-prices"
DEFAULT = BUILD / "this-host.toml"
RUNS, ROUNDS = 5, 300  # runs of the program, and samples of each figure in one
NOISY = 0.25  # share of the median: by how much the middle 80 % of samples may differ
ALONE = {"atomic", "fence", "pause", "rdtsc", "divide"}  # measured with the call around them
CACHES = Path("/sys/devices/system/cpu")
PLACES = ("cluster", "socket", "machine")
# Prices that only a kernel could measure, and others that the model needs: as in xeon-e5-2683v3.
GUESSED = {
    "reader_gap": 20, "store": 1, "tlb_second": 7, "tlb_walk": 25, "iret": 250, "swapgs": 20, "cr3": 130, "wrmsr": 100,
    "cpuid": 100, "io": 1500, "mmio": 200, "ipi": 1500, "segment_base": 15, "transaction_begin": 20,
    "transaction_commit": 20, "transaction_abort": 150,
}


@dataclass(frozen=True)
class Figure:
    """Cycles: the median of all runs' medians, and what the middle 80 % of samples were between."""

    median: float
    low: float
    high: float
    count: int

    @property
    def noisy(self) -> bool:
        return self.high - self.low > NOISY * self.median

    def described(self, what: str = "") -> str:
        return (
            f"measured {time.strftime('%Y-%m-%d')}{what}, median of {self.count:,}; 10 % to 90 % of samples: "
            f"{self.low:.1f} to {self.high:.1f}"
        )


Figures = Mapping[str, Figure]


@dataclass(frozen=True)
class Places:
    """The cores that may be used, one hardware thread of each, by socket and L3."""

    sockets: int
    clusters: int  # L3s of a socket
    cores: int  # cores of a cluster
    pair: Mapping[str, tuple[int, int]]  # processors that far apart; no entry: there are none


@dataclass(frozen=True)
class Cache:
    sets: int
    ways: int

    @property
    def size(self) -> int:
        return 64 * self.sets * self.ways


@dataclass(frozen=True)
class Calibration:
    places: Places
    caches: Mapping[str, Cache]
    ghz: float
    alone: Figures
    moved: Mapping[str, Figures]  # by how far apart

    @property
    def noisy(self) -> list[str]:
        names = [name for name, figure in self.alone.items() if figure.noisy]
        return names + [f"{name} ({place})" for place, of in self.moved.items() for name, figure in of.items()
                        if figure.noisy]


def places() -> Places:
    survey = survey_live()
    allowed = os.sched_getaffinity(0)
    usable = replace(survey,
                     processors=[p for p in survey.processors if p.number in allowed]).one_thread_per_core().processors
    if len(usable) < 2:
        raise Failure("bench calibrate needs two cores that a line can move between, and one may be used here")
    groups: dict[Hashable, dict[Hashable, list[int]]] = {}
    for p in usable:
        groups.setdefault(p.socket, {}).setdefault(p.l3 if p.l3 is not None else p.socket, []).append(p.number)
    sizes = {len(cores) for caches in groups.values() for cores in caches.values()}
    counts = {len(caches) for caches in groups.values()}
    if len(sizes) > 1 or len(counts) > 1:
        raise Failure("the L3 caches of this machine do not all have as many cores that may be used, and a machine "
                      "file cannot say that")
    return _regular(groups, counts.pop(), sizes.pop())


def _regular(groups: Mapping[Hashable, Mapping[Hashable, Sequence[int]]], clusters: int, cores: int) -> Places:
    sockets = [list(caches.values()) for caches in groups.values()]
    pair = {}
    if cores > 1:
        pair["cluster"] = (sockets[0][0][0], sockets[0][0][1])
    if clusters > 1:
        pair["socket"] = (sockets[0][0][0], sockets[0][1][0])
    if len(sockets) > 1:
        pair["machine"] = (sockets[0][0][0], sockets[1][0][0])
    most = max(1, MOST_CORES // (len(sockets) * clusters))
    return Places(min(len(sockets), MOST_CORES), clusters, min(cores, most), pair)


def caches(cpu: int, root: Path = CACHES) -> dict[str, Cache]:
    by_level = {}
    for index in sorted((root / f"cpu{cpu}" / "cache").glob("index*")):
        def read(name: str, folder: Path = index) -> str:
            return (folder / name).read_text().strip()

        name = f"l{read('level')}{'i' if read('type') == 'Instruction' else ''}"
        by_level[name] = Cache(int(read("number_of_sets")), min(64, int(read("ways_of_associativity"))))
    if missing := {"l1", "l1i", "l2", "l3"} - set(by_level):
        raise Failure(f"this machine says nothing of its {', '.join(sorted(missing))}, which a machine file needs")
    return by_level


def _together(runs: Sequence[Mapping[str, Any]]) -> dict[str, Figure]:
    return {
        name: Figure(
            median(run[name]["median"] for run in runs), min(run[name]["p10"] for run in runs),
            max(run[name]["p90"] for run in runs), sum(run[name]["count"] for run in runs),
        )
        for name in runs[0] if name != "tsc_hz"
    }


def measure(on_run: Callable[[int, int], None] = lambda done, of: None, runs: int = RUNS) -> Calibration:
    """`on_run` hears how many runs of how many are done."""
    where = places()
    cpu = next(iter(where.pair.values()))[0]
    known = caches(cpu)
    sizes = {"lines": known["l2"].size // 2, "section": 2 * known["l2"].size,
             "delay": max(4 * known["l3"].size, 64 << 20)}
    total, alone = runs * (1 + len(where.pair)), []
    moved: dict[str, list[Mapping[str, Any]]] = {place: [] for place in where.pair}
    for run in range(runs):
        on_run(run * (1 + len(where.pair)), total)
        alone.append(run_program(PROGRAM, cpus=str(cpu), rounds=ROUNDS, **sizes))
        for place, (a, b) in where.pair.items():
            moved[place].append(run_program(PROGRAM, cpus=f"{a},{b}", rounds=ROUNDS))
    ghz = median(run["tsc_hz"] for run in alone) / 1e9
    return Calibration(where, known, ghz, _together(alone), {place: _together(of) for place, of in moved.items()})


def _difference(a: Figure, b: Figure, share: float = 1.0) -> Figure:
    """Returns by how much `a` exceeds `b`, or a share of that."""
    middle, low, high = (max(0.0, (value - b.median) * share) for value in (a.median, a.low, a.high))
    return Figure(middle, low, high, a.count)


def prices(calibration: Calibration) -> dict[str, tuple[float, str]]:
    """Cycles and source of each."""
    by_name: dict[str, tuple[float, str]] = {name: (value, ASSUMED) for name, value in GUESSED.items()}

    def take(name: str, figure: Figure, what: str = "") -> None:
        by_name[name] = (round(figure.median, 2), figure.described(what))

    alone = calibration.alone
    call = alone["nothing"]
    for name in ("cpi_kernel", "cpi_user"):
        take(name, alone["cpi"], ", a mix of instructions whose loads hit L1")
    for name in ALONE - {"atomic"}:
        take(name, _difference(alone[name], call))
    take("l2", _difference(alone["l2"], alone["l1"]))
    take("l3", replace(alone["l3"], median=_l3(alone)), ", of a buffer of twice L2's size, of which L2 serves half")
    take("dram_near", _difference(alone["dram"], alone["l1"]), ", TLB misses of large pages included")
    take("repeat", _difference(alone["copy_64"], call, 1 / 64))
    take("xsave", _difference(alone["xsave_pair"], call, 0.5), ", half of XSAVE and XRSTOR of x87 and SSE")
    for name in ("syscall", "sysret"):
        take(name, _difference(alone["system_call"], call, 0.5),
             ", half of the host kernel's shortest system call with all that it does")
    if "segment_base_pair" in alone:
        take("segment_base", _difference(alone["segment_base_pair"], call, 0.5), ", half of RDFSBASE and WRFSBASE")
    by_name |= _lines(calibration)
    return {name: by_name[name] for name in price_names()}


def _l3(alone: Figures) -> float:
    """A load that hits L3: half of a buffer of twice L2's size is in L2."""
    beyond = 2 * alone["l3"].median - alone["l2"].median
    return max(alone["l2"].median, min(beyond, alone["dram"].median)) - alone["l1"].median


def _overlap(of: Figures, upgrade: float, transfer: float) -> tuple[float, str]:
    """A line that others wait for is upgraded while they ask for it again: what a hand-over takes less than one after
    the other."""
    whole = of.get("hand_over")
    if whole is None:
        return 0.0, ASSUMED
    return (
        round(max(0.0, upgrade + transfer - whole.median), 2),
        whole.described(f", what a flag handed over ({whole.median:.1f}) takes less than an upgrade and a transfer"),
    )


def _lines(calibration: Calibration) -> dict[str, tuple[float, str]]:
    """Returns the costs that depend on the distance of two cores. A missing distance costs what the nearer one does."""
    by_name: dict[str, tuple[float, str]] = {}
    near = next(iter(calibration.moved.values()))
    by_name["atomic"] = (
        round(max(0.0, near["write_own"].median - calibration.alone["cpi"].median), 2),
        near["write_own"].described(", locked instructions that wait for each other"),
    )
    for place in PLACES:
        of = calibration.moved.get(place)
        absent = {"cluster": "not used: one core for each L3", "socket": "not used: one L3 a socket",
                  "machine": "not used: one socket"}[place]
        before = {"cluster": None, "socket": "cluster", "machine": "socket"}[place]
        for kind, figure, own in (("transfer", "read", "read_own"), ("upgrade", "upgrade", "write_own")):
            if of:
                difference = _difference(of[figure], of[own])
                by_name[f"{kind}_{place}"] = (round(difference.median, 2), difference.described())
            else:
                known = by_name[f"{kind}_{before}"][0] if before else round(_difference(near[figure], near[own]).median,
                                                                            2)
                by_name[f"{kind}_{place}"] = (known, absent)
        if of:
            by_name[f"overlap_{place}"] = _overlap(of, by_name[f"upgrade_{place}"][0], by_name[f"transfer_{place}"][0])
        else:
            by_name[f"overlap_{place}"] = (by_name[f"overlap_{before}"][0] if before else 0.0, absent)
        if place != "cluster":
            by_name[f"l3_{place}"] = (by_name[f"transfer_{place}"][0], ASSUMED if of else absent)
    dram = round(_difference(calibration.alone["dram"], calibration.alone["l1"]).median, 2)
    by_name["dram_far"] = ((round(1.5 * dram, 2), ASSUMED) if "machine" in calibration.moved
                           else (dram, "not used: one socket"))
    return by_name


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _interval(name: str, by_name: Mapping[str, tuple[float, str]]) -> str:
    """Returns `low` and `high` of an assumed price: half and double, or all of the upgrade where it is nothing."""
    cycles, source = by_name[name]
    if source != ASSUMED:
        return ""
    if name.startswith("overlap_") and not cycles:
        high = by_name[name.replace("overlap", "upgrade")][0]
        return f', low = 0, high = {high:g}, why = "a request may be under way during all of the upgrade"'
    return f', low = {cycles / 2:g}, high = {cycles * 2:g}, why = "not measured: half to double"'


def machine_file(calibration: Calibration) -> str:
    """Returns the text of a machine file, as in emulator/machines."""
    where = calibration.places
    cores = where.sockets * where.clusters * where.cores
    today = time.strftime("%Y-%m-%d")
    lines = [
        "# SPDX-License-Identifier: BSD-2-Clause",
        "# Written by `skerry bench calibrate`. Cycles are those of the time-stamp counter.", "",
        f"name = {_text(f'{host.cpu().model}, {cores} cores of this host')}",
        f"sockets = {where.sockets}", f"clusters_per_socket = {where.clusters}", f"cores_per_cluster = {where.cores}",
        f'ghz = {{ value = {calibration.ghz:.4g}, source = "measured {today}: the time-stamp counter" }}',
    ]
    for name in ("l1", "l1i", "l2", "l3"):
        cache = calibration.caches[name]
        inclusive = "inclusive = false, " if name == "l3" else ""
        source = "/sys/devices/system/cpu" + ("; not inclusive: assumed" if name == "l3" else "")
        lines.append(f'{name} = {{ sets = {cache.sets}, ways = {cache.ways}, {inclusive}source = "{source}" }}')
    lines += ['store_buffer = { value = 56, source = "assumed" }', "", "[price]"]
    known = prices(calibration)
    lines += [f"{name} = {{ cycles = {cycles:g}, source = {_text(source)}{_interval(name, known)} }}"
              for name, (cycles, source) in known.items()]
    return "\n".join(lines) + "\n"


def measured(path: Path, output: Output, runs: int = RUNS) -> tuple[Calibration, ModelledMachine, native_host.Parallel]:
    """Writes the machine file, and reads it as any other."""
    usable = native_host.processors()
    with output.progress("Measuring this machine's cores", total=100) as update:
        look = native_host.Parallel([native_host.look(usable, 2)], 2)
        calibration = measure(lambda done, of: update(completed=100 * done / of), runs)
    write_text(path, machine_file(calibration))
    return calibration, load(str(path)), look
