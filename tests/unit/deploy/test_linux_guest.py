# SPDX-License-Identifier: BSD-2-Clause
"""The Linux guest: its archive, and that it runs what Skerry runs."""

from __future__ import annotations

import stat

from deploy.deployment import Deployment, Load, Redis
from deploy.deployment.planner import expand
from deploy.load.linux_guest.cpio import Archive
from deploy.load.linux_guest.plan import guest_plan
from topology.machines.machine import Shape


def unpack(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content by name, up to the trailer."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        start = (at + 110 + name_size + 3) & ~3
        if name == "TRAILER!!!":
            return found
        assert name not in found
        found[name] = mode, data[start : start + size]
        at = (start + size + 3) & ~3


def test_archive_holds_what_was_put_in() -> None:
    archive = Archive()
    contents = {f"a/b{i}/file{'x' * i}": bytes(range(i)) * i for i in range(9)}
    for name, content in contents.items():
        archive.file("/" + name, content, executable=content == b"")
    archive.device("/dev/console", 5, 1)
    data = archive.finish()
    found = unpack(data)
    assert len(data) % 512 == 0
    assert {name: found[name][1] for name in contents} == contents
    assert stat.S_ISCHR(found["dev/console"][0]) and stat.S_ISDIR(found["a/b3"][0])
    order = list(found)
    assert all(order.index(name.rpartition("/")[0]) < order.index(name) for name in contents)


def deployment(shape: Shape) -> Deployment:
    return Deployment(redis=Redis(), shape=shape, load=Load(clients=2, workload="a", records=101, operations=7))


def test_plan_is_skerrys_with_other_addresses() -> None:
    made = deployment(Shape(2, 2))
    apps = {app.name: app for app in expand(made, 4)}
    plan = guest_plan(made)
    lines = [line.split("\t") for line in plan.text.splitlines()]
    servers = [line for line in lines if line[0] == "serve"]
    clients = [line for line in lines if line[0] == "run"]
    assert [int(line[1]) for line in servers] == [1, 2, 3]
    assert [int(line[1]) for line in clients] == [1, 1, 2, 2, 3, 3]
    assert len({line[3] for line in servers}) == 3
    for line in servers:
        theirs, ours = apps[line[2]].args, line[5:]
        assert ours[ours.index("--port") + 1] == line[3]
        assert [w for w in ours if w != line[3]] == [w for w in theirs if w != "6379"]
        assert "" in ours  # --save ""
    for line in clients:
        theirs, ours = apps[line[2]].args, line[4:]
        for option in ("--workload", "--records", "--operations", "--value-size", "--load-first", "--load-count", "--writer"):
            assert ours[ours.index(option) + 1] == theirs[theirs.index(option) + 1]
        server = next(s for s in servers if s[3] == ours[ours.index("--port") + 1])
        assert server[1] == line[1]
        assert "--await" not in ours and ours[ours.index("--parties") + 1] == "6"
    assert sum(plan.shares.values()) == 3 * 101


def test_one_core_runs_everything() -> None:
    lines = [line.split("\t") for line in guest_plan(deployment(Shape(1, 1))).text.splitlines()]
    assert [line[1] for line in lines if line[0] != "rendezvous"] == ["0", "0", "0"]


def test_servers_alone_need_no_rendezvous() -> None:
    assert "rendezvous" not in guest_plan(Deployment(redis=Redis(), shape=Shape(1, 2))).text
