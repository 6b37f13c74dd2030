# SPDX-License-Identifier: BSD-2-Clause
"""redis-benchmark on the host against one Redis of a guest: the guest's instructions for a request, of Skerry and of
Linux; without a plugin, requests for each second of the emulator's processor time, which the host measures."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.readiness import PATIENCE as PONG_PATIENCE, first_pong
from deploy.base.timeouts import Clock, Patience, processor_seconds, slowness
from deploy.deployment import Deployment
from deploy.load.linux_guest.guest import build_guest, on_host
from deploy.load.linux_guest.machine import LinuxRun, Options as LinuxOptions
from deploy.load.measure import LINUX_PATIENCE
from deploy.machine import qemu
from deploy.machine.run import Options, boot
from deploy.machine.tap import Tap
from deploy.profile import linux
from deploy.profile.linux import Mapped
from deploy.profile.programs import read_blocks
from deploy.profile.run import counted, deployment, planned, programs_of, server
from deploy.profile.tally import Owner, Profile, tally
from topology import demand
from topology.machines.machine import Machine, Shape

BENCHMARK = "redis-benchmark"
COMMAND = "getCommand"  # Redis's function at which each GET begins
KEY, VALUE = "key:__rand_int__", "xxx"  # that redis-benchmark asks for, and as long as what it sets
PIE = 0x555555554000  # where Linux puts a position-independent program, with norandmaps
_CODE = 15  # bytes that tell Redis from other programs with code at the same address
_POLL = 0.05


@dataclass(frozen=True)
class Requests:
    """GETs of a short value."""

    connections: int = 50
    pipeline: int = 1
    count: int = 3000  # that are counted

    @property
    def before(self) -> int:
        """So many that every connection is at work."""
        return 4 * self.connections * self.pipeline

    @property
    def total(self) -> int:
        """With as many again behind those that are counted: none of them is one of the last."""
        return 2 * self.before + self.count

    @property
    def unit(self) -> str:
        return "request"

    def window(self, command: int, code: bytes) -> dict[str, str]:
        """Returns the plugin's options. `command`: where Redis has COMMAND."""
        return {"skip": str(self.before), "count": str(self.count), "to": f"{command:x}:{code[:_CODE].hex()}"}

    def words(self, address: tuple[str, int]) -> list[str]:
        return [
            *("-h", address[0], "-p", str(address[1]), "-t", "get", "-c", str(self.connections), "-P",
              str(self.pipeline)),
            *("-n", str(self.total), "-d", str(len(VALUE)), "--csv"),
        ]


class Guest(Protocol):
    @property
    def pid(self) -> int: ...

    command: qemu.Command


def skerry(
    shape: Shape | Machine, layout: str, lock: str, requests: Requests, timeout: Patience, binary: str,
    tap: Tap | None = None, build: Path = BUILD,
) -> Profile:
    what = planned(shape, layout, lock)
    programs = programs_of(what, build)
    redis = next(program for program in programs if program.name == "redis-server")
    command = redis.image.symbol(COMMAND).address
    how = Options(qemu.TCG_COUNTED_OUTSIDE, timeout, "kernel", binary=binary, build=build, tap=tap)
    with counted(what, how, requests.window(command, redis.bytes_at(command, _CODE))) as (machine, blocks):
        load(machine, server(machine, what), requests, timeout)
    return tally(blocks, programs, requests.count, requests.unit)


def of_linux(
    shape: Shape | Machine, requests: Requests, timeout: Patience, binary: str, tap: Tap | None = None,
    build: Path = BUILD
) -> Profile:
    """Profiles the same programs on Linux, on the same machine."""
    what = deployment(shape, linux.LAYOUT, Deployment.lock)
    redis = Mapped("redis-server", on_host("/bin/redis-server", build), PIE)
    at = redis.image.symbol(COMMAND).address
    with TemporaryDirectory(prefix="skerry-profile-") as folder:
        out = Path(folder) / "blocks"
        window = requests.window(PIE + at, redis.bytes_at(at, _CODE))
        how = linux.options(qemu.TCG_COUNTED_OUTSIDE, timeout.times(LINUX_PATIENCE), binary, out, window, None, build)
        with LinuxRun(build_guest(), what, replace(how, tap=tap)) as run:
            run.wait_serving()
            load(run, run.address(next(iter(run.plan.ports))), requests, timeout.times(LINUX_PATIENCE))
            programs: list[Owner] = linux.owners(run, Path(folder), build)
        if not any(isinstance(owner, Mapped) and owner.path == redis.path and owner.base == redis.base
                   for owner in programs):
            raise Failure(f"the Linux guest has its Redis elsewhere than at {PIE:#x}")
        return tally(read_blocks(out), programs, requests.count, requests.unit)


def load(guest: Guest, address: tuple[str, int], requests: Requests, timeout: Patience) -> None:
    """Runs it to its end; an error of it, and standing still, are failures."""
    client = ["redis-cli", "-h", address[0], "-p", str(address[1])]
    if guest.command.tap:  # where this process is not
        _talk([*client, "ping"], guest, timeout, "PONG")
    else:
        first_pong(address, guest.pid, max(PONG_PATIENCE, timeout.silence))
    _talk([*client, "set", KEY, VALUE], guest, timeout, "OK")
    _talk([BENCHMARK, *requests.words(address)], guest, timeout, '"GET"')


def _talk(command: list[str], guest: Guest, timeout: Patience, last_line: str) -> None:
    name = demand.program(command[0], "outside")
    tap = guest.command.tap
    with subprocess.Popen(tap.inside(command) if tap else command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as talking:
        try:
            clock = Clock(lambda: [guest.pid, talking.pid])
            began = time.monotonic()
            while talking.poll() is None:
                over = time.monotonic() - began > timeout.limit if timeout.limit else clock.look(
                    ) > timeout.silence * slowness()
                if over:
                    raise Failure(f"{name} has not ended")
                time.sleep(_POLL)
        finally:
            talking.kill()
        text = talking.stdout.read() if talking.stdout else ""
    if talking.returncode or last_line not in text:
        raise Failure(f"{name}: {text.strip().splitlines()[-1:] or 'nothing said'}")


METRIC = "requests_per_cpu_s"
ENOUGH = 20_000  # requests: more than a second of Linux's


def accel(shape: Shape | Machine) -> qemu.Accel:
    return qemu.tcg_for(shape.cpus)


def skerry_speeds(
    shape: Shape | Machine, layout: str, lock: str, loads: Sequence[Requests], timeout: Patience, binary: str,
    tap: Tap | None = None
) -> list[float]:
    what = planned(shape, layout, lock)
    with boot(what, Options(accel(shape), timeout, "kernel", binary=binary, tap=tap)) as machine:
        address = server(machine, what)
        return [_measured(machine, address, requests, timeout) for requests in loads]


def linux_speeds(
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
