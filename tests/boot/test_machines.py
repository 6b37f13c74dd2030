# SPDX-License-Identifier: BSD-2-Clause
"""Machines of several kinds, and how clusters lie in them."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.deployment import Load, read
from deploy.deployment.planner import Plan, plan, plan_map
from deploy.machine import monitor, qemu
from deploy.machine.run import Run
from tests.boot.machine import assert_no_fault, client, deployment, machine, machine_serving, servers, with_redis
from tests.boot.test_granularity import taken
from tests.ports import reserved_port
from topology.machines.machine import emulated, with_memory
from topology.machines.parts import Board, Shape
from topology.maps.clustermap import FINE, ClusterMap
from topology.maps.dts import write_dts
from topology.maps.separate import separate
from topology.units import MIB

from . import machine as machines

# ---- A deployment on two machines, each with a cluster and with memory that both have: an ivshmem device each ----

def devices(cluster_map: ClusterMap, number: int, folder: Path) -> Iterator[str]:
    """QEMU's arguments for the channels of machine `number`."""
    for channel in cluster_map.channels:
        assert channel.ivshmem and channel.memory
        for end, slot in zip(channel.ends, channel.ivshmem):
            if end == number:
                name = f"channel{channel.number}"
                yield "-object"
                yield f"memory-backend-file,id={name},mem-path={folder / name},size={channel.memory.size},share=on"
                yield "-device"
                yield f"ivshmem-plain,memdev={name},bus=pcie.0,addr={slot:#x}"


@contextlib.contextmanager
def booted(what: Plan, folder: Path, order: tuple[int, ...] = (0, 1), **options: object) -> Iterator[list[Run]]:
    """The machines of a deployment, switched on in this order."""
    cluster_map, parts = separate(what.cluster_map, what.machine)
    runs: dict[int, Run] = {}
    with contextlib.ExitStack() as stack:
        for number in order:
            own = replace(
                what, cluster_map=cluster_map, machine=parts[number], forwards=[] if number else what.forwards
            )
            extra = (*devices(cluster_map, number, folder), "-append", f"machine={number}")
            runs[number] = stack.enter_context(machines.machine(own, extra=extra, **options))
        yield [runs[number] for number in sorted(runs)]


def exchange(run: Run, name: str) -> None:
    client = machines.client(run, name)
    client.set(b"key", bytes(range(256)) * 1000)
    assert client.get(b"key") == bytes(range(256)) * 1000


def loader_line(run: Run, text: str) -> None:
    run.wait_for(lambda: text in run.console, f"'{text}' of the loader")


