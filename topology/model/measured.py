# SPDX-License-Identifier: BSD-2-Clause
"""Throughput over cores out of a results file of any command: what a model is fitted to."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from topology import foreign
from topology.errors import InputError
from topology.model.ranges import MOST_CORES

METRIC = "throughput_per_cycle"


@dataclass
class Curve:
    """Results that differ in nothing but the number of cores."""

    lock: str
    nominal_delay: float | None  # what the benchmark was told, cycles
    emulated: bool = False
    points: list[tuple[int, float]] = field(default_factory=list)  # cores of one kernel, its entries per cycle
    modelled: bool = False  # cycles of a machine file's prices

    @property
    def name(self) -> str:
        return self.lock if self.nominal_delay is None else f"{self.lock}, delay {self.nominal_delay:g}"

    @property
    def kind(self) -> str:
        """Returns the kind of its throughputs; empty for a real processor's."""
        return "modelled" if self.modelled else "emulated" if self.emulated else ""

    @property
    def sizes(self) -> int:
        """Different numbers of cores."""
        return len({cores for cores, _ in self.points})


def read(path: Path, metric: str | None = None, ghz: float | None = None, most: int | None = None) -> list[Curve]:
    """Curves by lock and nominal delay, of at most `most` cores. `ghz` turns entries per second into per cycle.

    A result of several clusters counts as one of them: cores and throughput are divided by their number. Results in
    which cores starved are left out: the models' clients all get their turn.
    """
    name = str(path)
    data = _load(path, name)
    name_of_metric = metric or METRIC
    usable = [(n, r) for n, r in _results(data, name) if name_of_metric in r["metrics"]]
    if not usable:
        seen = sorted({m for _, r in _results(data, name) for m in r["metrics"] if isinstance(m, str)})
        has = f"they have {', '.join(seen[:8])}" if seen else "they have no metrics"
        raise InputError(name, f"no result has the metric '{name_of_metric}' ({has}); --metric names another")
    scale = _scale(data, name_of_metric, ghz, name)
    curves: dict[tuple[Any, ...], Curve] = {}
    for number, result in usable:
        where = f"result {number}"
        cores, throughput = _point(result, name_of_metric, name, where)
        if most and cores > most or result.get("starved"):
            continue
        delay = result["metrics"].get("delay_cycles")
        if delay is not None:
            delay = _number(delay, f"{where}: delay_cycles", name)
        modelled = bool(result.get("modelled"))
        key = str(result.get("lock", "clh")), delay, bool(result.get("emulated")), modelled
        curves.setdefault(key, Curve(*key[:3], modelled=modelled)).points.append((cores, throughput * scale))
    return list(curves.values())


def _load(path: Path, name: str) -> Any:
    try:
        content = foreign.read(path, foreign.RESULTS)
    except InputError as error:
        raise InputError(name, error.problem) from None
    return foreign.json(content, name)


def _results(data: Any, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Skerry's results, numbered from 1; another system has no lock of ours."""
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list) or not results:
        raise InputError(name, "not a results file: it has no list 'results'")
    for number, result in enumerate(results, 1):
        if not isinstance(result, dict) or not isinstance(result.get("metrics"), dict):
            raise InputError(name, f"result {number} has no 'metrics'")
        if result.get("system", "skerry") == "skerry":
            yield number, result


def _scale(data: dict[str, Any], metric: str, ghz: float | None, name: str) -> float:
    if metric.endswith("_per_cycle"):
        return 1.0
    if not metric.endswith("_per_s"):
        raise InputError(
            "--metric", f"'{metric}' is a throughput neither per cycle nor per second (_per_cycle, _per_s)"
        )
    host = data.get("host")
    recorded = host.get("tsc_hz") if isinstance(host, dict) else None
    if ghz is None and recorded is None:
        raise InputError(name, f"'{metric}' is per second and the file tells no tsc_hz; --ghz turns it into cycles")
    hertz = ghz * 1e9 if ghz is not None else _number(recorded, "host: tsc_hz", name)
    if not hertz > 0:
        raise InputError(name, "host: tsc_hz is not above 0")
    return 1 / hertz


def _point(result: dict[str, Any], metric: str, name: str, where: str) -> tuple[int, float]:
    cores, clusters = result.get("cores"), result.get("clusters", 1)
    if type(cores) is not int or not 1 <= cores <= MOST_CORES:
        raise InputError(name, f"{where}: 'cores' is not a number of cores")
    if type(clusters) is not int or clusters < 1 or cores % clusters:
        raise InputError(name, f"{where}: {cores} cores are not clusters of one size ('clusters' is {clusters})")
    throughput = _number(result["metrics"][metric], f"{where}: {metric}", name)
    if throughput <= 0:
        raise InputError(name, f"{where}: {metric} is not above 0")
    return cores // clusters, throughput / clusters


def _number(value: Any, what: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise InputError(name, f"{what} is not a number from 0 on")
    return float(value)
