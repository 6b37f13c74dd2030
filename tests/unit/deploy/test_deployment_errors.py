# SPDX-License-Identifier: BSD-2-Clause
"""Deployment files that are wrong, and those that are hostile."""

import os
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.cli import main
from deploy.cli.commands.machine import run
from deploy.cli.options import MachineOptions, adapt
from deploy.deployment import parse, read
from deploy.deployment.planner import plan
from tests.unit.topology.machines import write
from topology.errors import InputError
from topology.maps.dts import write_dts

# ---- Files with mistakes: each is one line with the place, what was found, and what was expected or is near ----

# Each: what the file says, and what the line about it begins with and contains.
REFUSED = [
    ("redis = 3", "file:1: [redis]: 3 is not a table"),
    ("[redis]\nheep = '1G'", "file:2: [redis]: unknown key 'heep'; did you mean 'heap'?"),
    ("[redsi]", "file:1: the file: unknown table 'redsi'; did you mean [redis]?"),
    ("[redis]\n[ycsb]\nvalue_size = 1000", "file:3: [ycsb]: unknown key 'value_size'; did you mean 'value-size'?"),
    ("[clusters]\nheap = '1G'", "file:2: [clusters]: unknown key 'heap'; it belongs in [redis], [ycsb], [metrics] or "
     "[[program]]"),
    ("[redis]\nnetwork = true",
     "file:2: [redis]: unknown key 'network'; it belongs at the top of the file, before any table or in [[program]]"),
    ("[redis]\nshutdown = 'never'", "file:2: [redis]: unknown key 'shutdown'; it belongs at the top of the file"),
    ("layout = 'spanning'", "file:1: the file: unknown key 'layout'; it belongs in [clusters]"),
    ("colour = 'red'", "file:1: the file: unknown key 'colour'; there are name, shutdown, "),
    ("[redis]\n\n\nheap = '1M'", "file:4: [redis] heap: 1M is not a multiple of 2 MiB"),
    ("[redis]\nheap = 'lots'", "file:2: [redis] heap: 'lots' is not a size such as 512M or 2G"),
    ("[redis]\nheap = 1.5", "file:2: [redis] heap: 1.5 is not a size such as 512M or 2G"),
    ("[redis]\nheap = -2097152", "file:2: [redis] heap: -2097152 is not a size"),
    ("[machine]\nmemory = '1P'", "file:2: [machine] memory: '1P' is not a size"),
    ("[machine]\nmemory = 4611686018427387904", "file:2: [machine] memory: 4611686018427387904 is more than"),
    ("[redis]\ninstances = -1", "file:2: [redis] instances: -1 is not a number from 0 to 64 or 'every-core'"),
    ("[redis]\ninstances = 'everycore'", "file:2: [redis] instances: 'everycore' is not a number from 0 to 64 or "
     "'every-core'; did you mean 'every-core'?"),
    ("[redis]\nport = 70000", "file:2: [redis] port: 70000 is not a number from 1 to 65535"),
    ("[redis]\nport = '6379'", "file:2: [redis] port: '6379' is not a number from 1 to 65535"),
    ("[redis]\nargs = 'x'", "file:2: [redis] args: 'x' is not a list of strings"),
    ("[redis]\nargs = ['--save',\n'',\n3]", "file:4: [redis] args: 3 is not a string"),
    ('[redis]\nargs = ["a\\u0000b"]', "file:2: [redis] args: an argument cannot hold a character of 0"),
    ("[redis]\nstack = 'in-process'",
     "file:2: [redis] stack: 'in-process' is not one of inproc, process; did you mean"),
    ("[redis]\ncpus = [1]\ninstances = 2", "file:3: [redis] instances: contradicts 'cpus'"),
    ("[redis]\ncpus = []", "file:2: [redis] cpus: an empty list is not a list of numbers from 0 to 1023"),
    ("[ycsb]\nclients = 2", "file:2: [ycsb] clients: has clients, but there is no [redis] for them"),
    ("[redis]\n[ycsb]\nrecords = 100",
     "file:2: [ycsb]: lacks 'clients', how many beside each Redis: there would be no load"),
    ("[redis]\n[ycsb]\nworkload = 'z'", "file:3: [ycsb] workload: 'z' is not one of a, b, c, d, e, f"),
    ("[redis]\n[ycsb]\nworkload = 'C'",
     "file:3: [ycsb] workload: 'C' is not one of a, b, c, d, e, f; did you mean 'c'?"),
    ("[redis]\n[ycsb]\nvalue-size = 1001", "file:3: [ycsb] value-size: 1001 is not a number from 240 to 67108864"),
    ("[machine]\nsockets = 0", "file:2: [machine] sockets: 0 is not a number from 1 to 16"),
    ("[machine]\nsockets = true", "file:2: [machine] sockets: true is not a number from 1 to 16"),
    ("[machine]\nsockets = 2.0", "file:2: [machine] sockets: 2.0 is not a number from 1 to 16"),
    ("[machine]\ncores = 6\nl3-caches = 4", "file:3: [machine] l3-caches: 6 cores of a socket do not divide into 4"),
    ("[machine]\ntopology = 'x.xml'\ncores = 4", "file:3: [machine] cores: contradicts 'topology'"),
    ("[machine]\nsmt = false", "file:2: [machine] smt: is about the machine of 'topology', and there is none"),
    ("[redis]\n[machine]\ntopology = 'x.xml'", "file:3: [machine] topology: x.xml: no such file"),
    ("[clusters]\nlock = 3", "file:2: [clusters] lock: 3 is not one of clh, "),
    ("[clusters]\nlock = 'msc'", "; did you mean 'mcs'?"),
    ("[clusters]\nlock = ['clh', 'msc']", "file:2: [clusters] lock: 'msc' is not one of clh, "),
    ("[clusters]\nlock = []", "file:2: [clusters] lock: an empty list is not one of clh, "),
    ("[redis]\n[clusters]\nlayout = 'persocket'", "file:3: [clusters] layout: 'persocket' is not one of per-socket, "
     "per-l3, per-numa, spanning, homed, size=N or a map file; did you mean 'per-socket'?"),
    ("[redis]\n[clusters]\nlayout = 'mine.dts'", "file:3: [clusters] layout: mine.dts: no such file"),
    ("shutdown = 'soon'", "file:1: shutdown: 'soon' is not one of when-done, never"),
    ("name = '../up'", "file:1: name: '../up' is not made of letters, digits, '.', '_' and '-'"),
    ("[[program]]\ncpu = 1", "file:1: [[program]]: has neither 'program' nor 'elf'"),
    ("[[program]]\nprogram = 'crash'\nelf = 'a'",
     "file:3: [[program]] elf: contradicts 'program': one of them says what runs"),
    ("[[program]]\nelf = 'nowhere.elf'", "file:2: [[program]] elf: nowhere.elf: no such file"),
    ("[[program]]\nelf = '.'", "file:2: [[program]] elf: .: is not a file"),
    ("[[program]]\nelf = '/bin/sh'", "file:2: [[program]] elf: /usr/bin/dash is "),
    ("[[program]]\nelf = '/etc/passwd'", "file:2: [[program]] elf: /etc/passwd is not an ELF64 file for x86-64"),
    ("[[program]]\nelf = '/etc/passwd'\nname = 'ycsb'",
     "file:2: [[program]] elf: 'ycsb' is the name of a program that the build makes"),
    ("[[program]]\nports = [80]\nelf = 'a.elf'", "file:2: [[program]] ports: 'a.elf' forwards ports, but has"),
    ("network = false\n[[program]]\nelf = 'a.elf'\nnetwork = true",
     "file:1: network: contradicts 'a.elf', which needs the network"),
    ("[[program]]\nprogram = 'crash'\n[[program]]\nprogram = 'posixtset'", "file:4: [[program]] program: 'posixtset' "
     "is not one of "),
    ("[program]\nprogram = 'x'", "file:1: program: is a table; write [[program]]"),
    ("[[program]]\nprogram = 'crash'\nports = [80]", "file:3: [[program]] ports: 'crash' forwards ports, but has"),
    ("network = false\n[redis]", "file:1: network: contradicts [redis], which needs the network"),
    ("network = false\n[metrics]", "file:1: network: contradicts [metrics], which needs the network"),
    ("[[program]]\nprogram = 'metrics'", "file:2: [[program]] program: 'metrics' is not one of "),
    ("[machine]", "file: nothing runs: there is neither [redis] nor [[program]]"),
    ("", "file: is empty"),
    ("# nothing\n", "file: is empty"),
    ("[machine", "file:1: not TOML: expected ']'"),
    ("[redis]\nport = 1\nport = 2", "file:3: not TOML: this has a value already"),
    ("[redis]\n[machine]\n[redis]", "file:3: not TOML: cannot declare [redis] twice"),
    ("[redis]\nheap = 256M", "file:2: not TOML: "),
    ("[redis]\nheap = '256M", "file:2: not TOML: "),
    ("[redis]\nport: 3", "file:2: not TOML: "),
    ("[redis]\nargs = [1,\n2", "file:2: not TOML: unclosed array"),
    (f"[redis]\nport = {'9' * 5000}", "file: has a number with too many digits"),
    (f"[redis]\nport = {'9' * 400}", "file:2: [redis] port: a number of more digits"),
    (f"a = {'[' * 5000}", "file:1: is nested too deeply"),
    ("'\\e[31m' = 1\n\"a\\nb\" = 2".replace("\\e", "\x1b"), "file:1: not TOML: "),
    ('"a\\nb\\u001b" = 2', "file:1: the file: unknown key 'a\\nb\\x1b'"),
    (f"{'k' * 500} = 1", "file:1: the file: unknown key 'kkk"),
    ("[machine]\nsockets = 0\ncores = 0\nmemory = 'x'", "is not a number from 1 to 16 (and 2 more)"),
]


