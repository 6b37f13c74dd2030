# SPDX-License-Identifier: BSD-2-Clause
"""Maps of several machines: made of maps of one, written and read, and refused one edit at a time."""

from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.cli.options import PlanOptions, load_plan
from deploy.deployment.planner import Plan, plan_map
from tests.unit.topology.machines import MACHINES, write
from topology.errors import InputError
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.qemu import place
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.clustermap import ClusterMap, Range
from topology.maps.dts import write_dts
from topology.maps.mapmaker import make_map
from topology.maps.reader import read_dts
from topology.maps.separate import separate
from topology.units import GIB, LARGE_PAGE, MIB

REDIS = ROOT / "deploy/deployments/redis.toml"


def check_separated(before: ClusterMap, whole: Machine) -> None:
    made, machines = separate(before, whole)
    assert read_dts(write_dts(made)) == made
    assert len(machines) == len(made.clusters) == made.machines
    assert [c.cpus for c in made.clusters] == [c.cpus for c in before.clusters]
    for number, (cluster, machine) in enumerate(zip(made.clusters, machines)):
        assert cluster.devices and {made.cpus[cpu].machine for cpu in cluster.cpus} == {number}
        cores = {core.apic: core for core in machine.cores}
        assert {made.cpus[cpu].apic for cpu in cluster.cpus} == set(cores) and min(cores) == 0
        was = {core.apic: core for core in whole.cores}
        for cpu in cluster.cpus:
            core, old = cores[made.cpus[cpu].apic], was[before.cpus[cpu].apic]
            assert (core.number, core.physical, core.l3) == (old.number, old.physical, old.l3)
            assert core.node == made.cpus[cpu].node
        assert place(machine) == machine, "is on a board already"
        assert [Range(r.base, r.size) for r in machine.memory] == cluster.memory and cluster.memory[0].base == 0
        assert {core.node for core in machine.cores} <= set(machine.nodes)
    lost = sum(r.size for r in before.memory) - sum(r.size for m in machines for r in m.memory)
    assert 0 <= lost < LARGE_PAGE * len(before.memory) * len(machines), "what was memory of channels is the clusters'"


@pytest.mark.parametrize("layout", ["per-socket", "size=1", "per-l3"])
def test_deployments(layout: str) -> None:
    """a deployment's clusters on machines of their own: same numbers, same programs, nothing lost"""
    what = load_plan(PlanOptions(REDIS, layout=layout))
    check_separated(what.cluster_map, what.machine)
    made, _ = separate(what.cluster_map, what.machine)
    assert (made.applications, made.network, made.shutdown) == (
        what.cluster_map.applications, what.cluster_map.network, what.cluster_map.shutdown,
    )  # fmt: skip


@pytest.mark.limit(120)
def test_real_machines(tmp_path: Path) -> None:
    """several dozen real machines: as many separate ones as they have sockets, or a refusal"""
    separated = 0
    for name in MACHINES:
        machine = place(read_machine(str(write(name, tmp_path))))
        for layout in ("per-socket", "per-numa"):
            try:
                before = make_map(machine, layout)
                if len(before.clusters) > 1:
                    check_separated(before, machine)
            except InputError as error:
                assert error.culprit in (f"--layout {layout}", "--per-cluster"), error
                continue
            separated += len(before.clusters) > 1
    assert separated > 20


def test_channels() -> None:
    """each has the next PCI device at both ends, and a power of two with room for ports and kernels"""
    what = load_plan(PlanOptions(REDIS, sockets=3, cores=12, memory="8G"), apart=True)
    made, _ = separate(what.cluster_map, what.machine)
    assert [(c.ends, c.ivshmem) for c in made.channels] == [((0, 1), (0x11, 0x11)), ((0, 2), (0x12, 0x11))]
    assert {c.memory for c in made.channels} == {Range(0, 16 * MIB)}, "12 ports of 408 KiB, 2 MiB before and behind"
    large, _ = separate(make_map(emulated(Shape()), "per-socket", ports=lambda cores: 40), emulated(Shape()))
    assert large.channels[0].memory == Range(0, 32 * MIB)
    small, _ = separate(make_map(emulated(Shape()), "per-socket", ports=lambda cores: 1), emulated(Shape()))
    assert small.channels[0].memory == Range(0, 16 * MIB)