def test_each_redis_answers_and_a_lost_machine_harms_only_itself(tmp_path: Path) -> None:
    what = plan(machines.with_redis())
    # memory as an earlier run may have left it
    for channel in separate(what.cluster_map, what.machine)[0].channels:
        (tmp_path / f"channel{channel.number}").write_bytes(b"earlier " * (channel.memory.size // 8))
    with booted(what, tmp_path) as (first, second):
        first.wait_serving()
        homes = {}
        for name in machines.servers(first):
            homes[name] = first.plan.cluster_map.cluster_of(first.plan.application(name).cpu).number
            exchange(first, name)
        machines.assert_no_fault(first)
        assert set(homes.values()) == {0, 1}

        second.stop()
        lost = first.wait_event("cluster-lost")
        assert lost.data["cluster"] == 1
        for name, home in homes.items():
            if home == 0:
                exchange(first, name)


def test_the_end_of_a_run_switches_every_machine_off(tmp_path: Path) -> None:
    load = Load(clients=1, records=200, operations=200)
    what = plan(machines.with_redis(shutdown="when-done", load=load))
    with booted(what, tmp_path, (1, 0)) as (first, second):
        first.wait_done()
        second.wait_for(lambda: not second.running, "the other machine is off")
        assert (first.status, second.status) == (qemu.EXIT_SUCCESS, qemu.EXIT_SUCCESS)
        finished = {result.data["cluster"] for result in first.events.of("result")}
        assert finished == {0, 1}


def test_a_machine_waits_for_its_peer_and_refuses_what_is_no_channel(tmp_path: Path) -> None:
    what = plan(machines.deployment(cores=1))
    cluster_map, parts = separate(what.cluster_map, what.machine)
    own = replace(what, cluster_map=cluster_map, machine=parts[1], forwards=[])

    def alone(*arguments: str) -> Run:
        return machines.machine(own, extra=(*arguments, "-append", "machine=1"))

    channel = list(devices(cluster_map, 1, tmp_path))
    with alone(*channel) as run:
        loader_line(run, "waiting for the machine of cluster 0")
    with alone() as run:
        loader_line(run, "channel@0: device 17 on bus 0 is no ivshmem device")
    with alone(*(word.replace("size=16777216", "size=8388608") for word in channel)) as run:
        loader_line(run, "channel@0: device 17 has 8192 KiB, the map says 16384")


def test_the_power_button_ends_a_run_in_order(tmp_path: Path) -> None:
    what = plan(machines.with_redis())
    with booted(what, tmp_path) as (first, second):
        first.wait_serving()
        monitor.human(first.command.monitor, monitor.POWER_BUTTON)
        first.wait_for(lambda: not first.running, "the machine is off")
        second.wait_for(lambda: not second.running, "the other machine is off")
        assert (first.status, second.status) == (qemu.EXIT_SUCCESS, qemu.EXIT_SUCCESS)
        (done,) = first.events.of("done")
        assert (done.data["status"], done.data["why"]) == (0, "the power button was pressed")
        last = [event.data["cluster"] for event in first.events.of("stats") if event.data["when"] == "end"]
        assert sorted(last) == [0, 1]


# ---- Layout `homed`: one kernel for two nodes, each program's objects at home on its node, under load ----

OPERATIONS = 1500  # of each client


@pytest.mark.limit(400)
def test_under_load() -> None:
    """calls that travel between the nodes of a homed kernel lose no operation of YCSB, and each Redis answers the
    host"""
    load = Load(clients=1, workload="a", records=100, operations=OPERATIONS)
    with machine(with_redis(2, 2, "homed", lock="dynamic", statistics=True, shutdown="never", load=load)) as run:
        (cluster,) = run.plan.cluster_map.clusters
        assert cluster.homed and cluster.granularity == FINE and len(cluster.cpus) == 4
        run.wait_for(lambda: run.events.of("done"), "the load")
        assert run.events.of("done")[0]["status"] == 0
        results = [e["data"] for e in run.events.of("result") if e["data"].get("event") == "ycsb"]
        assert len(results) == sum(app.program == "ycsb" for app in run.plan.cluster_map.applications) > 1
        assert all((one["operations"], one["errors"], one["wrong"]) == (OPERATIONS, 0, 0) for one in results)
        assert len(servers(run)) > 1
        for name in servers(run):
            assert client(run, name).set("here", name) and client(run, name).get("here") == name.encode()
        # the boot's entries are left out: it waits for the console, so their number is the host's
        coarse, fine = taken(run, 0)
        assert coarse == 0 and fine > 100, (coarse, fine)
        assert not run.events.of("fault") and not run.events.of("failed")


# ---- A machine on which hardly anything is alike, from hwloc's XML to a map to a boot: the loader finds ----

def test_irregular_machine(tmp_path: Path) -> None:
    """sockets of three and two threads, a node without memory, one without cores: it serves, where the file says"""
    target = plan(read(ROOT / "deploy/deployments/uneven.toml"))
    assert target.host_ports == {("redis@2", 6379): 16379}
    (tmp_path / "map.dts").write_text(write_dts(target.cluster_map))
    port = reserved_port()
    what = replace(plan_map(tmp_path / "map.dts"), host_ports={("redis@2", 6379): port})  # the host's are in no map
    assert isinstance(what.machine.shape, Board) and what.cluster_map == target.cluster_map
    assert [len(cluster.cpus) for cluster in what.cluster_map.clusters] == [3, 2]
    assert {cpu.node for cpu in what.cluster_map.cpus} == {0, 1, 2} and {r.node for r in what.cluster_map.memory} == {0,
        2, 3}
    with machine_serving(what) as run:
        assert {event["cluster"]: event["cores"] for event in run.events.of("boot")} == {0: 3, 1: 2}
        assert run.address("redis@2") == ("127.0.0.1", port) and what.application("redis@2").ipv4 == "10.77.0.101"
        assert client(run, "redis@2").ping()
        assert_no_fault(run)


def test_cores_without_memory() -> None:
    """a cluster whose node has no memory boots with that of the nearest node, and the loader says what each node has"""
    base = emulated(Shape())
    bare = with_memory(replace(base, memory=base.memory[:1]), 512 * MIB)
    with machine(replace(deployment(network=False), shape=bare)) as run:
        run.wait_for(lambda: len(run.events.of("boot")) == 2, "both clusters")
        assert "skerry loader: node 0 = domain 0: 2 cores, 511 MiB" in run.console
        assert "skerry loader: node 1 = domain 1: 2 cores, 0 MiB" in run.console


# ---- Firmware that numbers its NUMA domains as it likes: a map's nodes are labels, and belong to what ----

def renumber(monkeypatch: pytest.MonkeyPatch, numbers: dict[int, int], *more: str) -> None:
    """QEMU's nodes get these numbers; the map keeps its own. `more`: arguments of another node, then of its
    distances."""
    whole = qemu.topology_arguments

    def renumbered(*arguments: Any) -> list[str]:
        fresh = [re.sub(r"\b(nodeid|node-id|src|dst)=(\d+)", lambda m: f"{m[1]}={numbers[int(m[2])]}", word)
                 for word in whole(*arguments)]
        return [*more[:2], *fresh, *more[2:]]

    monkeypatch.setattr(qemu, "topology_arguments", renumbered)


def booted_numa_numbers(run: Run) -> bool:
    return len(run.events.of("boot")) == len(run.plan.cluster_map.clusters)


@pytest.mark.limit(240)
def test_empty_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """a machine whose node 0 has neither cores nor memory, so that its domains are 1 and 2, runs the map of nodes 0 and
    1"""
    renumber(monkeypatch, {0: 1, 1: 2}, "-numa", "node,nodeid=0", "-numa", "dist,src=0,dst=1,val=20", "-numa",
             "dist,src=0,dst=2,val=20")
    with machine(deployment(network=False)) as run:
        run.wait_for(lambda: booted_numa_numbers(run), "both clusters")
        assert "numa-node-id" not in run.console, run.console


@pytest.mark.limit(240)
def test_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """domains in the other order are those of the map, too; the memory of each is near other cores then, and refused"""
    renumber(monkeypatch, {0: 1, 1: 0})
    with machine(deployment(network=False)) as run:
        with pytest.raises(Failure):
            run.wait_done()
        assert run.status == qemu.EXIT_REFUSED
        assert re.search(r"refused: map: cluster@0: memory 0x\w+ \.\. 0x\w+ is in the firmware's NUMA domain 0, its "
                         r"cores are not", run.console)