@pytest.mark.parametrize("text, expected", REFUSED, ids=range(len(REFUSED)))
def test_mistakes(text: str, expected: str) -> None:
    """a mistake in a deployment file is one line that says where and what"""
    with pytest.raises(InputError) as caught:
        parse(text, "file")
    line = str(caught.value)
    assert line.startswith(expected) if expected.startswith("file") else expected in line, line
    assert "\n" not in line and len(line) < 300


# Errors that only show when programs meet the machine.
UNFIT = [
    ("[redis]\n[machine]\nsockets = 16\ncores = 64",
     "file:1: [redis]: 10.0.2.0/24 has addresses for 154 instances at most"),
    ("[redis]\ninstances = 4", "file:2: [redis] instances: 4 are too many for a machine of 4 cores"),
    ("[redis]\n\ncpus = [1, 4]", "file:3: [redis] cpus: cpu 4 is not on a machine of 4 cores"),
    ("[redis]\nheap = '2G'", "file:2: [redis] heap: "),
    ("[[program]]\nprogram = 'posixtest'\ncpu = 9", "file:3: [[program]] cpu: cpu 9 is not on a machine of 4 cores"),
    ("[redis]\n[metrics]\ncpu = 4", "file:3: [metrics] cpu: cpu 4 is not on a machine of 4 cores"),
    ("[redis]\n[metrics]\ncpu = 2",
     "file:3: [metrics] cpu: 2 is not of cluster@0, which collects the statistics of all (cpu 0, 1)"),
    ("[redis]\n[clusters]\nlayout = 'size=3'", "file:3: [clusters] layout: this machine's sockets"),
    ("[redis]\n[clusters]\nlayout = 'size=x'", "file:3: [clusters] layout: 'size=x': the size is not"),
    ("[redis]\n[clusters]\nlock = 'none'", "file:3: [clusters] lock: cluster@0: "),
    ("[redis]\n[clusters]\nlock = ['clh']", "file:3: [clusters] lock: the list has 1, and layout per-socket makes 2"),
    ("[redis]\n[clusters]\ngranularity = 'fine'",
     "file:3: [clusters] granularity: 'fine' is for lock dynamic, and the lock is clh"),
    ("[redis]\n[clusters]\nlock = ['fine', 'clh']\ngranularity = 'coarse'",
     "file:4: [clusters] granularity: 'coarse' is for lock dynamic, and the lock is fine and clh"),
    ("[redis]\n[machine]\nl3-caches = 0\n[clusters]\nlayout = 'per-l3'",
     "file:5: [clusters] layout: this machine has no L3"),
    ("[redis]\n[machine]\nmemory = '20480G'",
     "file:3: [machine] memory: the machine has memory that ends at 40962 GiB"),
    ("[redis]\n[machine]\nmemory = '2M'", "file:3: [machine] memory: 2 MiB is not a multiple of 2 MiB from 256 MiB"),
]


