# SPDX-License-Identifier: BSD-2-Clause
"""Results files, checked: what the report takes from them has the shape that it believes."""

import hashlib
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from deploy.base.export import flattened
from topology import foreign
from topology.errors import InputError

_PLACES = ("--json", "--plot", "--timeout")  # options that change no result
_BESIDE = ("--baseline", "--layout", "--lock", "--workload")  # that say which results there are
LONGEST = 60  # characters of a value in a message


_GREATEST = 1e100  # largest number: more overflows in sums of squares, and is no measurement


def _finite(value: float) -> float:
    if not abs(value) <= _GREATEST:
        endless = value != value or value in (math.inf, -math.inf)  # an int may be too large for math.isnan
        raise ValueError("not a finite number" if endless else "too large for a measurement")
    return value


def _flat(metrics: Any) -> Any:
    """A metric in parts as one for each part: {"a": {"b": 1}} is {"a.b": 1}."""
    return flattened(metrics) if isinstance(metrics, dict) else metrics


Number = Annotated[int | float, AfterValidator(_finite)]
Count = Annotated[int, Field(ge=0, le=1 << 20)]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class Environment(_Shape):
    commit: str | None = None  # with + where files differ from it


class Host(_Shape):
    cpu: str = ""
    cores: int | None = None
    mode: str = ""
    qemu: str | None = None
    counts_instructions: bool = False
    environment: Environment | None = None


class PlacedCpu(_Shape):
    cpu: Count
    node: Count = 0
    socket: Count | None = None
    l3: Count | None = None


class PlacedCluster(_Shape):
    cluster: Count
    kernel: str
    cpus: list[Count]


class PlacedApplication(_Shape):
    application: str
    program: str
    cpu: Count


class MachineEntry(_Shape):
    name: str = ""
    cpus: Annotated[list[PlacedCpu], Field(max_length=1024)]
    clusters: Annotated[list[PlacedCluster], Field(max_length=1024)]
    channels: list[Annotated[list[Count], Field(min_length=2, max_length=2)]] = []
    applications: Annotated[list[PlacedApplication], Field(max_length=4096)] = []


class Core(_Shape):
    cluster: Count = 0
    core: Count | None = None
    ops_per_s: Number | None = None
    cpu_utilisation: Number | None = None
    lock_conflict_ratio: Number | None = None


class LockClass(_Shape):
    """One class of locks in the output of `skerry lockstat`; times in cycles."""

    acquisitions: Number
    conflicts: Number
    conflict_ratio: Number = 0
    spins_mean: Number = 0
    wait_mean: Number = 0
    hold_mean: Number = 0
    wait_log2: list[Number] = []
    hold_log2: list[Number] = []


class Transactions(_Shape):
    begun: Number
    committed: Number
    fallbacks: Number
    aborted: dict[str, Number] = {}


class Counted(_Shape):
    """The counts of counting kernels; an entry of `skerry lockstat`, or "statistics" in one of another command."""

    cluster: Count | None = None
    kernel: str = ""
    lock: str = ""
    locks: dict[str, LockClass] | None = None
    transactions: Transactions | None = None


class CountingRun(_Shape):
    """The run beside a timed one that some of its metrics are of."""

    kernel: str
    operations: Number = 0
    metrics: list[str] = []


class Entry(Counted):
    """One element of "results"."""

    metrics: Annotated[dict[str, Number | None], BeforeValidator(_flat)] = {}
    min_max: dict[str, tuple[Number, Number]] = {}  # extremes of the runs that a metric is the median of
    statistics: Counted | None = None
    counting: CountingRun | None = None
    system: str = "skerry"
    layout: str = ""
    workload: str = ""
    network: str = ""  # that Linux's clients reach its servers over
    server: str = ""  # redis or valkey, where the file says it
    server_version: str = ""
    redis: str = ""  # its version, in earlier files
    stack: str = ""  # where an instance's TCP/IP is, where a benchmark says it
    kind: str = ""  # a kind of deploy/results/kinds.py, where the file says it
    model: str = ""  # the model of a computed result; nothing was measured
    distorted: list[str] = []  # metrics that are true of no machine, because cores took turns
    clusters: Count = 1
    cores: Count = 1
    emulated: bool = False
    per_core: list[Core] = []
    latency_us: list[tuple[Annotated[Number, Field(ge=0)], Annotated[int, Field(ge=0, le=1 << 53)]]] | None = None
    machine: MachineEntry | None = None


class Missing(_Shape):
    """A part of a sweep that failed or was interrupted."""

    part: str
    why: str = ""