def test_nodes_of_the_host() -> None:
    """a machine that was placed on a host: each part keeps its processors and its nodes of that host"""
    machine = emulated(Shape(2, 2, GIB, nodes=2))
    on_host = Machine(
        machine.name, machine.cores, machine.memory, machine.distances, machine.shape, host_nodes=(4, 5, 6, 7)
    )
    _, machines = separate(make_map(on_host, "per-socket"), on_host)
    assert [m.host_nodes for m in machines] == [(4, 5), (6, 7)]
    assert [[core.number for core in m.cores] for m in machines] == [[0, 1], [2, 3]]
    assert [m.distances for m in machines] == [{(0, 0): 10, (0, 1): 21, (1, 0): 21, (1, 1): 10}] * 2


def test_one_cluster() -> None:
    """there is nothing to be separated: the map stays"""
    machine = emulated(Shape())
    spanning = make_map(machine, "spanning")
    assert separate(spanning, machine) == (spanning, [machine])


def test_restarts() -> None:
    """a cluster that is started again is so in the map that is written, also in a machine of its own"""
    machine = emulated(Shape())
    made = make_map(machine, "per-socket")
    made.clusters[1].restart, made.clusters[1].restart_limit, made.clusters[1].restart_delay = True, 0, 7
    assert read_dts(write_dts(made)) == made
    check_map(made, machine)
    assert [cluster.restart for cluster in separate(made, machine)[0].clusters] == [False, True]
    made.clusters[0].restart = True
    check_map(made, machine)
    assert all(cluster.restart for cluster in separate(made, machine)[0].clusters)


def test_too_many() -> None:
    """a PCI bus has places for 14 channels"""
    machine = emulated(Shape(16, 1, GIB))
    with pytest.raises(InputError, match=r"--per-cluster: 15 channels .* cluster 0.*15 clusters at most"):
        separate(make_map(machine, "per-socket"), machine)
    fifteen = emulated(Shape(15, 1, GIB))
    made, _ = separate(make_map(fifteen, "per-socket"), fifteen)
    assert made.channels[-1].ivshmem == (0x1E, 0x11)


def test_devices_elsewhere() -> None:
    """the network is machine 0's"""
    machine = emulated(Shape())
    made = make_map(machine, "per-socket")
    made.clusters[0].devices, made.clusters[1].devices = False, True
    with pytest.raises(InputError, match="--per-cluster: cluster@1 has 'devices'"):
        separate(made, machine)


def good() -> str:
    machine = emulated(Shape(2, 2, GIB))
    what: Plan = load_plan(PlanOptions(REDIS))
    return write_dts(separate(what.cluster_map, machine)[0])


