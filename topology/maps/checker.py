# SPDX-License-Identifier: BSD-2-Clause
"""The loader's own reader of cluster maps, lib/cluster-map, on the host: reads them, and checks whatever needs no
machine."""

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from topology import demand
from topology.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "lib/cluster-map"
SHARED = ("lib/freestanding/format.c", "lib/freestanding/error_message.c")
LIBRARY = ROOT / "build" / FOLDER / "cluster-map.so"
INCLUDES = (FOLDER, "lib/include", "cluster-kernel/include")


def can_check() -> bool:
    """Not on a machine whose set-up is yet to come, which has neither dtc nor a compiler; the loader checks every map
    it boots."""
    return shutil.which("dtc") is not None and _library() is not None


def read_map(blob: bytes, source: str = "cluster map") -> dict[str, Any]:
    """Returns what lib/cluster-map/host.h reads of a map; InputError for one that the loader would refuse on every
    machine, or that has what no map has."""
    if _library() is None:
        demand.program("cc", "build")
        _library.cache_clear()
    library = _library()
    if library is None:
        raise InputError("cc", "not found; install gcc and libfdt-dev, with which maps are read")
    answer = json.loads(library.cluster_map_json(blob, ctypes.c_uint64(len(blob))))
    if "error" in answer:
        raise refused(answer["error"], source)
    return cast(dict[str, Any], answer)


def refused(error: Mapping[str, str], source: str = "cluster map") -> InputError:
    """The culprit is the node, or all of the source; the line begins with it, unless it names two nodes."""
    text, node = error["text"].removeprefix("map: "), error.get("node", "")
    at = tuple(error[name] for name in ("cause", "cause_property") if error.get(name))
    for mark in (": ", " "):
        if node and text.startswith(node + mark) and not text.startswith(f"{node} and "):
            return InputError(source if node == "/" else node, text.removeprefix(node + mark), at=at)
    return InputError(node or source, text, at=at)


def _compile(sources: list[Path]) -> None:
    made = LIBRARY.with_suffix(f".{os.getpid()}")
    command = ["cc", "-shared", "-fPIC", *(f"-I{ROOT / folder}" for folder in INCLUDES), *map(str, sources), "-lfdt"]
    try:
        LIBRARY.parent.mkdir(parents=True, exist_ok=True)
        if subprocess.run([*command, "-o", str(made)], capture_output=True).returncode == 0:
            made.replace(LIBRARY)
    except OSError:  # no compiler, or a tree of somebody else's
        pass


@cache
def _library() -> ctypes.CDLL | None:
    """Loads the library of the build; compiles it here where there is none, or its sources have changed since. None: no
    compiler."""
    sources = [path for path in sorted((ROOT / FOLDER).glob("*.c")) if not path.name.startswith("test-")] + [ROOT / name
        for name in SHARED]
    inputs = [*sources, *(header for folder in INCLUDES for header in (ROOT / folder).rglob("*.h"))]
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < max(path.stat().st_mtime for path in inputs):
        _compile(sources)
    if not LIBRARY.exists():
        return None
    library = ctypes.CDLL(str(LIBRARY))
    library.cluster_map_json.restype = ctypes.c_char_p
    return library
