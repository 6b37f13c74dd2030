# SPDX-License-Identifier: BSD-2-Clause
"""The lock regimes, as cluster-kernel/lock/regimes.toml lists them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from topology.errors import ListError

FOLDER = Path(__file__).resolve().parents[1] / "cluster-kernel" / "lock"
FILE = FOLDER / "regimes.toml"
LIST = "cluster-kernel/lock/regimes.toml"  # as errors name it
SWITCHED, UNLOCKED = "switched", "none"  # no lock: one core, and no other can join it
KINDS = ("big", "readers", SWITCHED, "transactions", UNLOCKED)
MODELS = MACHINE_REPAIRMAN, NON_SCALABLE = "machine-repairman", "non-scalable lock"
PROTOCOLS = ("", "clh", "mcs", "ticket")  # emulator/modelled/locks.h
_NAME = re.compile(r"[a-z][a-z0-9-]{0,15}")
PROGRAMS = ("lock", "kernel", "spaces", "doorbell", "fastpath", "signal-wait", "wake-ups")  # of the explorer (model/)


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
        raise ListError(LIST, f"not TOML: {error}") from None
    regimes = {name: _regime(name, entry) for name, entry in data.items()}
    for regime in regimes.values():
        if regime.seen_as and regime.seen_as not in regimes:
            raise ListError(LIST, f"{regime.name}: seen_as: there is no regime '{regime.seen_as}'")
    return regimes


def _regime(name: str, entry: Any) -> Regime:
    if not isinstance(entry, dict):
        raise ListError(LIST, f"{name}: is no table [{name}]")
    if not _NAME.fullmatch(name):
        raise ListError(LIST,
                        f"{name}: a name is a small letter, and up to 15 small letters, digits and hyphens behind it")
    known = Regime.__dataclass_fields__
    if strange := [key for key in entry if key not in known or key == "name"]:
        raise ListError(LIST, f"{name}: {strange[0]}: no such key; there are "
                              f"{', '.join(key for key in known if key != 'name')}")
    if missing := [key for key in ("what", "kind") if key not in entry]:
        raise ListError(LIST, f"{name}: {missing[0]}: is missing")
    _check_types(name, entry)
    regime = Regime(name, **entry)
    for key, value, allowed in (("kind", regime.kind, KINDS), ("model", regime.model, ("", *MODELS)),
                                ("protocol", regime.protocol, PROTOCOLS)):
        if value not in allowed:
            raise ListError(LIST, f"{name}: {key}: '{value}' is not one of {', '.join(filter(None, allowed))}")
    if regime.model and regime.no_model:
        raise ListError(LIST, f"{name}: has both model and no_model")
    if not regime.model and not regime.no_model:
        raise ListError(LIST, f"{name}: model: is missing, and no_model, which says why there is none")
    if strange := [program for program in regime.without if program not in PROGRAMS]:
        raise ListError(LIST, f"{name}: without: '{strange[0]}' is not one of {', '.join(PROGRAMS)}")
    return regime


def _check_types(name: str, entry: dict[str, Any]) -> None:
    for key, value in entry.items():
        if key == "twice":
            if type(value) is not int or not 0 <= value <= 3:
                raise ListError(LIST, f"{name}: twice: {value!r} is not a number of cores from 0 to 3")
        elif key != "without":
            if not isinstance(value, str):
                raise ListError(LIST, f"{name}: {key}: {value!r} is not a text")
        elif not isinstance(value, dict):
            raise ListError(LIST, f"{name}: without: {value!r} is no table of the explorer's programs, as without.lock "
                                  f"= [\"first come\"]")
        elif wrong := [program for program, cases in value.items() if not _are_cases(cases)]:
            raise ListError(LIST,
                            f"{name}: without.{wrong[0]}: {value[wrong[0]]!r} is neither a list of cases nor true")


def _are_cases(cases: object) -> bool:
    return isinstance(cases, bool) or isinstance(cases, list) and all(isinstance(case, str) for case in cases)


def _check_headers(regimes: dict[str, Regime]) -> None:
    """Checks that each regime has its header, where there are sources; a machine that only boots images has none."""
    missing = [name for name in regimes if not (FOLDER / f"{name}.h").is_file()]
    if missing and any(FOLDER.glob("*.h")):
        raise ListError(LIST, f"{missing[0]}: its header cluster-kernel/lock/{missing[0]}.h is missing")


@cache
def every() -> dict[str, Regime]:
    """Returns the regimes by name, the usual one first."""
    regimes = read(FILE.read_text())
    _check_headers(regimes)
    return regimes


def names(*kinds: str) -> tuple[str, ...]:
    """Returns the names of the regimes of these kinds; without any, of all."""
    return tuple(regime.name for regime in every().values() if not kinds or regime.kind in kinds)


def print_for_build() -> None:
    """Prints for meson.build: a line for each regime, then one for each case that is left out."""
    for r in every().values():
        print("regime", r.name, r.kind, r.seen_as, r.twice, sep="\t")
    for r in every().values():
        for program, cases in r.without.items():
            for case in cases if isinstance(cases, list) else ["*"] if cases else []:
                print("without", f"{program}-{r.name}", case, sep="\t")
