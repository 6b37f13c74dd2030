# SPDX-License-Identifier: BSD-2-Clause
"""The loader's own check of cluster maps, lib/cluster-map, on the host: whatever needs no machine."""

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from topology.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "lib/cluster-map"
SHARED = ("lib/freestanding/format.c", "lib/freestanding/refusal.c")
LIBRARY = ROOT / "build" / FOLDER / "cluster-map.so"
INCLUDES = (FOLDER, "lib/include", "cluster-kernel/include")
ROOM = 4096  # CLUSTER_MAP_ROOM of lib/cluster-map/host.h


def can_check() -> bool:
    """Not on a machine whose set-up is yet to come, which has neither dtc nor a compiler; the loader checks every map it boots."""
    return shutil.which("dtc") is not None and _library() is not None


def check_blob(blob: bytes) -> None:
    """Raises InputError for a devicetree that the loader would refuse on every machine."""
    library = _library()
    if library is None:
        return
    text = ctypes.create_string_buffer(ROOM)
    if not library.cluster_map_check(blob, ctypes.c_uint64(len(blob)), text, ctypes.c_uint64(ROOM)):
        raise refused(json.loads(text.value))


def refused(refusal: Mapping[str, str]) -> InputError:
    """What the loader's check says, as lib/cluster-map/host.h has it. The line begins with the node, unless it names two."""
    text, node = refusal["text"].removeprefix("map: "), refusal["node"]
    at = tuple(name for name in (refusal["cause"], refusal["cause_property"]) if name)
    for mark in (": ", " "):
        if node and text.startswith(node + mark) and not text.startswith(f"{node} and "):
            return InputError(node, text.removeprefix(node + mark), at=at)
    return InputError(node or "cluster map", text, at=at)


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
    """As the build made it; where there is none, or its sources have changed since, it is compiled here. None: no compiler."""
    sources = [path for path in sorted((ROOT / FOLDER).glob("*.c")) if not path.name.startswith("test-")] + [ROOT / name for name in SHARED]
    inputs = [*sources, *(header for folder in INCLUDES for header in (ROOT / folder).rglob("*.h"))]
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < max(path.stat().st_mtime for path in inputs):
        _compile(sources)
    if not LIBRARY.exists():
        return None
    library = ctypes.CDLL(str(LIBRARY))
    library.cluster_map_check.restype = ctypes.c_bool
    return library
