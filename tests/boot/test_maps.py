# SPDX-License-Identifier: BSD-2-Clause
"""The loader trusts no map: what the tool would refuse, it refuses itself, in one line that names the culprit."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from deploy.base.errors import Failure
from deploy.deployment.planner import Plan, plan
from deploy.machine import image, qemu
from tests.boot.machine import assert_serve, machine, machine_serving, with_redis
from topology.machines.machine import Shape, default_memory, emulated
from topology.maps.clustermap import Application, ClusterMap, Range
from topology.units import GIB, MIB


def absent_core(m: ClusterMap) -> None:
    m.cpus[3] = replace(m.cpus[3], apic=9)


def core_twice(m: ClusterMap) -> None:
    m.clusters[1].cpus = [2, 2]


def shared_core(m: ClusterMap) -> None:
    m.clusters[1].cpus = [1, 3]


def wrong_node(m: ClusterMap) -> None:
    m.cpus[1] = replace(m.cpus[1], node=1)


def wrong_labels(m: ClusterMap) -> None:
    m.memory = [replace(r, node=1 - r.node) for r in m.memory]


def overlapping_memory(m: ClusterMap) -> None:
    first = m.clusters[0].memory[-1]
    m.clusters[1].memory = [Range(first.end - 2 * MIB, 4 * MIB), *m.clusters[1].memory[1:]]


def absent_memory(m: ClusterMap) -> None:
    m.clusters[1].memory = [Range(64 * GIB, GIB)]


def foreign_memory(m: ClusterMap) -> None:
    m.clusters[0].memory, m.clusters[1].memory = m.clusters[1].memory, m.clusters[0].memory


def crooked_memory(m: ClusterMap) -> None:
    last = m.clusters[1].memory[-1]
    m.clusters[1].memory[-1] = Range(last.base, last.size - 100)


def channel_over_cluster(m: ClusterMap) -> None:
    m.channels[0].memory = Range(m.clusters[0].memory[-1].end - m.channels[0].memory.size, m.channels[0].memory.size)


def channel_to_nowhere(m: ClusterMap) -> None:
    m.channels[0].ends = (0, 7)


def channel_to_itself(m: ClusterMap) -> None:
    m.channels[0].ends = (1, 1)


def two_owners(m: ClusterMap) -> None:
    m.clusters[1].devices = True


def no_owner(m: ClusterMap) -> None:
    m.clusters[0].devices = False


def foreign_program(m: ClusterMap) -> None:
    m.clusters[1].modules = [name for name in m.clusters[1].modules if name != "redis-server"]


def same_address(m: ClusterMap) -> None:
    apps = [a for a in m.applications if a.ipv4]
    apps[1].ipv4 = apps[0].ipv4


def crooked_heap(m: ClusterMap) -> None:
    m.applications[-1].heap = 3 * MIB


def crowded_none(m: ClusterMap) -> None:
    m.clusters[1].kernel = "none"


BROKEN: list[tuple[Callable[[ClusterMap], None], str]] = [
    (absent_core, "cpu"),
    (core_twice, "cluster@1"),
    (shared_core, "cpu"),
    (wrong_node, "cpu@1"),
    (wrong_labels, "memory@0: numa-node-id is 1, as cpu@2's; the firmware has 0x"),
    (overlapping_memory, "cluster@"),
    (absent_memory, "cluster@1"),
    (foreign_memory, "cluster@"),
    (crooked_memory, "cluster@1"),
    (channel_over_cluster, "channel@0"),
    (channel_to_nowhere, "channel@0"),
    (channel_to_itself, "channel@0"),
    (two_owners, "devices"),
    (no_owner, "devices"),
    (foreign_program, "redis"),
    (same_address, "redis"),
    (crooked_heap, "redis"),
    (crowded_none, "cluster@1"),
]


def refusal(what: Plan) -> str:
    """The loader's line."""
    with machine(what) as run:
        with pytest.raises(Failure):
            run.wait_done()
        assert run.status == qemu.EXIT_REFUSED, run.reason()
        assert not run.events.events, "something started before the refusal"
        return next(line for line in reversed(run.console.splitlines()) if line.strip())


@pytest.mark.parametrize("breakage,culprit", BROKEN, ids=[b.__name__.replace("_", " ") for b, _ in BROKEN])
def test_broken(breakage: Callable[[ClusterMap], None], culprit: str) -> None:
    """the loader refuses a broken map and names the culprit"""
    what = plan(with_redis())
    breakage(what.cluster_map)
    assert culprit in refusal(what)


def test_smaller_machine() -> None:
    """the loader refuses a map of a larger machine"""
    what = plan(with_redis(2, 4))
    what.machine = emulated(Shape(2, 2, default_memory(4)))
    assert "cpu" in refusal(what)


@pytest.mark.parametrize("name", ["kernel-clh", "root", "redis-server"])
def test_missing_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """the loader refuses a map whose module is not in the image"""
    whole = image.contents
    monkeypatch.setattr(image, "contents", lambda *a: {k: v for k, v in whole(*a).items() if k != name})
    assert name in refusal(plan(with_redis()))


@pytest.mark.parametrize("name", ["kernel-clh", "root", "redis-server"])
def test_damaged_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """the loader refuses a module that is no program"""
    whole = image.contents
    monkeypatch.setattr(image, "contents", lambda *a: whole(*a) | {name: b"#!/bin/sh\n" * 100})
    assert name in refusal(plan(with_redis()))


@pytest.mark.parametrize("length", [0, 3, 40, 500], ids=lambda n: f"{n} bytes")
def test_cut_map(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """the loader refuses a map that is cut off"""
    whole = image.contents
    monkeypatch.setattr(image, "contents", lambda *a: whole(*a) | {"map": whole(*a)["map"][:length]})
    assert "map" in refusal(plan(with_redis()))


def crowded(count: int) -> Plan:
    """So many applications, the last of them Redis; those before it await one that never says that it serves."""
    what = plan(with_redis(shape=Shape(2, 2, 2 * GIB)))
    few = what.cluster_map.applications
    more = [Application(0x100 + i, "waits", "redis-server", i % 4, 2 * MIB, awaits=["switch@0"])
            for i in range(count - len(few))]
    what.cluster_map.applications = [*few[:2], *more, *few[2:]]
    return what


@pytest.mark.parametrize("count", [257, 1100])
def test_many_applications(count: int) -> None:
    """managers take as many applications as the loader does, and start the last of them"""
    what = crowded(count)
    with machine_serving(what) as run:
        for name, _ in what.forwards:
            assert_serve(run, name)
        assert run.events.of("boot") and "fatal" not in run.console


def test_too_many_applications() -> None:
    """one more is refused, in one line, before anything starts"""
    assert "more than 2048 applications" in refusal(crowded(2049))
