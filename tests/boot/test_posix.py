# SPDX-License-Identifier: BSD-2-Clause
"""The POSIX layer, from a program's side, in the machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.deployment import Program
from deploy.deployment.reader import parse
from deploy.machine.events import Event
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from topology.units import MIB


@pytest.mark.limit(150)
@pytest.mark.parametrize("cpu", [pytest.param(0, id="first core"),
                                 *(pytest.param(cpu, id=name, marks=pytest.mark.drawn)
                                   for cpu, name in ((1, "second core"), (3, "second cluster")))])
def test_posix(cpu: int) -> None:
    """the POSIX layer passes its tests in the machine"""
    program = Program("posixtest", cpu, heap=64 * MIB)
    with machine(replace(deployment(network=False, shutdown="when-done"), programs=(program,))) as run:
        run.wait_done()
        assert "not ok" not in run.console
        result = run.events.of("result")[0]["data"]
        assert result["failed"] == 0 and result["passed"] > 10
        assert run.events.of("exit")[0]["status"] == 0
        assert run.console.count("posix: sockets of family 16 (netlink) are not provided") == 1


AS_STARTED = """\
args = ["start"]
heap = "64M"
storage = "4M"
threads = 3
env = ["FIRST=one", "EMPTY=", "SIGN=a=b c"]
cwd = "/data/work"
uid = 1000
gid = 100
files = ["tree:/data", "link:/data/own:rw"]
"""
START = f"""
shutdown = "never"
[machine]
sockets = 2
cores = 2
[[program]]
program = "posixtest"
name = "starts"
cpu = 1
network = true
{AS_STARTED}[[program]]
program = "posixtest"
name = "same-files"
cpu = 3
{AS_STARTED}[[program]]
program = "crash"
name = "writes-files"
cpu = 1
args = ["files"]
files = ["tree:/data", "link:/data/own:rw"]
[[program]]
program = "crash"
name = "writes-hosts"
cpu = 1
args = ["hosts"]
network = true
[[program]]
elf = "NAMES"
cpu = 3
args = ["localhost=127.0.0.1", "starts@2=10.0.2.151", "writes-hosts=10.0.2.152", "twice=10.0.2.155,10.0.2.156", "nobody=none"]
network = true
[[program]]
elf = "NAMES"
name = "refuses"
cpu = 3
args = ["no sign"]
network = true
[[program]]
program = "sleep"
name = "twice"
network = true
[[program]]
program = "sleep"
name = "twice"
network = true
"""
NAMES = BUILD / "tests/programs/names.elf"
RESOLVER = """
shutdown = "never"
[machine]
sockets = 2
cores = 2
[[program]]
elf = "NAMES"
name = "server"
cpu = 1
args = ["--serve"]
network = true
[[program]]
elf = "NAMES"
name = "client"
cpu = 3
args = ["server=10.0.2.151", "island.example=192.0.2.7"]
network = true
files = ["resolv.conf:/etc/resolv.conf"]
"""


def make_files(folder: Path) -> None:
    """Makes the files that the programs above read."""
    many = folder / "tree" / "many"
    many.mkdir(parents=True)
    for number in range(300):
        (many / f"f{number}").write_text(str(number))
    (folder / "tree" / "small").write_text("small\n")
    (folder / "tree" / "small").chmod(0o644)
    (folder / "tree" / "large").write_bytes(b"l" * 3_000_000 + b"L")
    (folder / "tree" / "empty").write_bytes(b"")
    (folder / "copied").write_bytes(b"o" * 200_000)
    (folder / "link").symlink_to("copied")


def ends(run: Run) -> list[Event]:
    return [event for event in run.events.of("exit") if not str(event["app"]).startswith("twice")]


@pytest.mark.limit(150)
def test_start(tmp_path: Path) -> None:
    """a program starts with the environment, folder, user, files and names of its deployment, and can write to no
    shared page"""
    make_files(tmp_path)
    with machine(parse(START.replace("NAMES", str(NAMES)), "start.toml", tmp_path)) as run:
        run.wait_for(lambda: len(ends(run)) == 4 and len(run.events.of("fault")) == 2, "four ends and two faults")
        status = {str(end["app"]).partition("@")[0]: end["status"] for end in ends(run)}
        assert status.pop("refuses") == 255 and len(status) == 3 and not any(status.values()), ends(run)
        assert "not ok" not in run.console
        results = [event["data"] for event in run.events.of("result")]
        assert all(result["failed"] == 0 and result["passed"] == 8 for result in results) and len(results) == 2
        for fault in run.events.of("fault"):
            assert str(fault["app"]).startswith("writes-") and "write" in str(fault["cause"]).lower(), fault


@pytest.mark.limit(150)
def test_name_server(tmp_path: Path) -> None:
    """a program on one kernel asks a name server on the other, by UDP, as its /etc/resolv.conf says"""
    (tmp_path / "resolv.conf").write_text("nameserver 10.0.2.151\noptions timeout:60 attempts:10\n")
    with machine(parse(RESOLVER.replace("NAMES", str(NAMES)), "resolver.toml", tmp_path)) as run:
        run.wait_for(lambda: run.events.of("exit"), "the client's end")
        (end,) = run.events.of("exit")
        assert str(end["app"]).startswith("client@") and end["status"] == 0, run.console
        assert "ok island.example: 192.0.2.7" in run.console
