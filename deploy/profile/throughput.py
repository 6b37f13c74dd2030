# SPDX-License-Identifier: BSD-2-Clause
"""Requests from outside for each second of the emulator's processor time, without a plugin: what the host measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deploy.base.timeouts import Patience, processor_seconds
from deploy.deployment import Deployment
from deploy.load.linux_guest.guest import build_guest
from deploy.load.linux_guest.machine import LinuxRun, Options as LinuxOptions
from deploy.load.measure import LINUX_PATIENCE
from deploy.machine import qemu
from deploy.machine.run import Options, boot
from deploy.machine.tap import Tap
from deploy.profile import linux
from deploy.profile.outside import Guest, Requests, load
from deploy.profile.run import deployment, planned
from topology.machines.machine import Machine, Shape

METRIC = "requests_per_cpu_s"
ENOUGH = 20_000  # requests: more than a second of Linux's


def accel(shape: Shape | Machine) -> qemu.Accel:
    return qemu.tcg_for(shape.cpus)


def of_skerry(
    shape: Shape | Machine, layout: str, lock: str, loads: Sequence[Requests], timeout: Patience, binary: str,
    tap: Tap | None = None
) -> list[float]:
    what = planned(shape, layout, lock)
    with boot(what, Options(accel(shape), timeout, "kernel", binary=binary, tap=tap)) as machine:
        server = what.forwards[0][0]
        machine.wait_event("serving", app=server)
        return [_measured(machine, machine.address(server), requests, timeout) for requests in loads]


def of_linux(
    shape: Shape | Machine, loads: Sequence[Requests], timeout: Patience, binary: str, tap: Tap | None = None
) -> list[float]:
    more = timeout.times(LINUX_PATIENCE)
    what = deployment(shape, linux.LAYOUT, Deployment.lock)
    with LinuxRun(build_guest(), what, LinuxOptions(accel(shape), more, binary=binary, tap=tap)) as run:
        run.wait_serving()
        return [_measured(run, run.address(next(iter(run.plan.ports))), requests, more) for requests in loads]


def _measured(guest: Guest, address: tuple[str, int], requests: Requests, timeout: Patience) -> float:
    """Behind a first load of the same kind: the emulator has translated the guest's code then."""
    load(guest, address, requests, timeout)
    many = replace(requests, count=ENOUGH * max(1, requests.pipeline // 4))
    began = processor_seconds(guest.pid)
    load(guest, address, many, timeout)
    return many.total / (processor_seconds(guest.pid) - began)
