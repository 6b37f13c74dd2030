# SPDX-License-Identifier: BSD-2-Clause
"""Layouts by their names, as options and deployment files have them. The threads of a core are never parted."""

import re

from topology.errors import InputError
from topology.layouts import AT, EVERY, Clusters, Layout
from topology.machine import Machine

WORDS = tuple(found.name for found in EVERY.values() if not found.has_number)
NAMED = " or ".join(filter(None, (", ".join(list(EVERY)[:-1]), list(EVERY)[-1])))
NAMES = f"{', '.join(EVERY)} or a map file"
SENTENCES = {found.word: found.sentence for found in EVERY.values()}  # for completion
EXPLAINED = "; ".join(f"{found.name}: {found.what}" for found in EVERY.values())


def _find(text: str) -> tuple[Layout | None, str]:
    """The layout that somebody has named, and what is behind the equals sign."""
    word, equals, value = text.partition("=")
    return EVERY.get(f"{word}=N" if equals else word), value


def is_layout_name(text: str) -> bool:
    return _find(text)[0] is not None


def check_named(text: str) -> None:
    """Where the programs are not a map's: its layout is made of the machine."""
    if not is_layout_name(text):
        raise InputError("--layout", f"'{text}' is not one of {NAMED}; a map says itself what runs", at=AT)


def group(machine: Machine, text: str) -> Clusters:
    """Places of cores in machine.cores, one list for each cluster."""
    found, value = _find(text)
    if found is None:
        raise InputError("--layout", f"'{text}' is not one of {NAMES}", at=AT)
    if found.has_number and not re.fullmatch(r"[1-9]\d{0,5}", value):
        raise InputError("--layout", f"'{text}': the {found.word.rstrip('=')} is not a number of cores", at=AT)
    clusters = found.clusters(machine, int(value)) if found.has_number else found.clusters(machine)
    _check(machine, clusters, text)
    return clusters


def _check(machine: Machine, clusters: Clusters, text: str) -> None:
    """What a layout's function promises."""
    places = [place for members in clusters for place in members]
    assert sorted(places) == list(range(len(machine.cores))), f"layout {text}: each core is in one cluster"
    assert all(clusters), f"layout {text}: each cluster has a core"
    of = {place: number for number, members in enumerate(clusters) for place in members}
    physical: dict[object, int] = {}
    for place, core in enumerate(machine.cores):
        assert physical.setdefault(core.physical, of[place]) == of[place], f"layout {text}: the threads of a core are together"
