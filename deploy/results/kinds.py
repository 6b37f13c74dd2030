# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of a result's figures: counted, modelled, native, real, emulated or computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COUNTED = "counted"  # instructions or events, which are the same in each run
MODELLED = "modelled"  # cycles of a machine file's prices
NATIVE = "native"  # this host's own cores, the kernel as a library
REAL = "real"  # a processor that runs the image, under KVM or on hardware
EMULATED = "emulated"  # the host's time in which an emulator did it
COMPUTED = "computed"  # a queueing model; nothing was measured
CLOCKS = {"step": COUNTED, "instructions": COUNTED, "modelled": MODELLED}  # `clock` of an entry


def kind(entry: Mapping[str, Any], host: Mapping[str, Any]) -> str:
    """Returns the kind of one element of "results", in a document about `host`."""
    if entry.get("kind"):
        return str(entry["kind"])
    if entry.get("model"):
        return COMPUTED
    if entry.get("modelled"):
        return MODELLED
    if (clock := entry.get("clock")) in CLOCKS:
        return CLOCKS[clock]
    if entry.get("emulated"):
        counts = host.get("counts_instructions") or any(str(name).endswith("_instructions")
                                                        for name in entry.get("metrics") or ())
        return COUNTED if counts else EMULATED
    return REAL


def words(emulated: bool, machine: str | None) -> str:
    """In brackets behind a title: what a reader must know first. `machine`: the modelled one."""
    return f"modelled: {machine}" if machine else "emulated" if emulated else ""


def of_clock(clock: str, emulated: bool, gap: str = "  ") -> str:
    """Returns the brackets for a point whose clock is known, but not the machine's name."""
    return f"{gap}({MODELLED})" if clock == MODELLED else bracketed(emulated, None, gap)


def bracketed(emulated: bool, machine: str | None, gap: str = "  ") -> str:
    """`words` as the end of a title."""
    text = words(emulated, machine)
    return f"{gap}({text})" if text else ""
