# SPDX-License-Identifier: BSD-2-Clause
"""A machine on which hardly anything is alike, from hwloc's XML to a map to a boot: the loader finds what the map says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.deployment import read
from deploy.deployment.planner import plan, plan_map
from tests.boot.machine import assert_no_fault, client, machine
from tests.ports import reserved_port
from topology.machines.parts import Board
from topology.maps.dts import write_dts


def test_irregular_machine(tmp_path: Path) -> None:
    """sockets of three and two threads, a node without memory, one without cores: it serves, where the file says"""
    given = plan(read(ROOT / "deploy/deployments/uneven.toml"))
    assert given.host_ports == {("redis@2", 6379): 16379}
    (tmp_path / "map.dts").write_text(write_dts(given.cluster_map))
    port = reserved_port()
    what = replace(plan_map(tmp_path / "map.dts"), host_ports={("redis@2", 6379): port})  # the host's are in no map
    assert isinstance(what.machine.shape, Board) and what.cluster_map == given.cluster_map
    assert [len(cluster.cpus) for cluster in what.cluster_map.clusters] == [3, 2]
    assert {cpu.node for cpu in what.cluster_map.cpus} == {0, 1, 2} and {r.node for r in what.cluster_map.memory} == {0, 2, 3}
    with machine(what) as run:
        run.wait_serving()
        assert {event["cluster"]: event["cores"] for event in run.events.of("boot")} == {0: 3, 1: 2}
        assert run.address("redis@2") == ("127.0.0.1", port) and what.application("redis@2").ipv4 == "10.77.0.101"
        assert client(run, "redis@2").ping()
        assert_no_fault(run)
