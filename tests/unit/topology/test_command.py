# SPDX-License-Identifier: BSD-2-Clause
"""`skerry topology` as a user meets it; errors are data."""

import ast
import json
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli import main
from deploy.cli.options import MachineOptions, adapt
from deploy.deployment import Deployment, Redis, parse
from deploy.deployment.planner import plan
from tests.unit.topology.machines import Host, write
from topology.errors import InputError, Place
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.reader import read_dts
from topology.units import GIB

# ---- `skerry topology` as a user meets it. ----


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


# ---- Errors are data: the line is made of them in one place, and nobody reads the line to decide. ----


def test_line() -> None:
    """the line has place, culprit, what was found, what was expected, what is near, and how many more"""
    bare = InputError("--lock", "no\nsuch lock")
    assert str(bare) == "--lock: no such lock" and bare.at == ()
    full = InputError("[redis] heap", at=("redis", "heap"), place=Place("a.toml", 3, 8), found="'x'", expected="a size",
                      nearest="'1G'", others=2)
    assert str(full) == "a.toml:3: [redis] heap: 'x' is not a size; did you mean '1G'? (and 2 more)"
    assert str(InputError("", "is empty", place=Place("a.toml"))) == "a.toml: is empty"


# A file's mistake, and what is known of it.
KNOWN = [
    ("[redis]\nheap = 'lots'", ("redis", "heap"), 2, {"found": "'lots'", "expected": "a size such as 512M or 2G"}),
    ("[clusters]\nlock = 'msc'", ("clusters", "lock"), 2, {"found": "'msc'", "nearest": "'mcs'"}),
    ("[redis]\nheep = 1", ("redis", "heep"), 2, {"nearest": "'heap'"}),
    ("[redsi]", ("redsi",), 1, {"nearest": "[redis]"}),
    ("[redis]\n[clusters]\nlayout = 'persocket'", ("clusters", "layout"), 3,
     {"nearest": "'per-socket'", "found": "'persocket'"}),
    ("[[program]]\nprogram = 'crash'\n[[program]]\ncpu = -1\nprogram = 'crash'", ("program", 1, "cpu"), 4,
     {"found": "-1"}),
    ("[redis]\nport: 3", (), 2, {"column": 5}),
    ("[redis]\nport = 1\nport = 2\n[machine]", (), 3, {"column": 9}),
    ("[redis]\ninstances = 4", ("redis", "instances"), 2, {}),
    ("[redis]\nheap = '2G'", ("redis", "heap"), 2, {}),
    ("[redis]\n[ycsb]\nclients = 2\nheap = '4G'", ("ycsb", "heap"), 4, {}),
    ("[redis]\nargs = ['" + "', '".join(["x"] * 200) + "']", ("redis", "args"), 2, {}),
    ("[[program]]\nprogram = 'crash'\n\nheap = '4G'", ("program", 0, "heap"), 4, {}),
    ("[redis]\n[clusters]\nlock = 'none'", ("clusters", "lock"), 3, {}),
    ("[redis]\n[machine]\nmemory = '2M'", ("machine", "memory"), 3, {}),
    ("[redis]\n[network]\nswitch = 'per-socket'\n[clusters]\nlayout = 'size=1'", ("network", "switch"), 3, {}),
    ("[redis]\nhost-port = 7000\n[metrics]\nhost-port = 7000", ("metrics", "host-port"), 4, {}),
]


@pytest.mark.parametrize("text, at, line, more", KNOWN, ids=[" ".join(map(str, at)) or "TOML" for _, at, _, _ in KNOWN])
def test_of_a_deployment(text: str, at: tuple[str | int, ...], line: int, more: dict[str, object]) -> None:
    """a deployment's mistake, in its file or with its machine, says its key, file and line, and what was found and
    expected"""
    with pytest.raises(InputError) as caught:
        plan(parse(text, "file"))
    error = caught.value
    assert error.at == at and error.place and (error.place.file, error.place.line) == ("file", line), error
    data = json.loads(json.dumps(error.to_json()))
    assert data["text"] == str(error) and data["file"] == "file" and data["line"] == line
    assert {name: data.get(name) for name in more} == more


def test_failure() -> None:
    """where all of it is belongs to a failure's line and is not part of its text"""
    failure = Failure("it stopped")
    failure.log = Path("/x/y.log")
    assert (failure.text, str(failure)) == ("it stopped", "it stopped (log: /x/y.log)")


MESSAGES = {"problem", "culprit", "text"}


def _is_message(node: ast.AST) -> bool:
    """`error.problem`, `str(error)`, and the like."""
    match node:
        case ast.Attribute(value=ast.Name(id="error" | "failure"), attr=name):
            return name in MESSAGES
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id="error" | "failure")]):
            return True
    return False


def test_nobody_reads_messages() -> None:
    """no condition and no pattern looks into the words of an error"""
    wrong = []
    for path in sorted([*ROOT.glob("deploy/**/*.py"), *ROOT.glob("topology/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Compare():
                    parts = [node.left, *node.comparators]
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"))):
                    parts = list(node.args)
                case ast.Call(func=ast.Attribute(value=inner,
                                                 attr="startswith" | "endswith" | "partition" | "split" | "find")):
                    parts = [inner]
                case _:
                    continue
            if any(_is_message(part) for part in parts):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong
