# SPDX-License-Identifier: BSD-2-Clause
"""`skerry image`."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from deploy import deployment as deployments
from deploy.base.choices import argument, option
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import (
    Layout,
    Lock,
    MachineOptions,
    PlanOptions,
    adapt,
    check_unformed,
    load_plan,
    takes,
    threads,
)
from deploy.deployment import DEFAULT, modules
from deploy.deployment.planner import Plan, is_map, plan, plan_map
from deploy.machine import image as images
from deploy.machine.qemu import BINARY, user_network
from deploy.results import serial_log
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.machines import linux
from topology.machines.qemu import arguments, cpu_argument
from topology.machines.sources import LIVE, read_machine
from topology.maps.shares import distant
from topology.units import MIB

PORT = re.compile(r"none|(mmio:)?(0x[0-9a-f]+|[0-9]+)(,[0-9]+(,[124])?)?")


@dataclass(frozen=True, kw_only=True)
class ImageOptions:
    output_file: Annotated[Path, option("-o --output FILE", "The ISO to write.")]
    deployment: Annotated[Path | None, argument("[DEPLOYMENT]", "A deployment file or cluster map; "
                                                "default: Redis.")] = None
    live: Annotated[bool, option("--live", "Make the image for this machine instead of an emulated one.")] = False
    emulated: MachineOptions = MachineOptions()
    layout: Layout = None
    lock: Lock = None
    console: Annotated[str | None, option("--console PORT", "Serial port: none, 0x3f8, 0x3f8,115200, "
                                          "mmio:ADDRESS,BAUD,STRIDE.")] = None
    results: Annotated[str | None, option("--results PORT", "Serial port for results, in the same form.")] = None
    quiet: Quiet = False
    json: Json = None


@takes(ImageOptions)
def image(args: ImageOptions) -> None:
    """Write a bootable image of a deployment: BIOS and UEFI, optical disc or USB stick.

    It is for the machine that the deployment describes, or with --live for the one at hand (docs/bare-metal.md).
    """
    output, output_file, live = Output(args.quiet, args.json), args.output_file, args.live
    images.check_output(output_file)
    options = _options(console=args.console, results=args.results)
    what = _planned(args)
    if what.shares:
        raise InputError("volume", "a folder of the host needs a host, and an image may boot without one; run and "
                         "deploy have it")
    notes = [*what.machine.notes, *distant(what.cluster_map)]
    if not modules.are_built(what.cluster_map, own=what.own):
        ensure_built(output, needs.of_map(what.cluster_map, what.own))
    files = images.contents(what.cluster_map, own=what.own)
    with output.progress(f"Writing an image with {', '.join(files)}"):
        images.make_iso(output_file, files, modules.loader(debug=modules.is_debug(what.cluster_map)), what.name,
                        options, serial_log.notes(what))
    for note in notes:
        output.line(f"Note: {note}.")
    output.line(f"{output_file}: {output_file.stat().st_size / MIB:.1f} MiB, for {what.machine.name}.")
    output.line(f"To a stick, whose contents are lost: {write_command(output_file)}"
                if live else f"To boot it: {qemu_command(what, output_file)}")
    output.results({
        "skerry": version(),
        "command": "image",
        "image": str(output_file),
        "bytes": output_file.stat().st_size,
        "machine": what.machine.name,
        "live": live,
        "notes": notes,
        "modules": list(files),
    })


def _planned(args: ImageOptions) -> Plan:
    machine = args.emulated
    if args.live:
        if machine.sockets or machine.cores or machine.memory or machine.topology:
            raise InputError("--live", "is this machine as it is; not with --sockets, --cores, --memory or --topology")
        return _live(args.deployment, args.layout, args.lock, machine.smt)
    if args.deployment is None:
        return plan(adapt(DEFAULT, machine, args.layout, args.lock))
    return load_plan(PlanOptions(args.deployment, **vars(machine), layout=args.layout, lock=args.lock))


def write_command(image_file: Path) -> str:
    return f"sudo dd if={shlex.quote(str(image_file))} of=/dev/sdX bs=4M conv=fsync status=progress"


def qemu_command(what: Plan, image_file: Path) -> str:
    """Returns a command that emulates a machine like the image's, with events among the console's lines."""
    machine = ["-nodefaults", "-machine", "q35", "-cpu", cpu_argument(what.machine), *arguments(what.machine)]
    network = user_network(what.cluster_map.network, [], what.outside)
    card = ["-netdev", f"user,id=net,{network}", "-device", "virtio-net-pci,netdev=net,mac=52:54:00:53:4b:01,romfile="]
    return shlex.join([BINARY, *machine, *(card if what.cluster_map.network else []), "-cdrom", str(image_file),
                       "-display", "none", "-serial", "mon:stdio"])


def _options(**ports: str | None) -> str:
    """The loader's words for them."""
    for name, port in ports.items():
        if port is not None and not PORT.fullmatch(port):
            raise InputError(f"--{name}",
                             f"'{port}' is not a serial port: none, 0x3f8, 0x3f8,115200 or mmio:0xfe034000")
    return " ".join(f"{name}={port}" for name, port in ports.items() if port is not None)


def _live(file: Path | None, layout: str | None, lock: str | None, smt: str | None) -> Plan:
    """On this machine's own cores and memory. Its network card is driven only if the file says what with."""
    if linux.memory() is None:
        raise InputError("--live",
                         "this Linux does not show where memory lies: /sys/devices/system/memory is not there")
    machine = read_machine(LIVE, threads(smt, True))
    if file and is_map(file):
        if layout or lock:
            raise InputError(str(file), "is a cluster map: it says layout and lock itself")
        return plan_map(file, metal=machine)
    deployment = deployments.read(file) if file else DEFAULT
    check_unformed(deployment)
    return plan(deployment.with_clusters(layout, lock), metal=machine)
