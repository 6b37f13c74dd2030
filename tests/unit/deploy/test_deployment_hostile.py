# SPDX-License-Identifier: BSD-2-Clause
"""Files that somebody wrote to see them fail: through the command line, which says one line and ends with 2."""

import os
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.cli import main
from deploy.cli.commands.machine import run

R = "[redis]\n"
PROGRAM = "[[program]]\nprogram = 'posixtest'\n"
LAYOUTS = "one of per-socket, per-l3, per-numa, spanning, homed, size=N or a map file"

FILES: dict[str, tuple[str, str]] = {
    # values
    "digits of another script": (f"{R}heap = '６４M'", "2: [redis] heap: '６４M' is not a size such as"),
    "date": (f"{R}port = 2026-11-21", "2: [redis] port: 2026-11-21 is not a number from 1 to 65535"),
    "not a number": (f"{R}heap = nan", "2: [redis] heap: nan is not a size"),
    "infinity": (f"{R}[ycsb]\nclients = -inf", "3: [ycsb] clients: -inf is not a number from 0 to 16"),
    "beyond 64 bits": (f"{R}cpus = [9223372036854775808]", "2: [redis] cpus: 9223372036854775808 is not a number"),
    "layout of a number": (f"{R}[clusters]\nlayout = 2", f"3: [clusters] layout: 2 is not {LAYOUTS}"),
    "empty layout": (f"{R}[clusters]\nlayout = ''", f"3: [clusters] layout: '' is not {LAYOUTS}"),
    "size with spaces": (f"{R}[clusters]\nlayout = 'size = 2'", f"3: [clusters] layout: 'size = 2' is not {LAYOUTS}; did you mean 'size=2'?"),
    "endless path": (f"[clusters]\nlayout = '{'a' * 5000}.dts'", "2: [clusters] layout: 'aaaa"),
    "path with a 0": ('[clusters]\nlayout = "a\\u0000.dts"', "2: [clusters] layout: 'a\\x00.dts': is not a file's name"),
    "path through a file": ("[clusters]\nlayout = 'path through a file/x.dts'", "2: [clusters] layout: "),
    "empty topology": (f"{R}[machine]\ntopology = ''", "3: [machine] topology: '' is not a file of hwloc's"),
    **{
        f"topology by URI {number}": (
            f"{R}[machine]\ntopology = '{uri}'",
            f"3: [machine] topology: {uri}: a libvirt URI is taken from the command line only (--topology URI), not from a file",
        )
        for number, uri in enumerate((
            "qemu+ext:///system?command=/sbin/poweroff", "qemu+ssh://host/system?command=./x", "QEMU+ext:///", "qemu:///system",
            "test+tcp://host/default", "esx://host/?no_verify=1",
        ))
    },
    "long name": (f"name = '{'a' * 300}'\n{R}", "1: name: 'aaaa"),
    "long program": (f"{PROGRAM}name = '{'n' * 28}'", f"3: [[program]] name: '{'n' * 28}' is not made of letters, digits, '.', '_' and '-', 27 at most"),
    "port among arguments": (f"{R}args = ['--port', '7000']", "2: [redis] args: says '--port', which the key 'port' is for"),
    "many arguments": (f"{PROGRAM}args = [{','.join(['1'.join('``')] * 64)}]".replace("`", "'"), "3: [[program]] args: posixtest@2: 64 arguments are more than 63"),
    "long arguments": (f"{R}args = ['{'x' * 17000}']", "2: [redis] args: redis@2: its arguments and its environment take 17"),
    "switch as a program": ("[[program]]\nprogram = 'switch'", "2: [[program]] program: 'switch' is not one of"),
    "short for redis-server": ("[[program]]\nprogram = 'redis'", "2: [[program]] program: 'redis' is not one of redis-server, ycsb, posixtest, crash, hostile, sleep, touch, guard; did you mean 'redis-server'?"),
    # tables
    "wrong table": ("[reddis]\nport = 1", "1: the file: unknown table 'reddis'; did you mean [redis]?"),
    "wrong tables": ("[[programs]]\nprogram = 'posixtest'", "1: the file: unknown table 'programs'; did you mean [[program]]?"),
    "strange table": (f"[apps]\n{R}", "1: the file: unknown table 'apps'; there are [network], [machine], "),
    "programs by name": ("program = ['posixtest']", "1: [[program]]: 'posixtest' is no table; write [[program]] and its keys below"),
    "program by name": ("program = 'posixtest'", "1: program: 'posixtest' is no table; write [[program]] and its keys below"),
    "machines": (f"{R}[[machine]]\ncores = 1\n[[machine]]\ncores = 2", "2: [machine]: is a list of tables; write [machine]"),
    "table within": (f"{R}[redis.port.x]\ny = 1", "2: [redis] port: a table is not a number"),
    # what keys say together
    "no instance": (f"{R}instances = 0", " nothing runs"),
    "records beyond heap": (f"{R}heap = '64M'\n[ycsb]\nclients = 1\nrecords = 1000000", "5: [ycsb] records: 1000000 records of 1000 bytes do not fit into a heap of 64M"),
    "values beyond heap": (f"{R}[ycsb]\nclients = 1\nvalue-size = 10000000", "4: [ycsb] value-size: 10000 records of 10000000 bytes"),
    "layout that nobody named": (f"[machine]\ncores = 61\n{R}instances = 1", "1: [machine]: layout per-socket: a cluster would have 61 cpus and a kernel runs on 60"),
    "memory beyond reach": (f"{R}[machine]\nmemory = '20000G'", "3: [machine] memory: the machine has memory that ends at"),
    "heap of a program": (f"{PROGRAM}heap = '4G'", "3: [[program]] heap: cluster@0: heaps of 4100 MiB do not fit"),
    "programs without end": (PROGRAM * 520, "1: [[program]]: posixtest@200: more than 512 applications"),
    # bounds
    "key of many parts": ("a." * 1000 + "a = 1", "1: a key of more than 8 parts"),
    "key of 1 MiB": (f"{R}" + "a." * 500_000 + "a = 1", "2: a key of more than 8 parts"),
    "table of many parts": (f"{R}[{'.'.join('a' * 9)}]", "2: a key of more than 8 parts"),
    "nested lists": (f"{R}cpus = {'[' * 65}{']' * 65}", "2: is nested too deeply"),
    # text
    "no last quote": (f"name = 'x\n{R}", "1: not TOML: expected \"'\": \"name = 'x\""),
    "no last quotes": (f'name = """x\n{R}\n\nport = 1', "1: not TOML: unterminated string: "),
    "no last bracket": (f"{R}cpus = [1,\n2\n[clusters]\n", "not TOML: "),
    "byte of 0": ("[redis]\nport = 1\0\n", "2: is not text: it has a byte of 0"),
    "only a mark": ("\ufeff", " is empty; "),
    "two marks": (f"\ufeff\ufeff{R}", "1: not TOML: invalid statement"),
    "line ends of old": ("[redis]\rport = 1\r", "1: not TOML: "),
    "quotes of a word processor": (f"name = “x”\n{R}", "1: not TOML: invalid value"),
    "right to left": (f"name = '\u202eabc'\n{R}", "1: name: '\\u202eabc' is not made of letters"),
    "bell": (f"{R}port = 1 # \a", "2: not TOML: found invalid character '\\x07'"),
    "YAML": ("redis:\n  port: 6379\n", "1: not TOML: "),
    "JSON": ('{"redis": {}}', "1: not TOML: "),
    "many mistakes": ("[redis]\nport = 0\nheap = 'x'\n[machine]\ncores = 0", "2: [redis] port: 0 is not a number from 1 to 65535 (and 2 more)"),
}  # fmt: skip


@pytest.fixture
def no_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object) -> None:
        raise AssertionError("the file was accepted")

    monkeypatch.setattr(run, "ensure_built", build)


@pytest.mark.usefixtures("no_boot")
@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a hostile file gets one line with its name, and status 2"""
    text, expected = FILES[name]
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert main.main(["run", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and len(err) < 400 + len(str(path))
    assert err.startswith(f"skerry: {path}:") and expected in err.replace(f"{path}:", "").removeprefix("skerry: "), err


@pytest.mark.usefixtures("no_boot")
@pytest.mark.parametrize("name, said", [("loop", "too many levels"), ("dangling", "no such file"), ("x" * 300, "too long"), ("file/x", "not a directory")])
def test_paths(name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """what cannot be opened is said as the system says it"""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    assert main.main(["run", os.path.join(tmp_path, name)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def refuses(command: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(command) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"skerry: {said}") and err.count("\n") == 1, err


OPTIONS = {
    "--layout=": "--layout: '' is not one of per-socket",
    "--layout gone.dts": "--layout: gone.dts: no such file",
    "--lock foo": "--lock: 'foo' is not one of clh",
    "--lock none": "--lock: cluster@0: kernel \"none\" runs on one core only, not on 3",
    "--memory=": "--memory: '' is not a size",
    f"--memory {'9' * 5000}": "--memory: '999",
    "--memory 20000G": "--memory: the machine has memory that ends at",
    "--timeout nan": "Invalid value for '--timeout': nan is not a number of seconds",
    "--timeout inf": "Invalid value for '--timeout': inf is not a number of seconds",
    "--sockets 3 --smt off": "--smt: is for a machine whose cores have several threads",
    "--topology=": "--topology: names no machine",
    "--topology x.xml --cores 2": "--topology: says sockets and cores already",
}


@pytest.mark.usefixtures("no_boot")
@pytest.mark.parametrize("words", OPTIONS)
def test_options(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what the command line says is the command line's fault, and not the file's"""
    refuses(["run", str(ROOT / "deploy/deployments/uneven.toml"), *words.split()], OPTIONS[words], capsys)


A_MAP = ROOT / "tests/unit/topology/good.dts"
COMPARE = {
    "--layout=": "--layout: '' is not one of per-socket",
    "--lock foo": "--lock: 'foo' is not one of clh",
    "--lock none": "--lock none: per-socket: cluster@0: kernel \"none\" runs on one core only, not on 14",
    "--workload d": "--workload: 'd' is not one of a, b, c, f",
    "--layout per-socket,size=3": "--layout size=3: this machine's sockets",
    f"--layout {A_MAP},spanning": f"--layout: '{A_MAP}' is not one of per-socket, per-l3, per-numa, spanning, homed or size=N; a map",
    f"--layout spanning,{A_MAP}": f"--layout: '{A_MAP}' is not one of per-socket",
}


@pytest.mark.parametrize("words", COMPARE)
def test_options_of_compare(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what cannot be compared is refused before anything is built"""
    refuses(["compare", *words.split()], COMPARE[words], capsys)
