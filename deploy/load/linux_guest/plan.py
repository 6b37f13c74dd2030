# SPDX-License-Identifier: BSD-2-Clause
"""A deployment as the Linux guest runs it: the same programs on the same cores with the same arguments.

What differs: all Redis instances share the guest's one address and listen on ports of their own, and clients reach
them over the loopback interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import write_bytes
from deploy.deployment import Deployment
from deploy.deployment.engines import is_server
from deploy.deployment.planner import expand
from deploy.deployment.switches import switches
from deploy.machine.cpio import Archive
from deploy.machine.image import DirectBoot
from topology.machines.machine import emulated
from topology.maps.clustermap import Application

RENDEZVOUS = "/tmp/meet"


@dataclass(frozen=True)
class GuestPlan:
    text: str  # see plan.c
    ports: dict[str, int]  # each Redis's port, by the instance's name
    shares: dict[str, int]  # how many records each client loads, by the client's name


def guest_plan(deployment: Deployment, symbols: bool = False) -> GuestPlan:
    """`symbols`: what names the guest's code is to be reported."""
    assert deployment.redis
    machine = emulated(deployment.shape)
    apps = expand(deployment, len(machine.cores), network=switches(deployment, machine))
    servers = [app for app in apps if is_server(app)]
    clients = [app for app in apps if app.program == "ycsb"]
    ports = {app.name: deployment.redis.port + i for i, app in enumerate(servers)}
    by_address = {app.ipv4: ports[app.name] for app in servers}

    lines = []
    for app in servers:
        port = str(ports[app.name])
        arguments = _replaced(app.args, {"--port": port})
        lines.append(["serve", str(app.cpu), app.name, port, f"/bin/{app.program}", *arguments])
    for app in clients:
        lines.append(["run", str(app.cpu), app.name, "/bin/ycsb", *_client_args(app, by_address, len(clients))])
    if clients:
        lines.append(["rendezvous", RENDEZVOUS])
    if symbols:
        lines.append(["symbols"])
    text = "".join("\t".join(line) + "\n" for line in lines)
    shares = {app.name: int(app.args[app.args.index("--load-count") + 1]) for app in clients}
    return GuestPlan(text, ports, shares)


def _client_args(app: Application, ports: dict[str | None, int], parties: int) -> list[str]:
    server = app.args[app.args.index("--host") + 1]
    arguments = _replaced(app.args, {"--host": "127.0.0.1", "--port": str(ports[server])})
    waits = arguments.index("--await")  # init starts clients when all servers answer
    del arguments[waits : waits + 2]
    return [*arguments, "--name", app.name, "--rendezvous", RENDEZVOUS, "--parties", str(parties)]


def _replaced(arguments: list[str], values: dict[str, str]) -> list[str]:
    words = list(arguments)
    for option, value in values.items():
        words[words.index(option) + 1] = value
    return words


def with_plan(guest: DirectBoot, plan: GuestPlan, folder: Path) -> DirectBoot:
    """The guest with this plan: the kernel unpacks archives that follow one another."""
    archive = Archive()
    archive.file("/plan", plan.text.encode())
    initrd = folder / "initrd"
    write_bytes(initrd, guest.initrd.read_bytes() + archive.finish())
    return DirectBoot(guest.kernel, initrd)