@pytest.mark.parametrize("text, expected", UNFIT, ids=range(len(UNFIT)))
def test_what_does_not_fit(text: str, expected: str) -> None:
    """what does not fit the machine is refused with its line"""
    with pytest.raises(InputError) as caught:
        plan(parse(text, "file"))
    assert str(caught.value).startswith(expected), caught.value


@pytest.mark.parametrize("smt, cores", [("", 96), ("smt = false", 48)], ids=["all threads", "one of each core"])
def test_a_machine_from_xml(smt: str, cores: int, tmp_path: Path) -> None:
    """a file of hwloc's beside the deployment is its machine"""
    write("EPYC 7451", tmp_path)
    (tmp_path / "a.toml").write_text(f"[redis]\ncpus = [1]\n[machine]\ntopology = 'machine.xml'\nmemory = "
                                     f"'2G'\n{smt}\n[clusters]\nlayout = 'per-l3'")
    made = plan(read(tmp_path / "a.toml"))
    assert len(made.machine.cores) == cores and len(made.cluster_map.clusters) == 16
    assert all(r.size == 2 << 30 for r in made.machine.memory)


@pytest.mark.parametrize("content, expected", [
                             ("<domain/>", "is neither hwloc's XML nor a libvirt host's capabilities"),
                             ("not XML", "machine.xml"),
                         ])
