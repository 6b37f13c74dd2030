# SPDX-License-Identifier: BSD-2-Clause
"""Examples, and the programs in them."""

from __future__ import annotations

import http.client
import os
import random
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType

import pytest

from deploy import deployment
from deploy.base.paths import ROOT
from deploy.deployment import Program
from deploy.deployment.planner import Plan, plan
from deploy.machine.run import Run
from deploy.results import ycsb
from deploy.results.result import check
from tests.boot import machine as machines
from tests.boot.machine import ANSWER, assert_serve, machine, machine_serving


class Memcached:
    """A client of its text protocol."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self._socket = socket.create_connection(address, timeout=ANSWER)
        self._file = self._socket.makefile("rb")

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Memcached:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _line(self) -> bytes:
        line = self._file.readline()
        assert line.endswith(b"\r\n"), "the server has closed the connection"
        return line[:-2]

    def call(self, request: bytes) -> bytes:
        """A request with one line as its answer."""
        self._socket.sendall(request + b"\r\n")
        return self._line()

    def set(self, key: str, value: bytes, expires: int = 0) -> bytes:
        return self.call(b"set %s 0 %d %d\r\n%s" % (key.encode(), expires, len(value), value))

    def _values(self) -> dict[str, tuple[bytes, int]]:
        values = {}
        while (line := self._line()) != b"END":
            word, key, _, size, *unique = line.split()
            assert word == b"VALUE", line
            value = self._file.read(int(size) + 2)
            assert value.endswith(b"\r\n") and key.decode() not in values
            values[key.decode()] = (value[:-2], int(unique[0]) if unique else 0)
        return values

    def get(self, *keys: str) -> dict[str, bytes]:
        self._socket.sendall(f"get {' '.join(keys)}\r\n".encode())
        return {key: value for key, (value, _) in self._values().items()}

    def gets(self, key: str) -> int:
        """Returns what `cas` takes for this key's present value."""
        self._socket.sendall(f"gets {key}\r\n".encode())
        return self._values()[key][1]

    def stats(self) -> dict[str, str]:
        self._socket.sendall(b"stats\r\n")
        figures = {}
        while (line := self._line()) != b"END":
            _, name, value = line.decode().split(maxsplit=2)
            figures[name] = value
        return figures

    def flush(self) -> None:
        assert self.call(b"flush_all") == b"OK"


# ---- The example deployments that no other test boots ----

LOADED = {
    "minimal": {0: "none"},
    "spanning": {0: "mcs+stat"},
    "chiplets": {0: "clh", 1: "clh"},
    "locks": {0: "ticket+stat", 1: "mcs+stat"},
}


def example(name: str) -> Plan:
    return plan(deployment.read(ROOT / "deploy/deployments" / f"{name}.toml"))


@pytest.mark.limit(90)
@pytest.mark.parametrize("name,kernels", LOADED.items(), ids=LOADED)
def test_load(name: str, kernels: dict[int, str]) -> None:
    """an example under load runs to its end, with no operation lost"""
    with machine(example(name)) as run:
        run.wait_done()
        assert {event["cluster"]: event["kernel"] for event in run.events.of("boot")} == kernels
        assert check(run.plan, run.events) == []
        clients = ycsb.collect(run.events)
        assert clients and all(one.number("operations") == run.plan.load.operations for one in clients)


@pytest.mark.limit(90)
def test_isolation() -> None:
    """in the isolation example the crash is reported and both Redis serve on"""
    with machine(example("isolation")) as run:
        fault = run.wait_event("fault")
        assert fault["app"].startswith("crash@") and fault["cluster"] == 1
        run.wait_serving()
        for name, _ in run.plan.forwards:
            assert_serve(run, name)


@pytest.mark.limit(90)
def test_own_program(tmp_path: Path) -> None:
    """a C program that `skerry cc` has compiled serves the host, on each of two kernels"""
    folder = ROOT / "examples/echo"
    subprocess.run([ROOT / "skerry", "cc", "-O2", "-o", tmp_path / "echo.elf", folder / "echo.c"], check=True)
    (tmp_path / "echo.toml").write_text((folder / "echo.toml").read_text())
    what = plan(deployment.read(tmp_path / "echo.toml"))
    what.host_ports.clear()  # any that are free
    with machine_serving(what) as run:
        for name, _ in what.forwards:
            sent = os.urandom(100_000)
            with socket.create_connection(run.address(name)) as connection:
                writer = threading.Thread(target=connection.sendall, args=(sent,))
                writer.start()
                heard = b""
                while len(heard) < len(sent) and (part := connection.recv(65536)):
                    heard += part
                writer.join()
            assert heard == sent
        assert run.console.count("echo: listens at port 7") == 2


