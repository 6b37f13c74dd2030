# SPDX-License-Identifier: BSD-2-Clause
"""A devicetree as a cluster map. The loader's own reader, lib/cluster-map, reads and checks it on the host; its answer
becomes objects here."""

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from topology import demand
from topology.errors import InputError
from topology.machines.machine import Board, MemoryRange, Shape
from topology.maps.clustermap import Application, Channel, Cluster, ClusterMap, Cpu, Network, Range
from topology.maps.dts import compile_dts, load

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
    """Returns what lib/cluster-map/read.h reads of a map; InputError for one that the loader would refuse on every
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


_SHAPE = {"sockets": "sockets", "l3-caches-per-socket": "caches", "threads-per-core": "threads"}
BOARD = {**_SHAPE, "cores-per-l3-cache": "cores"}  # of an irregular machine
REGULAR = {**_SHAPE, "cores-per-socket": "cores", "memory-per-node": "memory", "nodes-per-socket": "nodes"}


def _texts(node: str, key: str, values: Sequence[str]) -> list[str]:
    """The library gives each byte as a character."""
    try:
        return [value.encode("latin-1").decode() for value in values]
    except UnicodeDecodeError:
        raise InputError(node, f"{key} is not text", at=(node, key)) from None


def _cluster(data: dict[str, Any]) -> Cluster:
    data["memory"] = [Range(*r) for r in data["memory"]]
    cluster = Cluster(**data)
    cluster.modules = _texts(cluster.name, "modules", cluster.modules)
    return cluster


def _channel(data: dict[str, Any]) -> Channel:
    ivshmem = tuple(data["ivshmem"]) if "ivshmem" in data else None
    return Channel(data["number"], tuple(data["ends"]), Range(*data["memory"]), ivshmem)


def _application(data: dict[str, Any]) -> Application:
    name = data.pop("name")
    base, _, number = name.rpartition("@")
    data |= {"pci_ids": [tuple(pair) for pair in data["pci_ids"]], "user": tuple(data["user"])}
    data |= {key: _texts(name, key, data[key]) for key in ("args", "env")}
    if "mac" in data:
        data["mac"] = bytes.fromhex(data["mac"])
    return Application(int(number, 16), base, **data)


def _shape(data: dict[str, int] | None) -> Shape | Board | None:
    if data is None:
        return None
    if "cores-per-l3-cache" in data:
        return Board(**{BOARD[name]: value for name, value in data.items()})
    return Shape(**{REGULAR[name]: value for name, value in data.items()})


def read_blob(blob: bytes, source: str = "cluster map") -> ClusterMap:
    known = read_map(blob, source)
    return ClusterMap(
        cpus=[Cpu(*cpu) for cpu in known["cpus"]],
        memory=[MemoryRange(*r) for r in known["memory"]],
        distances={(a, b): distance for a, b, distance in known["distances"]},
        clusters=[_cluster(data) for data in known["clusters"]],
        channels=[_channel(data) for data in known["channels"]],
        network=Network(**known["network"]) if "network" in known else None,
        applications=[_application(data) for data in known["applications"]],
        shutdown="when-done" if known["shutdown"] else None,
        failure_timeout=known["patience"] or None,
        shape=_shape(known.get("machine")),
    )


def read_dts(text: str, source: str = "cluster map") -> ClusterMap:
    return read_blob(compile_dts(text, source), source)


def read_file(path: Path) -> ClusterMap:
    """A map that somebody wrote, .dts or .dtb."""
    return read_blob(load(path), str(path))