def test_a_machine_that_cannot_be(content: str, expected: str, tmp_path: Path) -> None:
    """what is no machine is refused with the line that names it"""
    (tmp_path / "machine.xml").write_text(content)
    (tmp_path / "a.toml").write_text("[redis]\n\n[machine]\ntopology = 'machine.xml'\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a.toml")
    assert "a.toml:4: [machine] topology: " in str(caught.value) and expected in str(caught.value)


def test_a_map_as_layout(tmp_path: Path) -> None:
    """a map beside the deployment says all that runs, and the machine; what contradicts it is refused"""
    target = plan(parse("[redis]\nheap = '64M'\n[machine]\ncores = 3", "file"))
    (tmp_path / "mine.dts").write_text(write_dts(target.cluster_map))
    (tmp_path / "a.toml").write_text("[clusters]\nlayout = 'mine.dts'\n")
    assert plan(read(tmp_path / "a.toml")).cluster_map == target.cluster_map
    for more, expected in [("[redis]", "a.toml:3: 'redis' contradicts"),
                           ("lock = 'mcs'", "a.toml:3: [clusters] lock: contra")]:
        (tmp_path / "a.toml").write_text(f"[clusters]\nlayout = 'mine.dts'\n{more}\n")
        with pytest.raises(InputError) as caught:
            read(tmp_path / "a.toml")
        assert expected in str(caught.value)


def test_the_command_line_is_to_blame_for_what_it_says() -> None:
    deployment = parse("[redis]\n[clusters]\nlayout = 'spanning'\nlock = ['clh', 'clh']", "file")
    with pytest.raises(InputError, match="^--layout size=3: "):
        plan(adapt(deployment, MachineOptions(), "size=3"))
    assert plan(adapt(deployment, MachineOptions(), lock="mcs")).lock == "mcs"