# ---- The programs of examples/, built from Debian's sources: Lua and dash alone, in the campaign all on one machine ----

CPUS = {"lua": 1, "speedtest1": 1, "sqlite3": 1, "load": 1, "memcached": 3, "nginx": 3}
CONTENT = {"small.txt": random.Random(3).randbytes(1 << 10), "large.bin": random.Random(4).randbytes(8 << 20)}
# what speedtest1 prints on Linux
VERIFIED = "Verification Hash: 244592 28e6676ac610b0067f7b48634a7665a3ccf4f1ef8d7fd374"


@cache
def built(name: str) -> Path:
    """An example's folder, whose programs are up to date."""
    done = subprocess.run([ROOT / "skerry", "build", f"examples/{name}", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ROOT / "examples" / name


@pytest.mark.limit(600)
@pytest.mark.parametrize("name", ["lua", "dash", *(pytest.param(name, marks=pytest.mark.campaign)
                                                  for name in ("sqlite", "memcached", "nginx"))])
def test_build(name: str) -> None:
    """an example is built from Debian's sources, and its deployment file is in order"""
    folder = built(name)
    plan(deployment.read(folder / f"{name}.toml"))


def programs(name: str, folder: Path) -> Iterator[Program]:
    """Yields the programs of an example's file, or of a copy in another folder, on the core that they have here."""
    for program in deployment.read(folder / f"{name}.toml").programs:
        ports = tuple(replace(port, outside=None) for port in program.ports)  # any that are free
        yield replace(program, cpu=CPUS[program.program], ports=ports)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    site = tmp_path_factory.mktemp("nginx")
    for file in built("nginx").iterdir():
        (site / file.name).symlink_to(file)
    (site / "site").unlink()
    (site / "site").mkdir()
    for name, content in CONTENT.items():
        (site / "site" / name).write_bytes(content)
    everything = [program for name in ("memcached", "lua", "sqlite") for program in programs(name, built(name))]
    everything.append(next(programs("nginx", site)))
    with machines.machine(machines.deployment(programs=tuple(everything))) as running:
        yield running


def ended(run: Run, program: str) -> str:
    """Returns what a program that ends well has written, without its name in front."""

    def over() -> bool:
        return any(event["app"].startswith(f"{program}@") for event in run.events.of("exit"))

    run.wait_for(over, f"the end of {program}")
    event = next(event for event in run.events.of("exit") if event["app"].startswith(f"{program}@"))
    mark = f"[{event['app']}] "
    lines = [line.removeprefix(mark) for line in run.console.splitlines() if line.startswith(mark)]
    assert event["status"] == 0, lines
    return "\n".join(lines)


@pytest.mark.limit(120)
def test_lua() -> None:
    """Lua runs the script of its example: recursion, strings, coroutines, files"""
    with machines.machine(machines.deployment(programs=tuple(programs("lua", built("lua"))))) as run:
        assert_lua(run)


def assert_lua(run: Run) -> None:
    assert ended(run, "lua").splitlines() == ["Lua 5.4, 8 queens: 92 solutions", "letters of this script: e n o",
                                              "sum of the numbers in a file: 5050"]


def said_on_linux(folder: Path, made: Path) -> list[str]:
    """Returns what this host's dash prints of the example's script, with the same tools."""
    tools = made / "bin"
    tools.mkdir()
    subprocess.run(["gcc", "-O1", "-o", tools / "cat", folder / "tool.c"], check=True)
    for name in ("sort", "uniq", "wc", "tr", "head", "sleep"):
        (tools / name).symlink_to("cat")
    shell = shutil.which("dash")
    assert shell, "this host has no dash to compare with"
    (tools / "sh").symlink_to(shell)
    done = subprocess.run([shell, folder / "script.sh"], env={"TOOLS": str(tools), "FOLDER": str(made)}, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.splitlines()


@pytest.mark.limit(300)
def test_dash(tmp_path: Path) -> None:
    """a shell runs a script with pipelines, substitutions, here-documents, jobs, traps and scripts as it does on Linux:
    each part of a pipeline is a process, which executes a program"""
    folder = built("dash")
    with machine(plan(deployment.read(folder / "dash.toml"))) as run:
        printed = [line for line in ended(run, "dash").splitlines() if not line.startswith("posix: ")]
    assert printed == said_on_linux(folder, tmp_path)


@pytest.mark.campaign
@pytest.mark.limit(120)
def test_sqlite(run: Run) -> None:
    """SQLite's own benchmark reads what it wrote, and its shell runs SQL on a database in a file"""
    printed = ended(run, "speedtest1")
    assert VERIFIED in printed and "TOTAL" in printed
    table = ended(run, "sqlite3")
    assert_lua(run)  # on the same core
    assert "│ integrity_check │" in table and "│ ok " in table and table.count("│ 19") == 9


@pytest.mark.campaign
@pytest.mark.limit(120)
def test_memcached_inside(run: Run) -> None:
    """memcached answers a client on another kernel, every operation as it should"""
    assert "load: 384 operations over 16 connections, all answers right" in ended(run, "load")


@pytest.fixture
def memcached(run: Run) -> Iterator[Memcached]:
    run.wait_serving()
    name = next(name for name, _ in run.plan.forwards if name.startswith("memcached@"))
    with Memcached(run.address(name)) as client:
        yield client


@pytest.mark.campaign
@pytest.mark.limit(120)
def test_memcached_operations(memcached: Memcached) -> None:
    """memcached stores, counts, compares and swaps, appends, expires, deletes and refuses for a client of the host"""
    memcached.flush()
    assert memcached.set("name", b"skerry") == b"STORED" and memcached.get("name") == {"name": b"skerry"}
    assert memcached.call(b"add name 0 0 1\r\nx") == b"NOT_STORED"
    assert memcached.call(b"append name 0 0 2\r\n!!") == b"STORED" and memcached.get("name") == {"name": b"skerry!!"}
    memcached.set("number", b"41")
    assert memcached.call(b"incr number 1") == b"42" and memcached.call(b"decr number 50") == b"0"
    unique = memcached.gets("name")
    assert memcached.call(b"cas name 0 0 1 %d\r\ny" % unique) == b"STORED"
    assert memcached.call(b"cas name 0 0 1 %d\r\nz" % unique) == b"EXISTS"
    assert memcached.call(b"delete name") == b"DELETED" and memcached.get("name") == {}
    large = random.Random(1).randbytes(1000 * 1000)
    assert memcached.set("large", large) == b"STORED" and memcached.get("large") == {"large": large}
    assert memcached.set("too-large", bytes(1 << 20)) == b"SERVER_ERROR object too large for cache"
    assert memcached.set("gone", b"soon", expires=-1) == b"STORED" and memcached.get("gone") == {}
    assert memcached.stats()["threads"] == "4"


@pytest.mark.campaign
@pytest.mark.limit(120)
def test_memcached_connections(run: Run, memcached: Memcached) -> None:
    """sixty connections at once write and read memcached, in random order, and see each other's values"""
    dice = random.Random(2)
    others = [Memcached(memcached.address) for _ in range(60)]
    values: dict[str, bytes] = {}
    for batch in range(200):
        client, key = dice.choice(others), f"key-{dice.randrange(80)}"
        if dice.random() < 0.4:
            values[key] = dice.randbytes(dice.randrange(1, 1400))
            assert client.set(key, values[key]) == b"STORED"
        else:
            keys = dice.sample([f"key-{n}" for n in range(80)], dice.randrange(1, 6))
            assert client.get(*keys) == {key: values[key] for key in keys if key in values}, batch
    assert int(memcached.stats()["curr_connections"]) > 60
    for client in others:
        client.close()
    assert not run.events.of("fault")


def connect(run: Run) -> http.client.HTTPConnection:
    run.wait_serving()
    name = next(name for name, _ in run.plan.forwards if name.startswith("nginx@"))
    return http.client.HTTPConnection(*run.address(name), timeout=machines.ANSWER)


def fetch(connection: http.client.HTTPConnection, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.campaign
@pytest.mark.limit(120)
def test_nginx(run: Run) -> None:
    """nginx serves files of the host: 1 KiB and 8 MiB, parts, and what there is not, over one connection"""
    connection = connect(run)
    connection.connect()
    before = connection.sock
    assert fetch(connection, "/small.txt") == (200, CONTENT["small.txt"])
    assert fetch(connection, "/large.bin") == (200, CONTENT["large.bin"])
    assert fetch(connection, "/large.bin", Range="bytes=5000000-5000999") == (206,
                                                                              CONTENT["large.bin"][5000000:5001000])
    assert fetch(connection, "/none")[0] == 404 and fetch(connection, "/large.bin", "HEAD") == (200, b"")
    assert fetch(connection, "/small.txt", "POST")[0] == 405
    assert connection.sock is before, "the connection was kept"
    connection.close()


@pytest.mark.campaign
@pytest.mark.limit(120)
def test_nginx_connections(run: Run) -> None:
    """nginx keeps fifty connections alive and answers each, in any order"""
    connections = [connect(run) for _ in range(50)]
    for batch in range(3):
        random.Random(batch).shuffle(connections)
        for connection in connections:
            connection.request("GET", "/small.txt")
        for connection in connections:
            assert connection.getresponse().read() == CONTENT["small.txt"]
    for connection in connections:
        connection.close()
    assert not run.events.of("fault")
