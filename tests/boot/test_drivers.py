# SPDX-License-Identifier: BSD-2-Clause
"""Drivers of network cards beside the usual one, which all other tests use."""

import socket
from collections.abc import Iterator

import pytest

from deploy.deployment import Subnet
from deploy.deployment.planner import plan
from deploy.machine import monitor
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, assert_no_fault, client, machine, servers, with_redis
from tests.boot.test_switches import waiting_client
from topology import drivers

DRIVER = "e1000e"
CONNECTIONS = 150
SIZES = [1, 1400, 1460, 1461, 4096, 65536, 1_000_003]
# Cards of both kinds, behind the one that the network is at: the driver takes the first of its own.
OTHER_CARDS = ("-device", "virtio-net-pci,romfile=", "-device", "e1000e,romfile=")


@pytest.fixture(scope="module", params=["per-socket", "spanning"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    what = with_redis(2, 2, request.param, subnet=Subnet(driver=DRIVER))
    with machine(what, extra=OTHER_CARDS) as running:
        running.wait_serving()
        yield running


def test_values(run: Run) -> None:
    """each Redis answers with values of all sizes"""
    for name in servers(run):
        with client(run, name) as server:
            for size in SIZES:
                value = (name.encode() * size)[:size]
                assert server.set("key", value) and server.get("key") == value
    assert_no_fault(run)


def test_connections(run: Run) -> None:
    """many connections at once are all answered"""
    name = servers(run)[0]
    opened = [socket.create_connection(run.address(name), ANSWER) for _ in range(CONNECTIONS)]
    try:
        for batch in range(3):
            for connection in opened:
                connection.sendall(b"PING\r\n" * 5)
            for connection in opened:
                answer = b""
                while len(answer) < 5 * len(b"+PONG\r\n"):
                    answer += connection.recv(1000)
                assert answer == b"+PONG\r\n" * 5, batch
    finally:
        for connection in opened:
            connection.close()
    assert_no_fault(run)


def test_link(run: Run) -> None:
    """a link that goes down is said, and a client that waited meanwhile is answered when it is up again"""
    name = servers(run)[-1]
    with waiting_client(run, name) as waiting, client(run, name) as server:
        monitor.human(run.command.monitor, "set_link net off")
        run.wait_for(lambda: "the link is down" in run.console, "the driver's line of the link")
        waiting.sendall(b"PING\r\n")
        monitor.human(run.command.monitor, "set_link net on")
        run.wait_for(lambda: "the link is up" in run.console, "the driver's line of the link")
        assert server.rpush("nothing", "something")
        assert waiting.recv(100).startswith(b"*2")
    assert_no_fault(run)


def test_other_card() -> None:
    """a machine without such a card says so, in one line that names the driver and where its cards are listed"""
    run = machine(plan(with_redis(1, 2, subnet=Subnet(driver=DRIVER))))
    run.command.driver = drivers.usual()
    with run:
        run.wait_event("failed", app=f"{DRIVER}@1")
        run.wait_for(lambda: "Ready to accept" in run.console, "the rest of the machine, which runs on")
        lines = [line for line in run.console.splitlines() if "no PCI device" in line]
        assert len(lines) == 1 and f"{DRIVER}@1: no PCI device" in lines[0], run.console
