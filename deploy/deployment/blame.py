# SPDX-License-Identifier: BSD-2-Clause
"""Whose fault it is when a deployment cannot be planned: the line of its file that the refusal is about."""

import re

from deploy.deployment.model import Deployment
from deploy.deployment.places import Path
from topology.errors import InputError

DEFAULT_LAYOUT = Deployment.layout

# What a refusal names as its culprit, and the keys of the file that say it, the closest first; KEY is the one that the
# problem is about.
KEY = "key"
_CULPRITS: tuple[tuple[str, tuple[Path, ...]], ...] = (
    (r"--layout.*", (("clusters", "layout"),)),
    (r"--(sockets|cores|memory)", (("machine", r"\1"), ("machine",))),
    (r"machine|emulated, .*", (("machine",),)),
    (r"(redis|clusters|metrics) ([\w-]+)", ((r"\1", r"\2"), (r"\1",))),
    (r"(redis|ycsb|metrics)@[0-9a-f]+", ((r"\1", KEY), (r"\1",))),
    (r"cluster@[0-9a-f]+", (("clusters", "lock"), ("clusters",), ("machine",))),
    (r"network", (("redis",),)),
    (r"applications", (("program",), ("redis",))),
)


def blamed(error: InputError, deployment: Deployment) -> InputError:
    """The same with file and line, where a file says what is refused; as it is where the command line does."""
    places = deployment.places
    if places is None:
        return error
    if match := re.fullmatch(r"program (\d+) (\w+)", error.culprit):
        path: Path = ("program", int(match[1]), match[2])
        return InputError(f"{places.where(path)}: [[program]] {match[2]}", error.problem)
    largest = re.search(r"\(largest: (\S+)\)", error.problem)  # of heaps that do not fit
    culprit = largest[1] if largest else error.culprit
    key = next((key for word, key in (("argument", "args"), ("heap", "heap")) if word in error.problem), "")
    for number, program in enumerate(deployment.programs):
        if re.fullmatch(rf"{re.escape(program.name or program.program)}@[0-9a-f]+", culprit):
            path = ("program", number, key)
            found = f" {key}" if path in places.lines else ""
            return InputError(f"{places.where(path)}: [[program]]{found}", _of(error))
    if error.culprit == f"--layout {DEFAULT_LAYOUT}" and ("machine",) in places.lines:
        return InputError(f"{places.where(('machine',))}: [machine]", f"layout {DEFAULT_LAYOUT}: {error.problem}")
    if "kernel" in error.problem and ("clusters", "lock") not in places.lines:  # the default is never refused
        return InputError("--lock", _of(error))
    for pattern, candidates in _CULPRITS:
        if match := re.fullmatch(pattern, culprit):
            for candidate in candidates:
                path = tuple(key if part is KEY else match.expand(str(part)) for part in candidate)
                if path in places.lines:
                    table, *rest = (str(part) for part in path)
                    header = "[[program]]" if table == "program" else f"[{table}]"
                    return InputError(f"{places.where(path)}: {' '.join([header, *rest])}", _of(error))
    return error if error.culprit.startswith("--") else InputError(f"{places.source}: {error.culprit}", error.problem)


def _of(error: InputError) -> str:
    """The problem, with its culprit where that says more than the key."""
    says_more = "@" in error.culprit or error.culprit == "applications"
    return f"{error.culprit}: {error.problem}" if says_more else error.problem
