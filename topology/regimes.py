# SPDX-License-Identifier: BSD-2-Clause
"""The lock regimes, as cluster-kernel/lock/regimes.toml lists them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "cluster-kernel" / "lock" / "regimes.toml"
SWITCHED = "switched"
KINDS = ("big", "readers", SWITCHED, "transactions", "none")
MODELS = MACHINE_REPAIRMAN, NON_SCALABLE = "machine-repairman", "non-scalable lock"
PROTOCOLS = ("", "clh", "mcs", "ticket")  # deploy/plugins/modelled/locks.h
PROGRAMS = ("lock", "kernel", "spaces", "doorbell", "fastpath", "wake-ups")  # of the explorer, cluster-kernel/model


class ListError(Exception):
    """The list is not as it should be; names the regime and the key."""


@dataclass(frozen=True)
class Regime:
    name: str
    what: str
    kind: str
    model: str = ""
    no_model: str = ""
    protocol: str = ""
    seen_as: str = ""
    twice: int = 3
    without: dict[str, list[str] | bool] = field(default_factory=dict)


def read(text: str) -> dict[str, Regime]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ListError(f"{FILE.name}: {error}") from None
    found = {name: _regime(name, entry) for name, entry in data.items()}
    for regime in found.values():
        if regime.seen_as and regime.seen_as not in found:
            raise ListError(f"{regime.name}: seen_as: there is no regime '{regime.seen_as}'")
    return found


def _regime(name: str, entry: Any) -> Regime:
    if not isinstance(entry, dict):
        raise ListError(f"{name}: is no table [{name}]")
    known = Regime.__dataclass_fields__
    if strange := [key for key in entry if key not in known or key == "name"]:
        raise ListError(f"{name}: {strange[0]}: no such key; there are {', '.join(key for key in known if key != 'name')}")
    if missing := [key for key in ("what", "kind") if key not in entry]:
        raise ListError(f"{name}: {missing[0]}: is missing")
    regime = Regime(name, **entry)
    for key, value, allowed in (("kind", regime.kind, KINDS), ("model", regime.model, ("", *MODELS)),
                                ("protocol", regime.protocol, PROTOCOLS)):
        if value not in allowed:
            raise ListError(f"{name}: {key}: '{value}' is not one of {', '.join(filter(None, allowed))}")
    if bool(regime.model) == bool(regime.no_model):
        raise ListError(f"{name}: model: has both a model and none" if regime.model else f"{name}: needs a model, or no_model says why not")
    if strange := [program for program in regime.without if program not in PROGRAMS]:
        raise ListError(f"{name}: without: '{strange[0]}' is not one of {', '.join(PROGRAMS)}")
    return regime


@cache
def every() -> dict[str, Regime]:
    """By name, the usual one first."""
    return read(FILE.read_text())


def names(*kinds: str) -> tuple[str, ...]:
    """Of these kinds; without any, all."""
    return tuple(regime.name for regime in every().values() if not kinds or regime.kind in kinds)


def print_for_build() -> None:
    """What meson.build reads: a line for each regime, then one for each case that is left out."""
    for r in every().values():
        print("regime", r.name, r.kind, r.seen_as, r.twice, sep="\t")
    for r in every().values():
        for program, cases in r.without.items():
            for case in cases if isinstance(cases, list) else ["*"] if cases else []:
                print("without", f"{program}-{r.name}", case, sep="\t")
