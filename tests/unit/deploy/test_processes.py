# SPDX-License-Identifier: BSD-2-Clause
"""Programs that fork: what a deployment file says, and what the map has of it."""

from pathlib import Path

import pytest

from deploy.base import elf
from deploy.deployment import parse
from deploy.deployment.planner import plan
from tests.unit.deploy.executables import executable, for_several_cores
from topology.errors import InputError
from topology.maps.clustermap import ClusterMap
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "forks.elf").write_bytes(for_several_cores(kind=2))
    (tmp_path / "single.elf").write_bytes(executable())
    (tmp_path / "wide.elf").write_bytes(for_several_cores())
    return tmp_path


def planned(folder: Path, keys: str, of: str = "elf = 'forks.elf'") -> ClusterMap:
    return plan(parse(f"[machine]\nsockets = 2\ncores = 2\n[[program]]\n{of}\n{keys}\n", "file", folder)).cluster_map


def test_map(folder: Path) -> None:
    """the map has how many processes a program may be, and is read as it was written; one process is not written"""
    text = write_dts(planned(folder, "processes = 5"))
    assert "processes = <5>;" in text and read_dts(text).applications[-1].processes == 5
    assert "processes" not in write_dts(planned(folder, ""))
    shared = read_dts(write_dts(planned(folder, "processes = 2\nvolume = ['.:/data']\ncpu = 1"))).applications
    assert [(app.processes, app.volumes) for app in shared if app.volumes] == [(2, [shared[-1].name])]


@pytest.mark.parametrize("keys,of,problem", [
    ("processes = 0", "elf = 'forks.elf'", "processes"),
    ("processes = 17", "elf = 'forks.elf'", "processes"),
    ("processes = 2\ncores = 2", "elf = 'forks.elf'", "file:6: .*this one has 'cores'"),
    ("processes = 2", "program = 'sleep'", "file:6: .*this one has 'program'"),
    ("processes = 2", "elf = 'single.elf'", "file:6: .*single.elf is linked for one process; `skerry cc --processes`"),
    ("processes = 2", "elf = 'wide.elf'", "file:6: .*wide.elf is linked for one process"),
    ("processes = 16\nheap = '128M'", "elf = 'forks.elf'", "heaps of .* MiB do not fit"),
])
def test_refused(folder: Path, keys: str, of: str, problem: str) -> None:
    """processes that a program cannot have are refused with their line; each counts with a heap of its own"""
    with pytest.raises(InputError, match=problem):
        planned(folder, keys, of)


def test_note() -> None:
    """the note of an executable says whether it is linked for several processes"""
    assert elf.may_fork(for_several_cores(kind=2)) and not elf.spans_cores(for_several_cores(kind=2))
    assert not elf.may_fork(for_several_cores()) and not elf.may_fork(executable())
