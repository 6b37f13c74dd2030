# SPDX-License-Identifier: BSD-2-Clause
"""What leaves the machine through QEMU's user network: nothing, unless the deployment asks for a way out."""

import socket
from dataclasses import replace

import pytest
import redis

from deploy.deployment import Subnet
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, client, machine, servers, with_redis
from topology.maps.clustermap import Network

TIMEOUT = 5000  # ms that MIGRATE waits for its target
BEYOND = [Network().gateway, "10.0.2.3", "127.0.0.1", "192.0.2.1"]  # the host's loopback, its name server, the machine's own, anybody


def migrate(run: Run, target: str, port: int) -> str:
    """Has a client's Redis connect to the target and write a value there; returns what Redis answers."""
    with client(run, servers(run)[0]) as server:
        server.set("key", "sent by a client of this Redis")
        try:
            return str(server.execute_command("MIGRATE", target, port, "key", 0, TIMEOUT, "COPY"))
        except redis.ResponseError as error:
            return str(error)


@pytest.mark.parametrize("outside", [False, True])
def test_a_client_does_not_reach_the_hosts_loopback(outside: bool) -> None:
    """services of the host's 127.0.0.1 hear nothing of a client's MIGRATE, and everything with `outside = true`"""
    what = replace(with_redis(1, 2), subnet=Subnet(outside=outside))
    with socket.create_server(("127.0.0.1", 0)) as service, machine(what) as run:
        run.wait_serving()
        port = service.getsockname()[1]
        if outside:
            service.settimeout(ANSWER)
            answer = migrate(run, BEYOND[0], port)
            caller, _ = service.accept()
            with caller:
                caller.settimeout(ANSWER)
                received = b""
                while b"sent by a client" not in received:
                    assert (more := caller.recv(4096)), received
                    received += more
            assert "IOERR" in answer, answer  # the service is no Redis
            return
        for target in BEYOND:
            assert "IOERR" in migrate(run, target, port)
        service.settimeout(0)
        with pytest.raises(BlockingIOError):  # the answers have come: what was to come has come
            service.accept()
        with client(run, servers(run)[0]) as server:
            assert server.ping()  # forwarded ports lead in all the same
