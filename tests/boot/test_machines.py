# SPDX-License-Identifier: BSD-2-Clause
"""A deployment on two machines, each with a cluster and with memory that both have: an ivshmem device each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from deploy.deployment import Load
from deploy.deployment.planner import Plan, plan
from deploy.machine import monitor, qemu
from deploy.machine.run import Run
from topology.maps.clustermap import ClusterMap
from topology.maps.separate import separate

from . import machine as machines


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
