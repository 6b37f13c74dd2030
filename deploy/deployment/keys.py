# SPDX-License-Identifier: BSD-2-Clause
"""Declarations of a deployment file's keys: each once, at the member of model.py that it sets.

The form of files (schema.py), and with it the reader's checks, docs/deployment.schema.json and the page
of all keys are made of these declarations. They need no pydantic, which takes long to load.
"""

from dataclasses import MISSING, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Whole:
    """A number from `low` to `high` that `step` divides."""

    low: int
    high: int
    step: int = 1


@dataclass(frozen=True)
class Words:
    """One of some."""

    choices: tuple[str, ...]


@dataclass(frozen=True)
class Named:
    """A kind with a check of its own (values.py)."""

    name: str


Kind = Whole | Words | Named
FLAG, TEXT, SIZE, PORT, CPU = Named("flag"), Named("text"), Named("size"), Named("port"), Named("cpu")
CPUS, ARGUMENTS, PROGRAM_NAME, FORWARDED = Named("cpus"), Named("arguments"), Named("program name"), Named("forwarded")
SUBNET, ADDRESS = Named("subnet"), Named("address")
VARIABLES, FOLDER, MAPPED = Named("variables"), Named("folder"), Named("mapped files")
VOLUMES, SAVE = Named("volumes"), Named("save rules")
PROGRAM_NAMES = Named("program names")


@dataclass(frozen=True)
class Key:
    kinds: tuple[Kind, ...]  # any of them
    doc: str
    name: str | None = None  # in the file, where it is not the member's
    optional: bool = False   # a file may leave it open


def key(default: Any, *kinds: Kind, doc: str, name: str | None = None, optional: bool = False,
        kw_only: bool = False) -> Any:
    """A member of a frozen dataclass, with how files set it. MISSING: whoever makes one must say it."""
    return field(default=default, kw_only=kw_only, metadata={"key": Key(kinds, doc, name, optional)})


__all__ = ["MISSING", "Key", "Kind", "Named", "Whole", "Words", "key"]
