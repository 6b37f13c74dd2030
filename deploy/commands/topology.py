# SPDX-License-Identifier: BSD-2-Clause
"""`skerry topology`."""

import json as json_text
import shlex
from pathlib import Path
from typing import Annotated

import typer

from deploy.modules import LOADER, collect
from deploy.options import Cores, Lock, Memory, Sockets, shape_of
from deploy.output import Output
from deploy.paths import BUILD
from deploy.qemu import topology_arguments
from topology import hwloc
from topology.check import check_map
from topology.clustermap import ClusterMap
from topology.draw import draw, to_json
from topology.dts import write_dts
from topology.errors import InputError
from topology.layouts import NAMES, is_layout_name, make_map
from topology.machine import Machine, Shape, default_memory, emulated
from topology.reader import read_file
from topology.units import parse_size

FORMATS = ("draw", "dts", "json", "qemu", "libvirt")

From = Annotated[
    str | None, typer.Option("--from", metavar="live|FILE", help="A machine: this one, or hwloc's XML of another.")
]
Layout = Annotated[str, typer.Option("--layout", metavar="LAYOUT", help=f"{NAMES} (.dts, .dtb) to read and check.")]
Format = Annotated[str, typer.Option("--format", "-f", metavar="|".join(FORMATS), help="What to print.")]


def topology(
    source: From = None,
    sockets: Sockets = None,
    cores: Cores = None,
    memory: Memory = None,
    layout: Layout = "per-socket",
    lock: Lock = None,
    format: Format = "draw",
) -> None:
    """Turn a machine into a cluster map, or check a map that somebody wrote.

    The machine is the emulated one (two sockets of two cores, unless told otherwise), this one, or hwloc's XML.
    """
    if format not in FORMATS:
        raise InputError("--format", f"'{format}' is not one of {', '.join(FORMATS)}")
    if format == "libvirt":
        raise InputError("--format", "libvirt is not there yet")
    output = Output()
    if is_layout_name(layout) or not _looks_like_file(layout):
        machine = _machine(source, sockets, cores, memory) or emulated(Shape())
        cluster_map = make_map(machine, layout, lock or "clh")
    else:
        if lock:
            raise InputError("--lock", f"{layout} is a map: it says its kernels itself")
        cluster_map = read_file(Path(layout))
        machine = _machine(source, sockets, cores, memory) or emulated(cluster_map.shape or Shape())
    check_map(cluster_map, machine)
    if (BUILD / LOADER).exists():  # before the first build there are no images to look for
        collect(cluster_map)
    _print(output, cluster_map, machine, format)


def _looks_like_file(layout: str) -> bool:
    return Path(layout).suffix in (".dts", ".dtb") or "/" in layout or Path(layout).is_file()


def _machine(source: str | None, sockets: int | None, cores: int | None, memory: str | None) -> Machine | None:
    """What the command line says; None when it says nothing."""
    if source is None:
        if sockets is None and cores is None and memory is None:
            return None
        size = parse_size(memory, "--memory") if memory else default_memory(cores or Shape.cores)
        return emulated(Shape(sockets or Shape.sockets, cores or Shape.cores, size))
    if sockets or cores or memory:
        raise InputError("--from", "is a machine already; not with --sockets, --cores or --memory")
    return hwloc.live() if source == "live" else hwloc.read_xml(Path(source))


def _print(output: Output, cluster_map: ClusterMap, machine: Machine, format: str) -> None:
    if format == "draw":
        output.table(draw(cluster_map))
    elif format == "dts":
        print(write_dts(cluster_map), end="")
    elif format == "json":
        print(json_text.dumps(to_json(cluster_map), indent=2))
    else:
        print(shlex.join(["-machine", "q35", *topology_arguments(shape_of(machine))]))
