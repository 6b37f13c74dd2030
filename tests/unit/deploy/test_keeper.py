# SPDX-License-Identifier: BSD-2-Clause
"""What the former of a Redis Cluster learns from the managers' events, and when."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.cli.main import main
from deploy.deployment import parse
from deploy.deployment.planner import plan
from deploy.live.replicas.keeper import Keeper, endpoints
from deploy.machine.events import Event

TEXT = """shutdown = "never"
[machine]
sockets = 3
cores = 3
[clusters]
restart = "on-failure"
[redis]
masters = 3
port = 17001
"""


def running() -> Any:
    """What the keeper sees of a run."""
    made = plan(parse(TEXT))
    ports = dict(made.forwards)
    return SimpleNamespace(plan=made, address=lambda name: ("127.0.0.1", made.host_ports[name, ports[name]]))


def event(kind: str, **data: object) -> Event:
    return Event(kind, {"event": kind} | data)


def test_endpoints() -> None:
    """each instance is reached at the host's port that it tells clients, and meets others at its own address"""
    found = endpoints(running())
    assert [one.reached for one in found] == [("127.0.0.1", port) for port in (17001, 17002, 17003)]
    assert [one.address for one in found] == [(f"10.0.2.{101 + index}", 17001 + index) for index in range(3)]
    assert [(one.shard, one.number) for one in found] == [(0, 0), (1, 0), (2, 0)]


def test_events() -> None:
    """a life is over when its cluster is fenced, or started again, or its process has ended; not when the cluster is
    lost, which may live; a new one has begun when it serves"""
    made = plan(parse(TEXT))
    first, second, _ = (name for name, _ in made.forwards)
    numbers = {app.name: made.cluster_map.cluster_of(app.cpu).number for app in made.cluster_map.applications}
    keeper = Keeper(running(), print)
    for told, over in [
        (event("cluster-lost", cluster=numbers[second], why="silent"), set()),
        (event("cluster-stays-down", cluster=numbers[second], why="too often"), set()),
        (event("cluster-fenced", cluster=numbers[second]), {second}),
        (event("cluster-restarted", cluster=numbers[second]), {second}),
        (event("serving", app="other@1"), {second}),
        (event("serving", app=second), set()),
        (event("fault", app=first), {first}),
        (event("exit", app="switch@0", status=1), {first}),
        (event("cluster-restarted", cluster=numbers[second]), {first, second}),
        (event("serving", app=first), {second}),
    ]:
        keeper.event(told)
        assert set(keeper.former.over) == over, told


@pytest.mark.parametrize("words", [["deploy"], ["image", "-o", "x.iso"]])
def test_other_commands(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a command that would leave the instances without a cluster refuses the file with its line"""
    (tmp_path / "a.toml").write_text(TEXT)
    assert main([words[0], str(tmp_path / "a.toml"), *words[1:]]) == 2
    assert "a.toml:8: [redis] masters: is for `run`, which forms" in capsys.readouterr().err
