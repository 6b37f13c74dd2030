# SPDX-License-Identifier: BSD-2-Clause
"""A devicetree as a cluster map. The loader's code reads and checks it (checker.py); its answer becomes objects
here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topology.errors import InputError
from topology.machines.machine import Board, MemoryRange, Shape
from topology.maps.checker import read_map
from topology.maps.clustermap import Application, Channel, Cluster, ClusterMap, Cpu, Network, Range
from topology.maps.fdt import compile_dts, load

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
