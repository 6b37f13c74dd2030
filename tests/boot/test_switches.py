# SPDX-License-Identifier: BSD-2-Clause
"""Switches between programs, and what ends at their edges."""

import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.deployment import Load
from deploy.deployment.planner import Plan, plan
from deploy.deployment.reader import parse
from deploy.machine.run import Run
from tests.boot import gdb
from tests.boot.machine import (
    assert_no_fault,
    assert_serve,
    client,
    machine,
    machine_serving,
    servers,
    waiting_client,
    with_redis,
)
from tests.boot.test_odd_ends import PATIENCE, is_over
from tests.ports import reserved_port
from topology.maps.clustermap import Application

pytestmark = pytest.mark.drawn

# ---- A switch on each socket: everybody reaches everybody, and one that ends takes only its own users with it ----

LAYOUTS = ["per-socket", "spanning"]


def switches(what: Plan) -> list[Application]:
    return [app for app in what.cluster_map.applications if app.role == "switch"]


@pytest.mark.limit(300)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_clients_across(layout: str) -> None:
    """clients on each socket use a Redis of the other one, and lose no operation"""
    load = Load(clients=2, records=300, operations=300)
    what = plan(with_redis(2, 4, layout, shutdown="when-done", load=load))
    assert [app.cpu for app in switches(what)] == [0, 4]
    apps = what.cluster_map.applications
    instances = [app for app in apps if app.program == "redis-server"]
    own = {app.name: app for app in instances}
    for app in apps:  # each client's server becomes that of the other socket
        if app.program == "ycsb":
            (name,) = app.awaits
            other = instances[(instances.index(own[name]) + len(instances) // 2) % len(instances)]
            assert other.switch != app.switch and other.ipv4
            app.args[app.args.index("--host") + 1] = other.ipv4
            app.args[app.args.index("--await") + 1] = other.name
            app.awaits = [other.name]
    with machine(what) as run:
        run.wait_done()
        assert run.events.of("done")[0]["status"] == 0
        results = [e.data["data"] for e in run.events.of("result") if e.data["data"].get("event") == "ycsb"]
        assert len(results) == len(instances) * load.clients
        assert not run.events.of("fault") and not run.events.of("failed")


@pytest.fixture(scope="module", params=LAYOUTS)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    what = with_redis(2, 4, request.param)
    assert what.redis
    args = (*what.redis.args, "--enable-debug-command", "yes")
    with machine(replace(what, redis=replace(what.redis, args=args))) as running:
        running.wait_serving()
        yield running


def test_all_answer(run: Run) -> None:
    """each Redis answers from outside, with values longer than its port's rings"""
    for name in servers(run):
        with client(run, name) as server:
            value = name.encode() * 100_000
            assert server.set("key", value) and server.get("key") == value
    assert_no_fault(run)


def test_an_instance_ends(run: Run) -> None:
    """a waiting client of an instance behind the lower switch is reset, and so is a new one; its neighbour serves on"""
    name, other = servers(run)[-2:]
    with waiting_client(run, name) as waiting:
        with socket.create_connection(run.address(name), PATIENCE) as last:
            last.sendall(b"DEBUG SEGFAULT\r\n")
            run.wait_event("fault", app=name)
            assert is_over(waiting), "the client still waits for its answer"
            assert is_over(last)
    assert refused(run, name)
    assert_serve(run, other)


def refused(run: Run, name: str) -> bool:
    """A new client hears that nobody is there."""
    try:
        connection = socket.create_connection(run.address(name), PATIENCE)
    except ConnectionError:
        return True
    with connection:  # the emulator has accepted it before it knew
        return is_over(connection)


@pytest.mark.limit(200)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_lower_switch_ends(layout: str) -> None:
    """new clients of the instances behind it are reset at once; all others are served"""
    what = plan(with_redis(2, 4, layout))
    lower = switches(what)[1]
    lower.program, lower.args = "crash", ["null"]  # in its place
    home = what.cluster_map.cluster_of(lower.cpu)
    assert home
    home.modules.append("crash")
    with machine_serving(what) as run:
        run.wait_event("fault", app=lower.name)
        behind = [name for name in servers(run) if run.plan.application(name).switch == lower.name]
        assert len(behind) == 3
        for name in servers(run):
            if name in behind:
                assert refused(run, name)
            else:
                with client(run, name) as server:
                    assert server.set("key", b"value" * 10_000)


@pytest.mark.limit(200)
def test_the_cluster_of_a_lower_switch_is_lost() -> None:
    """clients that wait for instances behind it are reset, new ones too; all others are served"""
    with machine(with_redis(2, 4), gdb_port=reserved_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.go_on()
        run.wait_serving()
        lower = switches(run.plan)[1]
        behind = [name for name in servers(run) if run.plan.application(name).switch == lower.name]
        others = [name for name in servers(run) if name not in behind]
        with waiting_client(run, behind[0]) as waiting, waiting_client(run, others[0]) as patient:
            debugger.make_kernel_fault(lower.cpu)
            run.wait_event("cluster-lost", cluster=1)
            assert is_over(waiting), "the client still waits for its answer"
            for name in behind:
                assert refused(run, name)
            for name in others:
                with client(run, name) as server:
                    assert server.set("key", b"value" * 10_000) and server.rpush("nothing", "something")
            assert patient.recv(100).startswith(b"*2")


# ---- Edge-triggered epoll of sockets: the same program in the machine and on this host's Linux ----

EDGES = BUILD / "tests" / "programs" / "edges"
DEPLOYMENT = f"""
shutdown = "when-done"
[machine]
sockets = 1
cores = 2
[[program]]
elf = "{EDGES}.elf"
name = "edges"
cpu = 1
network = true
heap = "64M"
"""


def lines_of(console: str, name: str) -> list[str]:
    """The lines of a program."""
    mark = f"[{name}@"
    return [line.split("] ", 1)[1].strip() for line in console.splitlines() if line.startswith(mark)]


@pytest.mark.limit(150)
def test_edges(tmp_path: Path) -> None:
    """an edge-triggered epoll tells of sockets what Linux tells: more data, connections, room and ends"""
    linux = subprocess.run([f"{EDGES}-linux"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    with machine(parse(DEPLOYMENT, "edges.toml", tmp_path)) as run:
        run.wait_done()
        assert lines_of(run.console, "edges") == linux
        assert all(end["status"] == 0 for end in run.events.of("exit"))
