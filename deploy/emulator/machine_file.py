# SPDX-License-Identifier: BSD-2-Clause
"""Machine files: emulator/machines/NAME.toml, or one's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import log
from pathlib import Path
from typing import Any, TypeVar

from deploy.base.paths import ROOT
from topology import foreign, headers
from topology.errors import InputError
from topology.machines.parts import MemoryRange, Shape
from topology.machines.qemu import Grid

PAPERS = "xeon-e5-2683v3"  # the machine of the papers: its figures are published, and it is the default
MACHINES = ROOT / "emulator" / "machines"
PRICES = ROOT / "emulator" / "modelled" / "prices.def"

ASSUMED, FITTED = "assumed", "fitted"
# Costs of a line that moves between cores: these are halved and doubled for the range of a result.
LINE_PRICES = frozenset({
    *("l3_socket", "l3_machine", "transfer_cluster", "transfer_socket", "transfer_machine"),
    *("upgrade_cluster", "upgrade_socket", "upgrade_machine", "overlap_cluster", "overlap_socket", "overlap_machine",
      "reader_gap"),
})
RANGE = (0.5, 1.0, 2.0)
MOST_CORES = headers.constant(ROOT / "emulator" / "modelled" / "most_cores.h", "MOST_CORES")
_Key = TypeVar("_Key")
INTERVAL = frozenset({"low", "high", "why"})  # what an assumed price has beside its cycles and source, and others may
_CACHES = ("l1", "l1i", "l2", "l3")


@dataclass(frozen=True)
class Number:
    """Range of a field: within what the plugin takes (emulator/modelled/prices.c), at double line costs, too."""

    low: float
    high: float
    whole: bool = False

    def __contains__(self, value: object) -> bool:
        kinds = (int,) if self.whole else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a {'whole ' * self.whole}number from {self.low:,} to {self.high:,}"


GHZ = Number(0.1, 10)
SETS, WAYS, STORES = Number(1, 1 << 20, whole=True), Number(1, 64, whole=True), Number(1, 256, whole=True)
# clocks count sixteenths: nothing is not to be free
CYCLES, PER_INSTRUCTION = Number(0, 1_000_000), Number(0.1, 1_000_000)
PERCENT = Number(0, 90, whole=True)
_KINDS: Mapping[type, str] = {bool: "true or false",
                              str: "one line of text: where the figure comes from, or just \"assumed\""}


def _is_source(text: str) -> bool:
    """One line that says something; "Assumed" would be a price that nobody counts as assumed."""
    near = text.strip(" .").casefold()
    return text.isprintable() and any(map(str.isalpha, near)) and (near not in (ASSUMED, FITTED) or near == text)


@cache
def price_names() -> tuple[str, ...]:
    """Every price that a machine file must have: the plugin's own list."""
    return tuple(re.findall(r"^PRICE\((\w+),", PRICES.read_text(), re.MULTILINE))


def names() -> list[str]:
    return sorted(path.stem for path in MACHINES.glob("*.toml"))


@dataclass(frozen=True)
class Price:
    """Cycles and their source. An assumed price has `low` and `high`, and `why` it lies between them; another may."""

    cycles: float
    source: str
    low: float | None = None
    high: float | None = None
    why: str | None = None

    def at(self, position: float) -> float:
        """Returns the cycles at a position from -1 (low) to 1 (high): in equal factors, or equal steps where low is
        0."""
        if self.low is None or self.high is None:
            return self.cycles
        share = (1 + position) / 2
        return self.low * (self.high / self.low) ** share if self.low else self.high * share

    @property
    def position(self) -> float | None:
        """Returns the position of its own cycles; None without an interval."""
        if self.low is None or self.high is None or self.low == self.high:
            return None
        return 2 * (log(self.cycles / self.low) / log(self.high / self.low) if self.low
                    else self.cycles / self.high) - 1


@dataclass(frozen=True)
class Planted:
    """A change that no machine has: it tests whether a ratio moves as the closed model says
    (tests/long/planted_changes.py)."""

    hold: float = 0.0  # cycles that each hold of a lock takes longer
    less: int = 0  # percent of the instructions of programs that cost nothing; their memory accesses stay

    def __str__(self) -> str:
        parts = [f"{self.hold:g} cycles more in each hold" * bool(self.hold),
                 f"{self.less} % fewer instructions of programs" * bool(self.less)]
        return " and ".join(filter(None, parts))

    def to_json(self) -> dict[str, float]:
        return {"hold_cycles": self.hold, "less_percent": self.less}


