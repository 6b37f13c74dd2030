# SPDX-License-Identifier: BSD-2-Clause
"""Machines for the tests: emulated, so that every machine gives the same verdict."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Program, Redis
from deploy.deployment.engines import is_server
from deploy.deployment.planner import Plan, plan
from deploy.machine import qemu
from deploy.machine.run import Options, Run, boot
from topology.machines.machine import Shape, default_memory
from topology.units import MIB

PATIENCE = 60.0  # seconds in which something must move: tens of times what a boot takes
# seconds of the host's time for an answer, which takes milliseconds: hosts are slow, or have more to do
ANSWER = 100.0


def deployment(sockets: int = 2, cores: int = 2, layout: str = "per-socket", **rest: Any) -> Deployment:
    """Runs on until it is stopped, unless `rest` says otherwise."""
    shape = Shape(sockets, cores, default_memory(cores))
    return Deployment(**{"name": "test", "shape": shape, "layout": layout, "shutdown": "never"} | rest)


def with_redis(sockets: int = 2, cores: int = 2, layout: str = "per-socket", **rest: Any) -> Deployment:
    return replace(deployment(sockets, cores, layout, **rest), redis=Redis(heap=64 * MIB))


def machine(what: Deployment | Plan, **options: Any) -> Run:
    """Booted without GRUB unless `medium` says so: these tests are not about GRUB."""
    target = what if isinstance(what, Plan) else plan(what)
    accel = options.pop("accel", None) or qemu.tcg_for(len(target.machine.cores))
    return boot(target, Options(accel, **{"patience": Patience(PATIENCE), "medium": "kernel"} | options))


def boots(run: Run) -> bool:
    """Whether each cluster has reported its start once."""
    return len(run.events.of("boot")) == len(run.plan.cluster_map.clusters)


@contextmanager
def machine_booted(what: Deployment | Plan, **options: Any) -> Iterator[Run]:
    with machine(what, **options) as run:
        run.wait_for(lambda: boots(run), "all clusters")
        yield run


@contextmanager
def machine_serving(what: Deployment | Plan, **options: Any) -> Iterator[Run]:
    with machine(what, **options) as run:
        run.wait_serving()
        yield run


def servers(run: Run) -> list[str]:
    return [app.name for app in run.plan.cluster_map.applications if is_server(app)]


def client(run: Run, name: str, **options: Any) -> redis.Redis:
    """Asks each command once: an answer that is lost is an error."""
    host, port = run.address(name)
    once: dict[str, Any] = {"socket_timeout": ANSWER, "socket_connect_timeout": ANSWER, "retry": Retry(NoBackoff(), 0)}
    return redis.Redis(host=host, port=port, **once | options)


def order(run: Run, name: str, command: str) -> None:
    """A command whose answer may never come: it is on its way when this returns, and nobody waits."""
    with socket.create_connection(run.address(name), ANSWER) as connection:
        connection.settimeout(ANSWER)
        connection.sendall(b"PING\r\n")
        assert connection.recv(16) == b"+PONG\r\n"
        connection.sendall(command.encode() + b"\r\n")


def assert_serve(run: Run, *names: str) -> None:
    """Each of these answers; without names, every Redis."""
    for name in names or servers(run):
        with client(run, name) as server:
            assert server.ping()


@contextmanager
def waiting_client(run: Run, name: str) -> Iterator[socket.socket]:
    """Yields a client whose answer never comes."""
    with socket.create_connection(run.address(name), ANSWER) as waiting:
        waiting.sendall(b"BLPOP nothing 0\r\n")
        with client(run, name) as server:
            while not server.info("clients")["blocked_clients"]:
                pass
        yield waiting


@contextmanager
def killed(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Leaves no process behind: what runs still at the end is killed."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def assert_no_fault(run: Run) -> None:
    run.poll()
    assert run.running, run.reason()
    for kind in ("fault", "failed", "exit", "cluster-lost", "bad-line"):
        assert not run.events.of(kind), run.events.of(kind)[0]


def crash(way: str, cpu: int) -> Program:
    return Program("crash", cpu, args=(way,), barrier=False, name=f"crash-{way}")
