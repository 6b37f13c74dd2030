# SPDX-License-Identifier: BSD-2-Clause
"""Layouts by their names, as options and deployment files have them. The threads of a core are never parted."""

import re
from collections import Counter

from topology.errors import InputError
from topology.layouts import AT, EVERY, HERE, Clusters, Layout, is_homed
from topology.machines.machine import Machine

WORDS = tuple(one.name for one in EVERY.values() if not one.has_number)
NAMED = " or ".join(filter(None, (", ".join(list(EVERY)[:-1]), list(EVERY)[-1])))
NAMES = f"{', '.join(EVERY)} or a map file"
SENTENCES = {one.word: one.sentence for one in EVERY.values()}  # for completion
EXPLAINED = "; ".join(f"{one.name}: {one.what}" for one in EVERY.values())


def _find(text: str) -> tuple[Layout | None, str]:
    """The layout that somebody has named, and what is behind the equals sign."""
    word, equals, value = text.partition("=")
    return EVERY.get(f"{word}=N" if equals else word), value


def is_layout_name(text: str) -> bool:
    return _find(text)[0] is not None


def check_named(text: str) -> None:
    """Refuses a map where the programs are not a map's: the layout is made of the machine."""
    if not is_layout_name(text):
        raise InputError("--layout", f"'{text}' is not one of {NAMED}; a map says itself what runs", at=AT)


def check_unmanaged(text: str | None) -> None:
    """Refuses layout `homed` where no managers run: nothing gives objects a home."""
    if text and is_homed(text):
        raise InputError("--layout", f"'{text}' is for programs that managers start; take another layout", at=AT)


def group(machine: Machine, text: str) -> Clusters:
    """Places of cores in machine.cores, one list for each cluster."""
    layout, value = _find(text)
    if layout is None:
        raise InputError("--layout", f"'{text}' is not one of {NAMES}", at=AT)
    if layout.has_number and not re.fullmatch(r"[1-9]\d{0,5}", value):
        raise InputError("--layout", f"'{text}': the {layout.word.rstrip('=')} is not a number of cores", at=AT)
    clusters = layout.clusters(machine, int(value)) if layout.has_number else layout.clusters(machine)
    _check(machine, clusters, text)
    return clusters


def _check(machine: Machine, clusters: Clusters, text: str) -> None:
    """Checks what a layout's function promises."""
    culprit = f"{HERE}: {text}"
    number_of = {place: number for number, members in enumerate(clusters) for place in members}
    count, count_of = len(machine.cores), Counter(place for members in clusters for place in members)
    if strange := [place for place in count_of if place not in range(count)]:
        raise InputError(culprit, f"place {strange[0]!r} of a cluster is none of machine.cores, which are 0 to "
                                  f"{count - 1}", at=AT)
    if missing := [place for place in range(count) if count_of[place] != 1]:
        raise InputError(culprit, f"core {missing[0]} is in {count_of[missing[0]]} clusters; each core belongs in one",
                         at=AT)
    if not all(clusters):
        raise InputError(culprit, f"cluster {clusters.index([])} has no core", at=AT)
    first: dict[object, int] = {}
    for place, core in enumerate(machine.cores):
        if number_of[first.setdefault(core.physical, place)] != number_of[place]:
            raise InputError(culprit,
                             f"{first[core.physical]} and {place} are threads of one core, but in two clusters", at=AT)
