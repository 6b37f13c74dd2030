# SPDX-License-Identifier: BSD-2-Clause
"""`skerry topology`."""

import json as json_text
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from deploy.base.choices import files, option, words
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import LAYOUTS, Cores, From, Lock, Memory, Smt, Sockets, takes, threads
from deploy.deployment.modules import are_built, collect
from deploy.report.machine import svg
from topology.errors import InputError
from topology.grouping import EXPLAINED, is_layout_name
from topology.machines.irregular import machine_of
from topology.machines.libvirt_domain import domain
from topology.machines.machine import Machine, Shape, default_memory, emulated, with_shape
from topology.machines.qemu import arguments, cpu_argument
from topology.machines.sources import LIVE, read_machine
from topology.maps.check import check_map
from topology.maps.clustermap import ClusterMap
from topology.maps.draw import draw, to_json
from topology.maps.dts import write_dts
from topology.maps.mapmaker import make_map
from topology.maps.reader import read_file
from topology.units import LARGE_PAGE, format_size, parse_size

FORMATS = ("draw", "dts", "json", "svg", "qemu", "libvirt")


@dataclass(frozen=True)
class TopologyOptions:
    source: From = None
    sockets: Sockets = None
    cores: Cores = None
    memory: Memory = None
    layout: Annotated[str, option("--layout LAYOUT", f"What a cluster is. {EXPLAINED}; or a map file (.dts, .dtb) to "
                                  "read and check.", shell_complete=files(*LAYOUTS))] = "per-socket"
    smt: Smt = None
    lock: Lock = None
    format: Annotated[str, option("--format -f", "What to print.", metavar="|".join(FORMATS),
                                  autocompletion=words(*FORMATS))] = "draw"
    quiet: Quiet = False
    json: Json = None


@takes(TopologyOptions)
def topology(args: TopologyOptions) -> None:
    """Turn a machine into a cluster map, or check a map.

    The machine is the emulated one (two sockets of two cores, unless told otherwise), or one from --from. With --from
    and --memory it is an emulated machine like that one, with so much memory in each node that has any.
    """
    layout, format = args.layout, args.format
    if format not in FORMATS:
        raise InputError("--format", f"'{format}' is not one of {', '.join(FORMATS)}")
    output = Output(args.quiet, args.json)
    machine = _machine(args.source, args.sockets, args.cores, args.memory, args.smt)
    if is_layout_name(layout) or not _looks_like_file(layout):
        machine = machine or emulated(Shape())
        cluster_map = make_map(machine, layout, "clh" if args.lock is None else args.lock)
    else:
        if args.lock or args.smt:
            raise InputError("--lock" if args.lock else "--smt",
                             f"{layout} is a map: it says its kernels and cores itself")
        cluster_map = read_file(Path(layout))
        machine = machine or machine_of(cluster_map)
    check_map(cluster_map, machine)
    if are_built(cluster_map):  # where no command has needed them yet, there are no images to look at
        collect(cluster_map)
    if args.json != "-":
        _print(output, cluster_map, machine, format)
    output.results({"skerry": version(), "command": "topology", "layout": layout, **to_json(cluster_map, machine)})


def _looks_like_file(layout: str) -> bool:
    return Path(layout).suffix in (".dts", ".dtb") or "/" in layout or Path(layout).is_file()


def _machine(
    source: str | None, sockets: int | None, cores: int | None, memory: str | None, smt: str | None
) -> Machine | None:
    """Returns the machine of the command line; None where it names none."""
    size = parse_size(memory, "--memory") if memory else None
    both = threads(smt, source is not None)
    if source is None:
        if sockets is None and cores is None and size is None:
            return None
        cores = cores or Shape.cores
        return emulated(Shape(sockets or Shape.sockets, cores, size or default_memory(cores)))
    if sockets or cores:
        raise InputError("--from", "is a machine already; not with --sockets or --cores")
    if size and size % LARGE_PAGE:
        raise InputError("--memory", f"{format_size(size)} is not a multiple of 2 MiB")
    machine = read_machine(source, both, size, may_connect=True)
    return machine if source == LIVE and not size else with_shape(machine)


def _print(output: Output, cluster_map: ClusterMap, machine: Machine, format: str) -> None:
    if format == "draw":
        output.table(draw(cluster_map, machine))
    elif format == "dts":
        print(write_dts(cluster_map), end="")
    elif format == "json":
        print(json_text.dumps(to_json(cluster_map, machine), indent=2))
    elif format == "svg":
        print(svg(f"{machine.name}: {len(cluster_map.clusters)} cluster{'s' * (len(cluster_map.clusters) > 1)}",
                  to_json(cluster_map, machine)), end="")
    elif format == "libvirt":
        print(domain(machine, cluster_map), end="")
    else:
        print(shlex.join(["-machine", "q35", "-cpu", cpu_argument(machine), *arguments(machine)]))
