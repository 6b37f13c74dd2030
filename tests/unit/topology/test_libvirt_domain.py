# SPDX-License-Identifier: BSD-2-Clause
"""libvirt's own schema is the judge of the form; the rest is compared with the machine."""

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.unit.topology.machines import MACHINES, Host, write
from topology.errors import InputError
from topology.foreign import parse_spans
from topology.machines.libvirt_domain import domain
from topology.machines.machine import Shape, emulated
from topology.machines.sources import read_machine
from topology.maps.clustermap import ClusterMap
from topology.maps.mapmaker import make_map
from topology.units import GIB, KIB


def checked(text: str, tmp_path: Path) -> ElementTree.Element:
    path = tmp_path / "domain.xml"
    path.write_text(text)
    done = subprocess.run(["virt-xml-validate", str(path), "domain"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return ElementTree.fromstring(text)


@pytest.mark.parametrize("name", MACHINES)
def test_schema(name: str, tmp_path: Path) -> None:
    machine = read_machine(str(write(name, tmp_path)))
    nothing = ClusterMap(cpus=[], memory=[], clusters=[])
    if any(not machine.memory_of(core.node) for core in machine.cores):
        with pytest.raises(InputError, match="has no memory, and libvirt no cell without any"):
            domain(machine, nothing)
        return
    root = checked(domain(machine, nothing), tmp_path)
    cells = root.findall("cpu/numa/cell")
    assert sum(int(cell.attrib["memory"]) for cell in cells) * KIB == sum(r.size for r in machine.memory)
    vcpus = [n for cell in cells if "cpus" in cell.attrib for n in parse_spans(cell.attrib["cpus"])]
    count = root.find("vcpu")
    assert count is not None and sorted(vcpus) == list(range(int(count.text or "0")))
    enabled = [v for v in root.findall("vcpus/vcpu") if v.get("enabled") == "yes"]
    assert len(machine.cores) == (len(enabled) or len(vcpus))
    assert (root.find("devices/iommu/driver[@eim='on']") is not None) == (len(vcpus) > 255)
    assert root.find("cputune") is None, "a machine of a file is on no host"


def test_on_its_host_each_cluster_stays_on_its_cores_and_memory(tmp_path: Path) -> None:
    path = tmp_path / "host.xml"
    path.write_text(Host(cores=2).xml())
    machine = read_machine(str(path), memory=GIB)
    root = checked(domain(machine, make_map(machine, "per-socket")), tmp_path)
    pins = {int(pin.attrib["vcpu"]): pin.attrib["cpuset"] for pin in root.findall("cputune/vcpupin")}
    assert pins == dict.fromkeys(range(4), "0-1,4-5") | dict.fromkeys(range(4, 8), "2-3,6-7")
    assert [(n.get("cellid"), n.get("nodeset")) for n in root.findall("numatune/memnode")] == [("0", "0"), ("1", "1")]
    assert root.findtext("memory") == str(2 * GIB // KIB)


def test_distances_and_dies(tmp_path: Path) -> None:
    machine = emulated(Shape(2, 4, GIB, caches=2))
    root = checked(domain(machine, make_map(machine, "per-l3")), tmp_path)
    topology = root.find("cpu/topology")
    assert topology is not None and topology.attrib == {"sockets": "2", "dies": "2", "cores": "2", "threads": "1"}
    siblings = root.findall("cpu/numa/cell[@id='0']/distances/sibling")
    assert [(s.get("id"), s.get("value")) for s in siblings] == [("0", "10"), ("1", "21")]
