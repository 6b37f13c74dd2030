# SPDX-License-Identifier: BSD-2-Clause
"""The drivers of network cards, as net/drivers.toml lists them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topology.errors import ListError

if TYPE_CHECKING:  # the build reads this list with a Python that has only its own library
    from topology.maps.clustermap import Application

FOLDER = Path(__file__).resolve().parents[1] / "net"
FILE = FOLDER / "drivers.toml"
LIST = "net/drivers.toml"  # as errors name it
_NAME, _ID = re.compile(r"[a-z][a-z0-9-]{0,30}"), re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")


@dataclass(frozen=True)
class Driver:
    name: str
    what: str
    pci: tuple[str, ...]
    qemu: str
    libvirt: str
    sources: tuple[str, ...] = ()
    counted: str = ""

    @property
    def ids(self) -> list[tuple[int, int]]:
        """Vendor and device of each card that it drives."""
        return [(int(vendor, 16), int(device, 16)) for vendor, device in (pair.split(":") for pair in self.pci)]

    def device(self, options: str, counted: bool = False) -> str:
        """The card, for QEMU's -device."""
        return ",".join(filter(None, (self.qemu, options, self.counted if counted else "")))


def read(text: str) -> dict[str, Driver]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ListError(LIST, f"not TOML: {error}") from None
    if not data:
        raise ListError(LIST, "there is no driver")
    drivers = {name: _driver(name, entry) for name, entry in data.items()}
    of: dict[str, str] = {}
    for driver in drivers.values():
        for pair in driver.pci:
            if of.setdefault(pair, driver.name) != driver.name:
                raise ListError(LIST, f"{driver.name}: pci: {of[pair]} drives {pair}")
    return drivers


def _driver(name: str, entry: Any) -> Driver:
    if not isinstance(entry, dict):
        raise ListError(LIST, f"{name}: is no table [{name}]")
    if not _NAME.fullmatch(name):
        raise ListError(LIST, f"{name}: a name has small letters, digits and hyphens")
    known = {field.name: field for field in fields(Driver) if field.name != "name"}
    if strange := [key for key in entry if key not in known]:
        raise ListError(LIST, f"{name}: {strange[0]}: no such key; there are {', '.join(known)}")
    if missing := [key for key, field in known.items() if field.default is MISSING and key not in entry]:
        raise ListError(LIST, f"{name}: {missing[0]}: is missing")
    for key, value in entry.items():
        many = key in ("pci", "sources")
        if not (isinstance(value, list) and value and all(isinstance(v, str) for v in value)
                if many else isinstance(value, str)):
            raise ListError(LIST, f"{name}: {key}: {value!r} is not {'a list of texts' if many else 'a text'}")
    if wrong := [pair for pair in entry["pci"] if not _ID.fullmatch(pair)]:
        raise ListError(LIST, f"{name}: pci: '{wrong[0]}' is not VENDOR:DEVICE, as in 8086:10d3")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Driver(name, **values)


@cache
def every() -> dict[str, Driver]:
    """Returns the drivers by name, the usual one first."""
    listed = read(FILE.read_text())
    for driver in listed.values() if any(FOLDER.glob("*.c")) else ():  # a machine that only boots images has no sources
        if missing := [file for file in ("card.h", *driver.sources) if not (FOLDER / driver.name / file).is_file()]:
            raise ListError(LIST, f"{driver.name}: net/{driver.name}/{missing[0]} is missing")
    return listed


def usual() -> Driver:
    return next(iter(every().values()))


def of_map(applications: Iterable[Application]) -> Driver:
    """Returns the driver of the map; the usual one for a map without any, or with one that is not of the list."""
    programs = [app.program for app in applications if app.role == "nic"]
    return every().get(programs[0] if programs else "", usual())


def print_for_build() -> None:
    """Prints for meson.build: a line for each driver, then one for each of its sources."""
    for driver in every().values():
        print(driver.name)
        for source in driver.sources:
            print(driver.name, source, sep="\t")
