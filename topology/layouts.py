# SPDX-License-Identifier: BSD-2-Clause
"""The layouts: which cores form a cluster. A function each, with its sentence; docs/adding-a-layout.md adds one.

The name of `per_socket` is per-socket. A function of two parameters has a number behind its name, as size=4. Options,
deployment files, completion and pages follow the list EVERY.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from topology.errors import InputError
from topology.foreign import format_spans
from topology.machines.machine import Core, Machine

AT = ("layout",)  # the parameter, of an error
HERE = "topology/layouts.py"  # as errors name it
Clusters = list[list[int]]  # places of cores in machine.cores, a list for each cluster


class Unfit(InputError):
    """A layout that a machine cannot have. topology/maps/mapmaker.py adds the layouts that it can have."""


@dataclass(frozen=True)
class Layout:
    name: str
    sentence: str  # what a cluster is
    clusters: Callable[..., Clusters]  # of a machine, and of the number behind the name if it has one

    @property
    def what(self) -> str:
        """The sentence within another one."""
        text = self.sentence.rstrip(".")
        return text[:1].lower() + text[1:] if text[1:2].islower() else text

    @property
    def word(self) -> str:
        """Returns what is typed of the name."""
        return self.name.removesuffix("N")

    @property
    def has_number(self) -> bool:
        return self.name.endswith("=N")


EVERY: dict[str, Layout] = {}  # by name, in the order of texts


def layout(function: Callable[..., Clusters]) -> Callable[..., Clusters]:
    """Adds it to the list."""
    words = function.__name__.replace("_", "-")
    parameters, sentence = function.__code__.co_argcount, " ".join((function.__doc__ or "").split())
    if not sentence:
        raise InputError(f"{HERE}: {function.__name__}", "its docstring is missing, which says what a cluster is")
    if parameters not in (1, 2):
        raise InputError(f"{HERE}: {function.__name__}",
                         f"has {parameters} parameters; a layout has a machine, and perhaps a number")
    name = words + ("=N" if parameters == 2 else "")
    if name in EVERY:
        raise InputError(f"{HERE}: {function.__name__}", f"there is a layout {name} already")
    EVERY[name] = Layout(name, sentence, function)
    return function


def alike(machine: Machine, key: Callable[[Core], Hashable]) -> Clusters:
    """Clusters of the cores for which `key` is the same."""
    clusters: dict[Hashable, list[int]] = {}
    for place, core in enumerate(machine.cores):
        clusters.setdefault(key(core), []).append(place)
    return list(clusters.values())


@layout
def per_socket(machine: Machine) -> Clusters:
    """The cores of a socket."""
    return alike(machine, lambda core: core.socket)


@layout
def per_l3(machine: Machine) -> Clusters:
    """The cores that share an L3 cache: one cluster for each core complex of an EPYC."""
    if without := [place for place, core in enumerate(machine.cores) if core.l3 is None]:
        which = "this machine has" if len(without) == len(machine.cores) else f"cpus {format_spans(without)} have"
        problem = f"{which} no L3 cache" if machine.caches_known else f"{machine.name} says nothing of caches"
        raise Unfit("--layout per-l3", problem, at=AT)
    return alike(machine, lambda core: core.l3)


@layout
def per_numa(machine: Machine) -> Clusters:
    """The cores of a NUMA node: sub-NUMA clusters, NPS4."""
    return alike(machine, lambda core: core.node)


@layout
def spanning(machine: Machine) -> Clusters:
    """The whole machine."""
    return alike(machine, lambda core: 0)


@layout
def homed(machine: Machine) -> Clusters:
    """The whole machine, its programs' objects at home on the cores of their NUMA node (lock `dynamic`)."""
    return spanning(machine)


def is_homed(name: str) -> bool:
    """Whether managers give objects a home: which threads use them themselves, and whose calls travel
    (docs/dynamic.md)."""
    return name == homed.__name__


@layout
def size(machine: Machine, number: int) -> Clusters:
    """N cores in the machine's order, socket after socket, cache after cache."""
    cores, sockets = alike(machine, lambda core: core.physical), cores_of_sockets(machine)
    if number not in possible_sizes(sockets):
        runs = [(count, len(list(same))) for count, same in groupby(sockets)]
        has = " and ".join(f"{times} of {count} core{'s' * (count > 1)}" for count, times in runs)
        raise Unfit(f"--layout size={number}",
                    f"this machine's sockets ({has}) do not divide into clusters of {number}", at=AT)
    return [[place for core in cores[i : i + number] for place in core] for i in range(0, len(cores), number)]


def cores_of_sockets(machine: Machine) -> list[int]:
    """Returns the number of cores of each socket, threads of a core counted once."""
    return [len({core.physical for core in machine.cores if core.socket == socket}) for socket in machine.sockets]


def possible_sizes(sockets: Sequence[int]) -> list[int]:
    """Returns the sizes of equal clusters, given each socket's number of cores: none lies across a socket's border
    without filling it."""
    total, borders = sum(sockets), list(accumulate(sockets))
    inside = [n for n in range(1, max(sockets) + 1) if all(count % n == 0 for count in sockets)]
    whole = [n for n in borders if total % n == 0 and all(cut in borders for cut in range(n, total + 1, n))]
    return sorted({*inside, *whole})
