# SPDX-License-Identifier: BSD-2-Clause
"""`skerry topology` as a user meets it."""

import json
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from deploy.cli import main
from deploy.cli.options import MachineOptions, adapt
from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan
from tests.unit.topology.machines import Host, write
from topology.errors import InputError
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.reader import read_dts
from topology.units import GIB


@pytest.fixture
def epyc(tmp_path: Path) -> str:
    return str(write("EPYC 7451", tmp_path))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main.main(["topology", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    return out


def test_drawing(capsys: pytest.CaptureFixture[str], epyc: str) -> None:
    out = shown(capsys, "--from", epyc, "--layout", "per-l3")
    assert "2 sockets, 8 nodes, 16 L3 caches, 48 cores, 96 threads, 128 GiB" in out
    assert out.count("╭─ cluster") == 16 and "channel 14: cluster 0 <--> cluster 15" in out
    assert "cpu 90-95   APIC 120-125 socket 1   node 7   L3 15" in out


def test_devicetree(capsys: pytest.CaptureFixture[str], epyc: str) -> None:
    made = read_dts(shown(capsys, "--from", epyc, "--layout", "per-numa", "--smt", "off", "-f", "dts"))
    check_map(made, read_machine(epyc, smt=False))
    assert len(made.clusters) == 8 and len(made.cpus) == 48


def test_a_devicetree_says_the_machine_that_runs_it(capsys: pytest.CaptureFixture[str], epyc: str) -> None:
    made = read_dts(shown(capsys, "--from", epyc, "--memory", "1G", "--layout", "per-l3", "-f", "dts"))
    assert made.shape == Shape(sockets=2, cores=24, memory=GIB, caches=8, nodes=4, threads=2)
    check_map(made, emulated(made.shape))


def test_a_map_of_ones_own(capsys: pytest.CaptureFixture[str], epyc: str, tmp_path: Path) -> None:
    path = tmp_path / "own.dts"
    path.write_text(shown(capsys, "--from", epyc, "--layout", "per-l3", "-f", "dts"))
    assert shown(capsys, "--from", epyc, "--layout", str(path)).count("╭─ cluster") == 16
    status, _, err = run(capsys, "--from", str(write("EPYC 7601, one channel filled", tmp_path)), "--layout", str(path))
    assert status == 2 and "the machine (" in err


def test_json(capsys: pytest.CaptureFixture[str], epyc: str, tmp_path: Path) -> None:
    document = json.loads(shown(capsys, "--from", epyc, "--layout", "per-l3", "-f", "json"))
    assert document["cpus"][95] == {"cpu": 95, "apic": 125, "node": 7, "socket": 1, "l3": 15, "core": 47}
    shown(capsys, "--from", epyc, "--json", str(tmp_path / "a.json"))
    also = json.loads((tmp_path / "a.json").read_text())
    assert also["command"] == "topology" and also["cpus"] == document["cpus"] and len(also["clusters"]) == 2
    assert json.loads(shown(capsys, "--from", epyc, "--json", "-")) == also


def test_qemu_and_libvirt(capsys: pytest.CaptureFixture[str], epyc: str) -> None:
    words = shlex.split(shown(capsys, "--from", epyc, "--memory", "64M", "-f", "qemu"))
    assert words[:4] == ["-machine", "q35", "-cpu", "max,vendor=GenuineIntel"]
    assert words[4:6] == ["-smp", "cpus=96,sockets=2,dies=8,cores=3,threads=2"]
    assert "memory-backend-ram,id=memory7,size=64M,reserve=off" in words
    root = ElementTree.fromstring(shown(capsys, "--from", epyc, "--memory", "64M", "-f", "libvirt"))
    assert root.findtext("memory") == str(8 * 64 * 1024)


WRONG = {
    "--from /nowhere.xml": "/nowhere.xml: no such file",
    "--from EPYC --layout spanning": "--layout spanning: a cluster would have 96 cpus and a kernel runs on 60 at most; "
    "per-socket, per-l3, per-numa, size=24 would fit, or --smt off",
    "--from EPYC --layout size=5": "--layout size=5: this machine's sockets (2 of 24 cores) do not divide into "
    "clusters of 5; "
    "possible: 1, 2, 3, 4, 6, 8, 12, 24",
    "--layout size=99": "--layout size=99: this machine's sockets (2 of 2 cores) do not divide",
    "--layout size=two": "--layout: 'size=two': the size is not a number of cores",
    "--layout per-core": "--layout: 'per-core' is not one of per-socket",
    "--from EPYC --smt maybe": "--smt: 'maybe' is neither on nor off",
    "--smt off": "--smt: is for a machine whose cores have several threads",
    "--from EPYC --cores 4": "--from: is a machine already",
    "--from EPYC --memory 3": "--memory: 3 B is not a multiple of 2 MiB",
    "--from EPYC --memory 8M": "--layout per-socket: cluster 1 would have 32 MiB of memory, too little beside a "
    "channel",
    "--format png": "--format: 'png' is not one of",
    "--layout /nowhere.dts": "/nowhere.dts: no such file",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_input_is_one_line_that_names_the_culprit(
    capsys: pytest.CaptureFixture[str], epyc: str, arguments: str
) -> None:
    status, out, err = run(capsys, *arguments.replace("EPYC", epyc).split())
    assert (status, out) == (2, "")
    assert err.startswith(f"skerry: {WRONG[arguments]}") and err.count("\n") == 1


def test_libvirt_capabilities(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "host.xml"
    path.write_text(Host(cores=2, offline={7}).xml())
    out = shown(capsys, "--from", str(path))
    assert "note: processors left out, being offline: 7" in out and out.count("╭─ cluster") == 2


def test_runs_take_the_machine_of_a_file(tmp_path: Path, epyc: str) -> None:
    deployment = Deployment(redis=Redis(instances=1))

    def shape(path: str, memory: str | None = None, smt: str | None = None) -> Shape | Machine:
        return adapt(deployment, MachineOptions(memory=memory, topology=path, smt=smt), "per-l3").shape

    assert shape(epyc) == Shape(sockets=2, cores=24, memory=6 * GIB, caches=8, nodes=4, threads=2)
    assert shape(epyc, "1G", "off") == Shape(sockets=2, cores=24, memory=GIB, caches=8, nodes=4, threads=1)
    made = plan(adapt(deployment, MachineOptions(topology=epyc), "per-l3")).cluster_map
    assert len(made.clusters) == 16 and {len(c.cpus) for c in made.clusters} == {6}
    uneven = shape(str(write("Sandy Bridge, sockets of 8 and 4 cores", tmp_path)))
    assert isinstance(uneven, Machine) and uneven.cpus == 12
    with pytest.raises(InputError, match="--smt: is for a machine whose cores have several threads"):
        adapt(deployment, MachineOptions(2, 2, smt="off"))


def test_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path, epyc: str) -> None:
    """-f svg is a drawing of all clusters and cores, with its own style, for light and dark"""
    text = shown(capsys, "--sockets", "2", "--cores", "3", "-f", "svg")
    tree = ElementTree.fromstring(text)
    words = [element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert [word for word in words if word.startswith("cluster")][:2] == ["cluster 0: kernel clh",
                                                                          "cluster 1: kernel clh"]
    assert sorted(word for word in words if word.startswith("core ")) == [f"core {n}" for n in range(6)]
    assert any("a channel" in word for word in words)
    assert "prefers-color-scheme: dark" in text and ".machine .cluster" in text
    assert "socket 1" in shown(capsys, "--from", epyc, "--layout", "per-l3", "-f", "svg")