@dataclass(frozen=True)
class ModelledMachine:
    name: str
    path: Path
    sha256: str  # of the file
    sockets: int
    clusters_per_socket: int
    cores_per_cluster: int
    ghz: float
    caches: Mapping[str, tuple[int, int]]  # sets, ways
    l3_inclusive: bool
    store_buffer: int
    prices: Mapping[str, Price]
    other_sources: Sequence[str]
    fitted_to: Mapping[str, str] = field(default_factory=dict)  # of each price that is
    planted: Planted | None = None

    @property
    def cores_per_socket(self) -> int:
        return self.clusters_per_socket * self.cores_per_cluster

    @property
    def cores(self) -> int:
        return self.sockets * self.cores_per_socket

    @property
    def last_apic(self) -> int:
        """Returns the greatest APIC id that QEMU gives a core."""
        sockets, caches, cores = self.sockets, self.clusters_per_socket, self.cores_per_cluster
        return Grid(sockets, caches, cores, 1, ()).apic((sockets - 1, caches - 1, cores - 1, 0))

    @property
    def assumed(self) -> list[str]:
        return [name for name, price in self.prices.items() if price.source == ASSUMED]

    @property
    def fitted(self) -> list[str]:
        return [name for name, price in self.prices.items() if price.source == FITTED]

    @property
    def sources(self) -> list[str]:
        sources = [price.source for price in self.prices.values()] + list(self.other_sources)
        return [source for source in dict.fromkeys(sources) if source not in (ASSUMED, FITTED)]

    @property
    def header(self) -> str:
        """The line without which no figure of it is printed."""
        fitted = f", {len(self.fitted)} fitted ({', '.join(self.fitted)})" if self.fitted else ""
        return (f"Modelled: {self.name}, {self.ghz:g} GHz; {len(self.assumed)} of {len(self.prices)} prices "
                f"assumed{fitted}{f'. PLANTED: {self.planted}' if self.planted else ''}. Compare ratios, not figures")

    def to_json(self) -> dict[str, Any]:
        return {"machine": self.name, "prices_sha256": self.sha256, "sources": self.sources,
                "assumed": len(self.assumed), "assumed_prices": self.assumed, "fitted_prices": self.fitted,
                **({"planted": self.planted.to_json()} if self.planted else {})}

    def shape(self, cores: int, memory: int) -> Shape:
        """Returns what is emulated for so many cores: some of one L3, whole L3s of one socket, or all of the machine.

        `memory` is a socket's, in bytes. A program that has to run on every core there is takes `exactly`.
        """
        if cores > self.cores:
            raise InputError("--cores", f"{cores} cores; {self.name} has {self.cores}")
        if cores > self.cores_per_socket:
            return Shape(self.sockets, self.cores_per_socket, memory, self.clusters_per_socket)
        if cores <= self.cores_per_cluster:
            return Shape(1, cores, memory)
        caches = -(-cores // self.cores_per_cluster)
        return Shape(1, caches * self.cores_per_cluster, memory, caches)

    def part(self, share: float) -> ModelledMachine:
        """Returns the machine with so many times the cores in each socket: other numbers of L3 caches where there are
        several, else of cores."""
        if self.clusters_per_socket > 1:
            return replace(self, clusters_per_socket=max(1, round(self.clusters_per_socket * share)))
        return replace(self, cores_per_cluster=max(2, round(self.cores_per_cluster * share)))

    def exactly(self, cores: int, memory: int) -> Shape:
        """Returns the shape for programs that run on every core there is. InputError if no such shape has so many
        cores."""
        shape = self.shape(cores, memory)
        if shape.cpus != cores:
            part = (
                f"{self.cores_per_socket}, a socket"
                if self.clusters_per_socket == 1 else f"{self.cores_per_cluster}, an L3's, or whole L3s of a socket"
            )
            raise InputError("--cores", f"{cores} cores; of {self.name} run up to {part}, or all {self.cores}")
        return shape

    def plugin_text(self, memory: Sequence[MemoryRange], line_factor: float = 1.0) -> str:
        """The machine as the plugin reads it (emulator/modelled/prices.h); node N's memory is socket N's."""
        lines = [
            f"khz {self.ghz * 1e6:.0f}", f"cores {self.cores}", f"clusters {self.sockets * self.clusters_per_socket}",
            f"sockets {self.sockets}",
            f"l3_inclusive {self.l3_inclusive:d}", f"store_buffer {self.store_buffer}",
        ]
        for name, (sets, ways) in self.caches.items():
            lines += [f"{name}_sets {sets}", f"{name}_ways {ways}"]
        for name, price in self.prices.items():
            lines.append(f"{name} {price.cycles * (line_factor if name in LINE_PRICES else 1.0):g}")
        if self.planted:
            lines += [f"planted_hold {self.planted.hold:g}", f"planted_less {self.planted.less}"]
        lines += [f"node {part.base:#x} {part.node}" for part in sorted(memory, key=lambda part: part.base)]
        return "\n".join(lines) + "\n"


def find(text: str) -> Path:
    """Returns the file that --machine names: one of emulator/machines, or a path."""
    path = MACHINES / f"{text}.toml"
    if re.fullmatch(r"[\w-]+", text) and path.exists():
        return path
    if not text.endswith(".toml"):
        raise InputError(f"--machine {text}", f"is none of {', '.join(names())}, and no .toml file")
    return Path(text)


def load(text: str) -> ModelledMachine:
    path = find(text)
    raw = foreign.read(path, foreign.MACHINE)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InputError(str(path), str(error)) from None
    data = foreign.toml(text, str(path))
    return _Reader(path, data).machine(hashlib.sha256(raw).hexdigest())


def whole_ranges(values: Mapping[_Key, Mapping[float, float]]) -> dict[_Key, tuple[float, float]]:
    """Least and greatest of each key's values, by the factor of the line costs; none where a factor of RANGE is
    missing."""
    return {key: (min(of.values()), max(of.values())) for key, of in values.items() if of.keys() >= set(RANGE)}


def chosen(text: str | None, quick: bool, fixed: Mapping[str, Any]) -> ModelledMachine | None:
    """Reads the machine that --machine names; None if it is not there. `fixed`: options that leave no choice then, with
    their values."""
    if text is None:
        if quick:
            raise InputError("--quick", "is for a modelled machine (--machine)")
        return None
    if odd := [option for option, value in fixed.items() if value]:
        if odd[0] in ("--sockets", "--cores"):
            own = text if text.endswith(".toml") else f"emulator/machines/{text}.toml"
            what = f"copy {own}, change sockets or cores_per_cluster, and name the copy"
            raise InputError(odd[0], f"is not for a modelled machine, whose file says its cores: {what}")
        raise InputError(odd[0], "is not for a modelled machine, which is fixed and emulated by QEMU")
    return load(text)


class _Reader:
    """Takes what a machine file may have, and complains by the key's path."""

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self.path, self.data = path, data

    def wrong(self, key: str, problem: str) -> InputError:
        return InputError(f"{self.path}: {key}", problem)

    def table(self, key: str, fields: Mapping[str, type | Number], where: dict[str, Any],
              prefix: str = "") -> dict[str, Any]:
        name = prefix + key
        value = where.get(key)
        if not isinstance(value, dict):
            raise self.wrong(name, "is missing"
                             if value is None else f"is {value!r}, not a table with {', '.join(fields)}")
        if odd := sorted(set(value) ^ set(fields)):
            raise self.wrong(f"{name}.{odd[0]}",
                             "is missing" if odd[0] in fields else f"is not one of {', '.join(fields)}")
        for part, kind in fields.items():
            value_here = value[part]
            if isinstance(kind, Number):
                right = value_here in kind
            else:
                right = isinstance(value_here, kind) and (not isinstance(value_here, str) or _is_source(value_here))
            if not right:
                raise self.wrong(f"{name}.{part}",
                                 f"is {value_here!r}, not {kind if isinstance(kind, Number) else _KINDS[kind]}")
        return value

    def whole(self, key: str) -> int:
        value = self.data.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CORES:
            raise self.wrong(key, "is missing"
                             if value is None else f"is {value!r}, not a whole number from 1 to {MOST_CORES}")
        return value

    def prices(self) -> dict[str, Price]:
        entries = self.data.get("price")
        if not isinstance(entries, dict):
            raise self.wrong("price", "is missing: the table of prices")
        known = price_names()
        if unknown := [name for name in entries if name not in known]:
            raise self.wrong(f"price.{unknown[0]}", "is no price; there are " + ", ".join(known))
        prices = {}
        for name in known:
            cycles = PER_INSTRUCTION if name.startswith("cpi_") else CYCLES
            entry = entries.get(name)
            fields: dict[str, type | Number] = {"cycles": cycles, "source": str}
            if isinstance(entry, dict) and (entry.get("source") == ASSUMED or not INTERVAL.isdisjoint(entry)):
                fields |= {"low": cycles, "high": cycles, "why": str}
            prices[name] = self.price(f"price.{name}", self.table(name, fields, entries, "price."))
        return prices

    def price(self, key: str, value: Mapping[str, Any]) -> Price:
        if "why" not in value:
            return Price(float(value["cycles"]), value["source"])
        low, cycles, high = (float(value[part]) for part in ("low", "cycles", "high"))
        if not low <= cycles <= high:
            raise self.wrong(f"{key}.{'low' if low > cycles else 'high'}",
                             f"the interval from {low:g} to {high:g} does not contain its {cycles:g} cycles")
        if value["why"] in (ASSUMED, FITTED):
            raise self.wrong(f"{key}.why", f"is {value['why']!r}, not the reason for its interval")
        return Price(cycles, value["source"], low, high, value["why"])

    def fitted(self, prices: Mapping[str, Price]) -> None:
        """A price is fitted only to what the file names."""
        entries = self.data.get("fitted", {})
        marked = {name for name, price in prices.items() if price.source == FITTED}
        sources = entries.values() if isinstance(entries, dict) and set(entries) == marked else [""]
        if not all(isinstance(to, str) and _is_source(to) and to not in (ASSUMED, FITTED) for to in sources):
            raise self.wrong("fitted",
                             "must say of each price whose source is \"fitted\", and of no other, what it is fitted to")

    def planted(self) -> Planted | None:
        """Returns what the file plants, in a table that it need not have."""
        if "planted" not in self.data:
            return None
        table = self.table("planted", {"hold": CYCLES, "less": PERCENT}, self.data)
        return Planted(float(table["hold"]), table["less"])

    def machine(self, sha256: str) -> ModelledMachine:
        cache: dict[str, type | Number] = {"sets": SETS, "ways": WAYS, "source": str}
        caches = {n: self.table(n, cache | ({"inclusive": bool} if n == "l3" else {}), self.data) for n in _CACHES}
        ghz = self.table("ghz", {"value": GHZ, "source": str}, self.data)
        buffer = self.table("store_buffer", {"value": STORES, "source": str}, self.data)
        name = self.data.get("name")
        if not isinstance(name, str) or not name.strip():
            raise self.wrong("name", "is missing: the name of the machine")
        if not name.isprintable():
            raise self.wrong("name", f"is {name!r}, not one line of text")
        known = {"name", "sockets", "clusters_per_socket", "cores_per_cluster", "ghz", "store_buffer", "fitted",
                 "planted", "price", *_CACHES}
        if unknown := sorted(set(self.data) - known):
            raise self.wrong(unknown[0], f"is not one of {', '.join(sorted(known))}")
        prices = self.prices()
        self.fitted(prices)
        machine = ModelledMachine(
            name=name, path=self.path, sha256=sha256, sockets=self.whole("sockets"),
            clusters_per_socket=self.whole("clusters_per_socket"), cores_per_cluster=self.whole("cores_per_cluster"),
            ghz=float(ghz["value"]), caches={n: (c["sets"], c["ways"]) for n, c in caches.items()},
            l3_inclusive=caches["l3"]["inclusive"], store_buffer=buffer["value"], prices=prices,
            other_sources=[part["source"] for part in (ghz, buffer, *caches.values())],
            fitted_to=self.data.get("fitted", {}), planted=self.planted(),
        )
        if machine.cores > MOST_CORES:
            raise self.wrong("sockets", f"{machine.cores} cores in all; {MOST_CORES} are the most")
        return machine