class Document(_Shape):
    skerry: str
    command: str
    arguments: list[str] | None = None
    host: Host = Host()
    images: dict[str, str] = {}  # SHA-256 by name, of what ran
    incomplete: list[Missing] = []
    results: list[Entry] = Field(min_length=1)


@dataclass(frozen=True)
class Source:
    """One file."""

    path: Path
    digest: str  # SHA-256 of its bytes
    document: Document
    raw: dict[str, Any]

    @property
    def command(self) -> str:
        """Returns the command that makes these results again; as typed, where the file says it."""
        words = self._words(_PLACES)
        return f"./skerry {shlex.join(words) if words else self.document.command}"

    @property
    def asked(self) -> tuple[str, ...]:
        """Returns what all results of the file have in common: runs that agree in it are repeats."""
        return self._words(_PLACES + _BESIDE)

    @property
    def setting(self) -> tuple[object, ...]:
        """Returns what must agree before results of several files are set beside each other, or are repeats."""
        host = self.document.host
        return (
            self.document.skerry, self.document.command, self.asked, host.cpu, host.cores, host.qemu, host.mode,
            *self.code
        )

    @property
    def code(self) -> tuple[object, ...]:
        """Returns the code that ran: the commit, and the images but for kernels, of which each result has its own
        (kernels()).

        Files with changes to a commit and without hashes are like no other file.
        """
        commit = self.document.host.environment.commit if self.document.host.environment else None
        unknown = self.digest if not self.document.images and commit and commit.endswith("+") else None
        return commit, unknown, tuple(sorted((name, of) for name, of in self.document.images.items()
                                             if not name.startswith("kernel-")))

    def kernels(self, lock: str) -> tuple[str | None, ...]:
        """Hashes of a regime's kernels, plain and counting."""
        return tuple(self.document.images.get(f"kernel-{lock}{variant}") for variant in ("", "+stat"))

    def _words(self, without: tuple[str, ...]) -> tuple[str, ...]:
        """The command line without these options and their values."""
        words = iter(self.document.arguments or ())
        kept = []
        for word in words:
            if word in without:
                next(words, None)
            elif word not in ("-q", "--quiet") and not word.startswith(tuple(f"{option}=" for option in without)):
                kept.append(word)
        return tuple(kept)


def read_all(paths: Sequence[Path]) -> list[Source]:
    sources: dict[str, Source] = {}
    for path in paths:
        source = read(path)
        if source.digest in sources:
            raise InputError(str(path),
                             f"the same results as {sources[source.digest].path}: a repeat is a run of its own")
        sources[source.digest] = source
    return list(sources.values())


def read(path: Path) -> Source:
    content = foreign.read(path, foreign.RESULTS)
    if not content.strip():
        raise InputError(str(path), "is empty: not a results file")
    raw = foreign.json(content, str(path), foreign.OBJECTS)
    if not isinstance(raw, dict) or "results" not in raw:
        raise InputError(str(path), "not a results file: it has no list 'results'")
    try:
        document = Document.model_validate_json(content.decode(json.detect_encoding(content)))
    except ValidationError as error:
        raise _wrong(path, raw, error) from None
    for number, entry in enumerate(document.results):
        if "metrics" not in entry.model_fields_set and entry.locks is None:
            raise InputError(str(path), f"results[{number}] has no 'metrics'")
    return Source(path, hashlib.sha256(content).hexdigest(), document, raw)


def _wrong(path: Path, raw: Any, error: ValidationError) -> InputError:
    """The first problem, with its place as somebody would write it: results[0].metrics.p50_us."""
    detail = error.errors(include_url=False)[0]
    place, here = "", raw
    for step in detail["loc"]:
        if isinstance(here, dict) and step in here:
            place += f".{str(step)[:LONGEST]}" if place else str(step)[:LONGEST]
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            place += f"[{step}]"
        else:
            continue
        here = here[step]
    if detail["type"] == "missing" and isinstance(detail["loc"][-1], str):
        return InputError(str(path), f"{place or 'the file'} has no '{detail['loc'][-1]}'")
    if detail["type"] == "too_short" and place == "results":
        return InputError(str(path), "'results' is empty: nothing to report")
    if detail["type"] == "json_invalid":
        return InputError(str(path), f"not JSON: {detail['ctx']['error']}")
    text = detail["msg"].removeprefix("Value error, ")
    if detail["loc"][-2:-1] and detail["loc"][-1] == "int":  # the first of the two that a number may be
        text = text.replace("valid integer", "valid number")
    shown = json.dumps(here, default=str)
    return InputError(str(path),
                      f"{place}: {text[:1].lower() + text[1:]}, not {shown[:LONGEST]}{'…' * (len(shown) > LONGEST)}")