MEMORY = 'memory@0 { device_type = "memory"; reg = <0x0 0x0 0x0 0x40000000>; numa-node-id = <0>; };'
# Each: what to replace, by what, and what the error must say.
BROKEN = [
    ("cpu@1,1 {", "cpu@1,2 {", "cpu@1,2: its name says '1,2', its reg 1,1"),
    ("cpu@1,1 {", "cpu@1 {", "cpu@1: its name"),
    ("reg = <1 1>", "reg = <1>", "cpu@1,1: reg is not machine and local APIC id"),
    ("cpu@1,1 { device_type = \"cpu\"; reg = <1 1>", "cpu@1,0 { device_type = \"cpu\"; reg = <1 0>", "cpu@1,0"),
    ("cpu@1,1 { device_type = \"cpu\"; reg = <1 1>", "cpu@2,1 { device_type = \"cpu\"; reg = <2 1>",
     "cluster@1: cpu@1,0 and cpu@2,1 are in different machines"),
    ("cpu3: cpu@1,1 { device_type = \"cpu\"; reg = <1 1>", "cpu3: cpu@3,1 { device_type = \"cpu\"; reg = <3 1>",
     "cluster@1: cpu@1,0 and cpu@3,1 are in different machines"),
    ("cpus = <&cpu0 &cpu1>", "cpus = <&cpu0 &cpu2>", "cpu@1,0: is in cluster@0 and in cluster@1"),
    ("cpus = <&cpu0 &cpu1>", "cpus = <&cpu0>", "cpu@0,1 is in no cluster"),
    ("    clusters {", f"    {MEMORY}\n    clusters {{", "memory@0: of which of the machines?"),
    ("    clusters {", "    machine { sockets = <2>; cores-per-socket = <2>; memory-per-node = <0 0x40000000>; };\n    "
                       "clusters {", "machine: describes one machine"),
    ("    clusters {",
     '    distance-map { compatible = "numa-distance-map-v1"; distance-matrix = <0 0 10>; };\n    clusters {',
     "distance-map: describes one machine"),
    ("modules = \"redis-server\";\n            devices;", "modules = \"redis-server\";",
     "cluster map: no cluster on machine 1 has devices"),
    ("ivshmem = <0x11 0x11>", "ivshmem = <0x11>", "channel@0: ivshmem is not two device numbers"),
    ("ivshmem = <0x11 0x11>", "ivshmem = <0x11 0x11 0x12 0x12>", "channel@0: ivshmem is not two device numbers"),
    ("ivshmem = <0x11 0x11>", "ivshmem = <0x11 0x20>", "channel@0: ivshmem 32 is no device number from 1 to 31"),
    ("ivshmem = <0x11 0x11>", "ivshmem = <0 0x11>", "channel@0: ivshmem 0 is no device number from 1 to 31"),
    ("ivshmem = <0x11 0x11>", "colour = <1>; ivshmem = <0x11 0x11>", "channel@0: unknown property 'colour'"),
    ("ivshmem = <0x11 0x11>", "memory = <0 0 0 0x400000>; ivshmem = <0x11 0x11>",
     "channel@0: has both ivshmem and memory"),
    ("ivshmem = <0x11 0x11>;", "", "channel@0: has no memory"),
    ("ivshmem = <0x11 0x11>;\n            size = <0x0 0x1000000>", "memory = <0x0 0x20000000 0x0 0x1000000>",
     "channel@0: cluster@0 and cluster@1 are in different machines, which have no memory in common"),
    ("size = <0x0 0x1000000>", "size = <0x1000000>", "channel@0: has no size of two cells"),
    ("size = <0x0 0x1000000>", "size = <0x0 0x1800000>", "channel@0: size 0x1800000 is not a power of two"),
    ("size = <0x0 0x1000000>", "size = <0x0 0x200000>",
     "channel@0: size 0x200000 is not a power of two of at least 4 MiB"),
    ("size = <0x0 0x1000000>", "size = <0x0 0x0>", "channel@0: size 0x0 is not"),
    ("size = <0x0 0x1000000>", "size = <0x0 0x400000>", "channel@0: has no room for the network port of"),
    ("ends = <0 1>", "ends = <0 2>", "channel@0: there is no cluster 2"),
    ('program = "virtio-net";\n            cpu = <&cpu0>', 'program = "virtio-net";\n            cpu = <&cpu2>',
     "virtio-net@1"),
]  # fmt: skip


@pytest.mark.parametrize("old, new, expected", BROKEN, ids=[f"{i}: {e}" for i, (_, _, e) in enumerate(BROKEN)])
def test_refused(old: str, new: str, expected: str) -> None:
    text = good()
    check_map(read_dts(text))
    assert text.count(old) >= 1
    with pytest.raises(InputError) as caught:
        check_map(read_dts(text.replace(old, new, 1)))
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_network_elsewhere() -> None:
    """the driver of the NIC is on the machine that has one"""
    text = good().replace('modules = "redis-server";', 'modules = "redis-server", "virtio-net";')
    wrong = text.replace('program = "virtio-net";\n            cpu = <&cpu0>',
                         'program = "virtio-net";\n            cpu = <&cpu2>')
    with pytest.raises(InputError, match="virtio-net@1: drives the NIC, but is not on machine 0"):
        check_map(read_dts(wrong))


def test_two_channels_in_one_place() -> None:
    """a PCI device is one channel's"""
    machine = emulated(Shape(3, 1, GIB))
    text = write_dts(separate(make_map(machine, "per-socket"), machine)[0])
    with pytest.raises(InputError, match="channel@1: ivshmem 17 of machine 0 is another channel's already"):
        check_map(read_dts(text.replace("ivshmem = <0x12 0x11>", "ivshmem = <0x11 0x11>")))


def test_all_of_one_machine() -> None:
    """numbers of two cells in a map of one machine"""
    machine = emulated(Shape(1, 1, GIB))
    text = write_dts(make_map(machine, "per-socket")).replace("cpu@0 { device_type = \"cpu\"; reg = <0>",
                                                              "cpu@0,0 { device_type = \"cpu\"; reg = <0 0>")
    with pytest.raises(InputError, match="cpus: #address-cells"):
        read_dts(text.replace("#address-cells = <1>;", "#address-cells = <2>;", 1))


def test_cannot_be_booted_as_one(tmp_path: Path) -> None:
    """such a map is not for one machine, and is not separated again"""
    path = tmp_path / "two.dts"
    path.write_text(good())
    with pytest.raises(InputError, match="cluster map: describes 2 machines, and this is one"):
        plan_map(path)
    with pytest.raises(InputError, match="--per-cluster: the map describes 2 machines already"):
        separate(read_dts(good()), emulated(Shape()))
