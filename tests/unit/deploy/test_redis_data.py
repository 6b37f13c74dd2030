# SPDX-License-Identifier: BSD-2-Clause
"""Redis that keeps its data: what a deployment file says, what each instance gets of it, and what is refused."""

from pathlib import Path

import pytest

from deploy.deployment import parse
from deploy.deployment.planner import Plan, plan
from deploy.deployment.volumes import Folder, Share, hold, make, of_instance
from topology.errors import InputError
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path


def planned(folder: Path, keys: str, sockets: int = 1, cores: int = 4, rest: str = "") -> Plan:
    text = f"[machine]\nsockets = {sockets}\ncores = {cores}\n[redis]\n{keys}\n{rest}"
    return plan(parse(text, "file", folder))


def test_each_has_its_own(folder: Path) -> None:
    """each instance has a folder below the one that is named, a server beside it, and settings that hold"""
    made = planned(folder, "data = 'data'")
    servers = [app for app in made.cluster_map.applications if app.program == "redis-server"]
    assert [share.folder.path.name for share in made.shares] == ["redis-1", "redis-2", "redis-3"]
    assert [app.volumes for app in servers] == [[share.tag] for share in made.shares]
    for app, share in zip(servers, made.shares):
        assert made.application(share.tag).cpu == app.cpu and made.application(share.tag).mount == "/data"
        words = app.args
        assert words[words.index("--dir"):] == ["--dir", "/data", "--appendonly", "yes", "--appendfsync", "everysec",
                                                "--auto-aof-rewrite-percentage", "0", "--save", ""]
    assert [app.volumes for app in read_dts(write_dts(made.cluster_map)).applications
            if app.program == "redis-server"] == [app.volumes for app in servers]


@pytest.mark.parametrize("keys,words", [
    ("append = 'always'", "--appendonly yes --appendfsync always --auto-aof-rewrite-percentage 0 --save "),
    ("append = 'no'\nsave = ' 3600 1  300 100'",
     "--appendonly no --auto-aof-rewrite-percentage 0 --save 3600 1 300 100"),
])
def test_settings(folder: Path, keys: str, words: str) -> None:
    """what the keys say stands behind all other arguments"""
    made = planned(folder, f"instances = 1\ndata = 'data'\n{keys}")
    args = made.application("redis@2").args
    assert " ".join(args[args.index("/data") + 1:]) == words


def test_children(folder: Path) -> None:
    """an instance that may fork is another program, of two processes, which rewrites its log by itself"""
    made = planned(folder, "instances = 1\nheap = '64M'\ndata = 'data'\nchildren = 1")
    server = read_dts(write_dts(made.cluster_map)).applications[-2]
    assert (server.name, server.program, server.processes) == ("redis@2", "redis-server-forks", 2)
    assert server.args[server.args.index("/data") + 1:] == ["--appendonly", "yes", "--appendfsync", "everysec",
                                                            "--save", ""]
    made = planned(folder, "instances = 1\nheap = '64M'\nserver = 'valkey'\nchildren = 1")
    valkey = made.application("valkey@2")
    assert valkey.program == "valkey-server-forks" and "swapdb" in valkey.args and "swapdb" not in server.args
    assert planned(folder, "instances = 1").application("redis@2").processes == 1


@pytest.mark.parametrize("keys,problem", [
    ("children = 2", r"^file:5: \[redis\] children: "),
    ("stack = 'process'\nchildren = 1",
     r"^file:6: \[redis\] children: contradicts 'stack' = 'process': a stack process serves one process$"),
    ("heap = '4G'\nchildren = 1", "heaps of .* do not fit"),
    ("data = 'missing'", r"^file:5: \[redis\] data: .*/missing: no such folder; mkdir makes it$"),
    ("data = 'file'", r"^file:5: \[redis\] data: .*/file is no folder$"),
    ("append = 'always'",
     r"^file:5: \[redis\] append: is about a folder for the data, and there is none; 'data' names it$"),
    ("save = '1 1'", r"^file:5: \[redis\] save: is about a folder for the data"),
    ("data = 'data'\nappend = 'often'", r"^file:6: \[redis\] append: 'often' is not one of no, everysec, always$"),
    *((f"data = 'data'\nsave = '{rules}'", r"^file:6: \[redis\] save: '.*' is not pairs of seconds and changes such as")
      for rules in ("1", "0 1", "1 -1", "1 x", "1 1 1")),
    ("data = 'data'\nargs = ['--dir', '/']", r"^file:6: \[redis\] args: says '--dir', which the key 'data' is for$"),
])
def test_refused(folder: Path, keys: str, problem: str) -> None:
    """each mistake is one line that names its place"""
    (folder / "file").write_text("")
    with pytest.raises(InputError, match=problem):
        planned(folder, keys)


def test_where_devices_are(folder: Path) -> None:
    """an instance of another cluster is refused, and so is one more than a machine has places for"""
    with pytest.raises(InputError, match=r"\[redis\] data: cpu 2 is of cluster@1, and volumes are for programs of "
                                         r"cluster@0, which has the devices \(cpu 0, 1\)$"):
        planned(folder, "data = 'data'", sockets=2, cores=2)
    planned(folder, "data = 'data'\ncpus = [1]", sockets=2, cores=2)
    with pytest.raises(InputError, match="data: is one too many: a machine can have 14$"):
        planned(folder, "data = 'data'", cores=16)


def test_shared_with_a_program(folder: Path) -> None:
    """the folder is no program's volume"""
    program = "[[program]]\nprogram = 'posixtest'\nvolume = ['data/redis-1:/x']\n"
    (folder / "data/redis-1").mkdir()
    with pytest.raises(InputError, match="are the folder of two volumes"):
        planned(folder, "instances = 1\ndata = 'data'", rest=program)


def test_made(folder: Path) -> None:
    """a folder that is not there is made when the machine starts, and no other one; what is in its way is refused"""
    one = Share("volume@3", of_instance(Folder(folder / "data", "/data"), 1))
    make([one, Share("volume@4", Folder(folder / "else", "/else"))])
    make([one])
    assert (folder / "data/redis-1").is_dir() and not (folder / "else").exists()
    (folder / "data/redis-2").write_text("")
    (folder / "data/redis-3").symlink_to("redis-1")
    for number, problem in ((2, "redis-2 is no folder$"), (3, "redis-3 is a link$")):
        with pytest.raises(InputError, match=problem):
            make([Share("volume@3", of_instance(Folder(folder / "data", "/data"), number))])
    with pytest.raises(InputError, match="data: .*/gone/redis-1: No such file or directory$"):
        make([Share("volume@3", of_instance(Folder(folder / "gone", "/data"), 1))])


def test_held(folder: Path) -> None:
    """one machine at a time has a folder that it may write; many have one that they read"""
    own = Share("volume@3", of_instance(Folder(folder / "data", "/data"), 1))
    read = Share("volume@4", Folder(folder / "data", "/shown", read_only=True))
    with hold([own, read]):
        with hold([read]):
            with pytest.raises(InputError, match="^data: .*/redis-1 is used by another machine that runs$"):
                hold([read, own])
    with hold([own]), pytest.raises(InputError, match="^volume: .*/gone: No such file"):
        hold([Share("volume@5", Folder(folder / "gone", "/gone"))])
    hold([own]).close()
