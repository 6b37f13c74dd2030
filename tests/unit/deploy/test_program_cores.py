# SPDX-License-Identifier: BSD-2-Clause
"""Programs that have several cores: what a deployment file says, and what the map has of it."""

from pathlib import Path

import pytest

from deploy.base import elf
from deploy.deployment import parse
from deploy.deployment.planner import plan
from deploy.live.cores import programs_of
from deploy.machine.events import Event
from tests.unit.deploy.executables import executable, for_several_cores
from topology.errors import InputError
from topology.maps.clustermap import ClusterMap
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts

MACHINE = "[machine]\nsockets = 2\ncores = 4\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wide.elf").write_bytes(for_several_cores())
    (tmp_path / "narrow.elf").write_bytes(executable())
    return tmp_path


def planned(folder: Path, keys: str, top: str = "network = false", elf: str = "wide.elf") -> ClusterMap:
    text = f"{top}\n{MACHINE}[[program]]\nelf = '{elf}'\n{keys}\n"
    return plan(parse(text, "file", folder)).cluster_map


@pytest.mark.parametrize("keys,top,cores", [
    ("cpu = 1\ncores = 3", "network = false", [1, 2, 3]),
    ("cores = 'cluster'", "network = false", [0, 1, 2, 3]),
    ("cpu = 6\ncores = 'cluster'", "network = false", [6, 7, 4, 5]),
    ("cpu = 2\ncores = 'cluster'", "network = true", [2, 3, 1]),
    ("cpus = [7, 5]", "network = false", [7, 5]),
    ("cpus = [3]", "network = false", [3]),
    ("cpu = 2", "network = false", [2]),
])
def test_cores(folder: Path, keys: str, top: str, cores: list[int]) -> None:
    """a program has the cores that its table names, or those of its cluster without a switch"""
    app = planned(folder, keys, top).applications[-1]
    assert app.cores == cores and app.cpu == cores[0]


def test_map(folder: Path) -> None:
    """the map has a program's cores and where its threads start, and is read as it was written"""
    made = planned(folder, "cpus = [3, 1]\nplacement = 'first'")
    text = write_dts(made)
    assert "cpu = <&cpu3 &cpu1>;" in text and 'placement = "first";' in text
    read = read_dts(text).applications[-1]
    assert read.cores == [3, 1] and read.cpu == 3 and read.placement == "first"
    assert "placement" not in write_dts(planned(folder, "cpu = 1"))


@pytest.mark.parametrize("keys,problem", [
    ("cpus = [3, 4]", r"file:7: .*cpu 3 is of cluster@0 and cpu 4 of cluster@1 \(layout per-socket\)"),
    ("cpus = [1, 1]", r"cpu.*twice"),
    ("cpus = [1, 9]", r"file:7: .*cpu 9 is not on a machine of 8 cores"),
    ("cpus = []", "cpus"),
    ("cpu = 2\ncores = 3", r"file:8: .*has 3 cores, and cluster@0 \(layout per-socket\) has 2 from cpu 2 on"),
    ("cores = 0", "cores"),
    ("cores = 65", "cores"),
    ("cores = 'all'", "cores"),
    ("cpu = 1\ncpus = [1, 2]", "file:7: .*contradicts 'cpus'"),
    ("cores = 2\ncpus = [1, 2]", "file:7: .*contradicts 'cpus'"),
    ("placement = 'last'", "file:7: .*placement"),
    ("stacks = 2", "unknown key 'stacks'"),
])
def test_refused(folder: Path, keys: str, problem: str) -> None:
    """cores that a program cannot have are refused with their line"""
    with pytest.raises(InputError, match=problem):
        planned(folder, keys)


def test_linked_for_one(folder: Path) -> None:
    """an executable that is linked for one core is refused several, with the command that mends it"""
    assert planned(folder, "cores = 1", elf="narrow.elf").applications[-1].cores == [0]
    for keys in ("cores = 2", "cores = 'cluster'", "cpus = [1, 2]"):
        with pytest.raises(InputError, match="file:7: .*narrow.elf is linked for one core; `skerry cc --cores`"):
            planned(folder, keys, elf="narrow.elf")
    assert elf.spans_cores(for_several_cores()) and not elf.spans_cores(for_several_cores(b"Skerri\0"))


def test_of_the_build() -> None:
    """the build's own programs have one core"""
    with pytest.raises(InputError, match="file:3: .*'wakeups' is of the build and for one core"):
        parse("[[program]]\nprogram = 'wakeups'\ncores = 2\n", "file")


def test_named() -> None:
    """`map` and `move` name a program at each of its cores"""
    events = [Event("started", {"app": "wide@1", "cluster": 0, "cpu": 2, "cpus": [2, 5]}),
              Event("started", {"app": "narrow@2", "cluster": 0, "cpu": 5})]
    assert [programs_of(events, core) for core in (2, 4, 5)] == [["wide@1"], [], ["wide@1", "narrow@2"]]