def bad_files(folder: Path) -> dict[str, Path]:
    contents = {
        "latin": "# caf\xe9\n[redis]".encode("latin-1"),
        "utf-16": "[redis]".encode("utf-16"),
        "binary": b"\x7fELF\0\0",
        "large": b"# much\n" * 200_000,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "directory").mkdir()
    return {name: folder / name for name in (*contents, "directory", "absent")} | {"endless": Path("/dev/zero")}


SAID = {
    "latin": "latin:1: byte 0xe9 is not UTF-8",
    "utf-16": "utf-16:1: is UTF-16; TOML files are UTF-8",
    "binary": "binary:1: is not text",
    "large": "large: has more than 1 MiB",
    "directory": "directory: is a directory",
    "absent": "absent: no such file or directory",
    "endless": "/dev/zero: has more than 1 MiB",
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_no_text(name: str, tmp_path: Path) -> None:
    """what is no text file is refused as what it is"""
    with pytest.raises(InputError) as caught:
        read(bad_files(tmp_path)[name])
    assert SAID[name] in str(caught.value)


def test_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """the name of an example, which is not here: where the example is, as can be typed"""
    monkeypatch.chdir(tmp_path)
    for name in ("redis", "redis.toml"):
        with pytest.raises(InputError, match=f"^{name}: no such file or directory; there is "
                           f".*deploy/deployments/redis.toml$") as caught:
            read(Path(name))
        assert read(Path(str(caught.value).rpartition(" ")[2])).redis
    for other in ("rediss", "x/redis"):
        with pytest.raises(InputError, match=r"directory$"):
            read(Path(other))


def test_a_byte_order_mark_and_line_ends_of_windows_are_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf[redis]\r\nport = 7000\r\n")
    made = read(path)
    assert made.redis and made.redis.port == 7000 and made.name == "windows"


# ---- Files that somebody wrote to see them fail: through the command line, which says one line and ends with 2 ----

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
    "size with spaces": (f"{R}[clusters]\nlayout = 'size = 2'",
                         f"3: [clusters] layout: 'size = 2' is not {LAYOUTS}; did you mean 'size=2'?"),
    "endless path": (f"[clusters]\nlayout = '{'a' * 5000}.dts'", "2: [clusters] layout: 'aaaa"),
    "path with a 0": ('[clusters]\nlayout = "a\\u0000.dts"',
                      "2: [clusters] layout: 'a\\x00.dts': is not a file's name"),
    "path through a file": ("[clusters]\nlayout = 'path through a file/x.dts'", "2: [clusters] layout: "),
    "empty topology": (f"{R}[machine]\ntopology = ''", "3: [machine] topology: '' is not a file of hwloc's"),
    **{
        f"topology by URI {number}": (
            f"{R}[machine]\ntopology = '{uri}'",
            f"3: [machine] topology: {uri}: a libvirt URI is taken from the command line only (--topology URI), not "
            f"from a file",
        )
        for number, uri in enumerate((
            "qemu+ext:///system?command=/sbin/poweroff", "qemu+ssh://host/system?command=./x", "QEMU+ext:///",
            "qemu:///system",
            "test+tcp://host/default", "esx://host/?no_verify=1",
        ))
    },
    "long name": (f"name = '{'a' * 300}'\n{R}", "1: name: 'aaaa"),
    "long program": (f"{PROGRAM}name = '{'n' * 28}'",
                     f"3: [[program]] name: '{'n' * 28}' is not made of letters, digits, '.', '_' and '-', 27 at most"),
    "strange server": (f"{R}server = 'foo'", "2: [redis] server: 'foo' is not one of redis, valkey"),
    "server nearly": (f"{R}server = 'valky'", "2: [redis] server: 'valky' is not one of redis, valkey; did you mean "
                                              "'valkey'?"),
    "port among arguments": (f"{R}args = ['--port', '7000']",
                             "2: [redis] args: says '--port', which the key 'port' is for"),
    "many arguments": (f"{PROGRAM}args = [{','.join(['1'.join('``')] * 64)}]".replace("`", "'"),
                       "3: [[program]] args: posixtest@2: 64 arguments are more than 63"),
    "long arguments": (f"{R}args = ['{'x' * 17000}']",
                       "2: [redis] args: redis@2: its arguments and its environment take 17"),
    "switch as a program": ("[[program]]\nprogram = 'switch'", "2: [[program]] program: 'switch' is not one of"),
    "short for redis-server": ("[[program]]\nprogram = 'redis'",
                               "2: [[program]] program: 'redis' is not one of redis-server, valkey-server, ycsb, "
                               "posixtest, wakeups, entries, shards, crash, hostile, sleep, touch, guard; "
                               "did you mean 'redis-server'?"),
    # tables
    "wrong table": ("[reddis]\nport = 1", "1: the file: unknown table 'reddis'; did you mean [redis]?"),
    "wrong tables": ("[[programs]]\nprogram = 'posixtest'",
                     "1: the file: unknown table 'programs'; did you mean [[program]]?"),
    "strange table": (f"[apps]\n{R}", "1: the file: unknown table 'apps'; there are [network], [machine], "),
    "programs by name": ("program = ['posixtest']",
                         "1: [[program]]: 'posixtest' is no table; write [[program]] and its keys below"),
    "program by name": ("program = 'posixtest'",
                        "1: program: 'posixtest' is no table; write [[program]] and its keys below"),
    "machines": (f"{R}[[machine]]\ncores = 1\n[[machine]]\ncores = 2",
                 "2: [machine]: is a list of tables; write [machine]"),
    "table within": (f"{R}[redis.port.x]\ny = 1", "2: [redis] port: a table is not a number"),
    # what keys say together
    "no instance": (f"{R}instances = 0", " nothing runs"),
    "records beyond heap": (f"{R}heap = '64M'\n[ycsb]\nclients = 1\nrecords = 1000000",
                            "5: [ycsb] records: 1000000 records of 1000 bytes do not fit into a heap of 64M"),
    "values beyond heap": (f"{R}[ycsb]\nclients = 1\nvalue-size = 10000000",
                           "4: [ycsb] value-size: 10000 records of 10000000 bytes"),
    "memory beyond reach": (f"{R}[machine]\nmemory = '20000G'",
                            "3: [machine] memory: the machine has memory that ends at"),
    "heap of a program": (f"{PROGRAM}heap = '4G'", "3: [[program]] heap: cluster@0: heaps of 4100 MiB do not fit"),
    "programs without end": (PROGRAM * 2056, "3: [[program]]: posixtest@800: more than 2048 applications"),
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
    "many mistakes": ("[redis]\nport = 0\nheap = 'x'\n[machine]\ncores = 0",
                      "2: [redis] port: 0 is not a number from 1 to 65535 (and 2 more)"),
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
@pytest.mark.parametrize("name, reason", [("loop", "too many levels"), ("dangling", "no such file"),
                                        ("x" * 300, "too long"), ("file/x", "not a directory")])
def test_paths(name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """what cannot be opened is said as the system says it"""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    assert main.main(["run", os.path.join(tmp_path, name)]) == 2
    err = capsys.readouterr().err
    assert reason in err and err.count("\n") == 1


def refuses(command: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(command) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"skerry: {expected}") and err.count("\n") == 1, err


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
    "--workload z": "--workload: 'z' is not one of a, b, c, d, e, f",
    "--layout per-socket,size=3": "--layout size=3: this machine's sockets",
    f"--layout {A_MAP},spanning": f"--layout: '{A_MAP}' is not one of per-socket, per-l3, per-numa, spanning, homed or "
    f"size=N; a map",
    f"--layout spanning,{A_MAP}": f"--layout: '{A_MAP}' is not one of per-socket",
}


@pytest.mark.parametrize("words", COMPARE, ids=lambda words: words.replace(f"{ROOT}/", ""))
def test_options_of_compare(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what cannot be compared is refused before anything is built"""
    refuses(["compare", *words.split()], COMPARE[words], capsys)
