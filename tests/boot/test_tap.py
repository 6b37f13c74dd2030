# SPDX-License-Identifier: BSD-2-Clause
"""A tap device, and connections that come again."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.deployment import Redis
from deploy.machine.run import Run
from deploy.machine.tap import DEVICE, Tap
from tests.boot.machine import ANSWER, assert_no_fault, machine, machine_serving, servers, with_redis
from topology.units import MIB

# ---- A Redis behind a tap device, where the card makes checksums and cuts up segments as far as it offers to ----

PACKET = 1514  # bytes of the longest frame that is one packet

# Sets and gets values of all sizes and listens to the device meanwhile: the sizes of the frames from the guest.
LOOK = """
import json, socket, sys, threading, redis
from redis.backoff import NoBackoff
from redis.retry import Retry
device, host, port, answer = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
ears = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
ears.bind((device, 0))
ears.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
ears.settimeout(0.2)
sizes, over = [], threading.Event()
def listen():
    while not over.is_set():
        try:
            size, (_, _, kind, _, _) = ears.recvfrom_into(bytearray(1 << 16))
            if kind != socket.PACKET_OUTGOING:
                sizes.append(size)
        except TimeoutError:
            pass
listener = threading.Thread(target=listen, daemon=True)
listener.start()
once = Retry(NoBackoff(), 0)
client = redis.Redis(host=host, port=port, socket_timeout=answer, socket_connect_timeout=answer, retry=once)
same = True
for size in (1, 1400, 1460, 1461, 4096, 65536, 1_000_003, 8 << 20):
    value = (b"%d." % size * size)[:size]
    same &= bool(client.set("key", value)) and client.get("key") == value
with client.pipeline(transaction=False) as pipe:
    for number in range(2000):
        pipe.echo("%d" % number * 50)
    same &= pipe.execute() == [b"%d" % number * 50 for number in range(2000)]
over.set()
listener.join()
print(json.dumps({"same": same, "longest": max(sizes), "frames": len(sizes)}))
"""
CARDS = {
    "all that it has": (),
    "sums, but no segments": ("-global", "virtio-net-pci.host_tso4=off"),
    "sums of what comes in only": ("-global", "virtio-net-pci.csum=off"),
    "sums of what leaves only": ("-global", "virtio-net-pci.guest_csum=off"),
    "nothing": ("-global", "virtio-net-pci.csum=off", "-global", "virtio-net-pci.guest_csum=off"),
}


@pytest.fixture(scope="module")
def tap() -> Iterator[Tap]:
    try:
        with Tap() as made:
            yield made
    except Failure as error:
        pytest.skip(str(error))


@pytest.fixture(params=CARDS)
def run(request: pytest.FixtureRequest, tap: Tap) -> Iterator[tuple[str, Run]]:
    with machine(replace(with_redis(1, 2), redis=Redis()), tap=tap, extra=CARDS[request.param]) as running:
        running.wait_serving()
        yield request.param, running


def test_values(run: tuple[str, Run], tap: Tap) -> None:
    """values of all sizes are the same behind a card that makes no checksums, some, or cuts up segments"""
    card, running = run
    host, port = running.address(servers(running)[0])
    command = tap.inside([sys.executable, "-c", LOOK, DEVICE, host, str(port), str(ANSWER)])
    seen: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE,
                                                     timeout=3 * ANSWER).stdout)
    assert seen["same"]
    assert (seen["longest"] > 4 * PACKET) == (card in ("all that it has", "sums of what leaves only")), seen
    assert seen["longest"] >= PACKET and seen["frames"] > 200
    assert_no_fault(running)


def test_gone(tap: Tap) -> None:
    """a machine's tap device is where its namespace is, and gone with it"""
    inside = subprocess.run(tap.inside(["ip", "-br", "link"]), check=True, capture_output=True, text=True).stdout
    assert DEVICE in inside and DEVICE not in subprocess.run(["ip", "-br", "link"], check=True, capture_output=True,
                                                             text=True).stdout


# ---- A client that comes again from the port of a connection that its server has just ended: TIME_WAIT ----

TRIES = 12
WAIT = 0.5  # seconds of the machine: a SYN that is not answered at once is sent again after one, at the earliest


def from_port(run: Run, port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.settimeout(ANSWER)
    connection.bind(("127.0.0.1", port))
    connection.connect(run.address(servers(run)[0]))
    return connection


def time_of(connection: socket.socket) -> float:
    """The machine's clock, as Redis tells it."""
    connection.sendall(b"TIME\r\n")
    answer = b""
    while answer.count(b"\r\n") < 5:
        part = connection.recv(100)
        assert part, "the connection was reset"
        answer += part
    lines = answer.split(b"\r\n")
    return int(lines[2]) + int(lines[4]) / 1e6


@pytest.mark.limit(150)
@pytest.mark.parametrize("stack", ["inproc", "process"])
def test_reconnect(stack: str) -> None:
    """a SYN for a connection in TIME_WAIT opens a new one at once"""
    what = with_redis(1, 2, "spanning")
    assert what.redis
    took = []
    with machine_serving(replace(what, redis=replace(what.redis, cpus=(1,), stack=stack, heap=256 * MIB))) as run:
        connection = from_port(run, 0)
        port = connection.getsockname()[1]
        for _ in range(TRIES):
            before = time_of(connection)
            connection.sendall(b"QUIT\r\n")
            assert connection.recv(100) == b"+OK\r\n" and connection.recv(1) == b""
            connection.close()
            connection = from_port(run, port)
            took.append(time_of(connection) - before)
        connection.close()
    assert min(took) < WAIT, took
