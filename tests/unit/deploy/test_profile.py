# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of a deployment and of a Linux guest."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.deployment import Deployment, Load, Redis
from deploy.deployment.modules import module_path
from deploy.deployment.planner import expand
from deploy.load.linux_guest.guest import on_host
from deploy.load.linux_guest.plan import guest_plan
from deploy.machine.cpio import Archive
from deploy.machine.events import Event
from deploy.profile.components import GROUPS, component, group
from deploy.profile.linux import Kernel, Mapped, base, executable, kernel, mapped, reported
from deploy.profile.outside import METRIC, Requests
from deploy.profile.present import SPEED, boxes, compared, svg
from deploy.profile.programs import UNKNOWN, Block, Function, Program, read_blocks
from deploy.profile.tally import OTHER, Line, Profile, tally
from deploy.report.load import Entry
from deploy.results.result import nested
from deploy.setup.needs import CHECKER
from topology.machines.machine import Shape

# ---- Profiles: what the plugin wrote, whose code it is, and how it is shown ----

def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_blocks(tmp_path: Path) -> None:
    """a block has its address, its executions, and the place of each of its instructions"""
    (block,) = read_blocks(written(tmp_path / "blocks", "ffffffff80001000 7 125 9090904155418b00", "end"))
    assert block == Block(0xFFFFFFFF80001000, 7, (1, 2, 5), bytes.fromhex("9090904155418b00"))
    assert list(block.places()) == [0xFFFFFFFF80001000, 0xFFFFFFFF80001001, 0xFFFFFFFF80001003]
    assert block.instructions == 21


def test_repeated() -> None:
    """steps of a string instruction are blocks that begin with one; those of another prefix, or of none, are not"""
    for code in ("f3aa", "f348a5", "66f3a5", "f34da4", "f26e"):
        content = bytes.fromhex(code)
        assert Block(0x1000, 7, (len(content), 1), content + b"\xc3").repeated == 7, code
    # stos, movs, pause, endbr64, ret, half of one, popcnt
    for code in ("aa", "48a5", "f390", "f30f1efa", "c3", "f3", "f3480fb8c0"):
        content = bytes.fromhex(code)
        assert Block(0x1000, 7, (len(content),), content).repeated == 0, code
    assert Block(0x1000, 7, (1, 2), b"\x90\xf3\xaa").repeated == 0 == Block(0x1000, 7, (), b"").repeated


BROKEN = {
    "nothing": ([], "has not ended"),
    "no end": (["1000 1 1 90"], "has not ended"),
    "a word too few": (["1000 1 1", "end"], "no profile"),
    "no number": (["xyz 1 1 90", "end"], "no profile"),
    "fewer bytes than instructions have": (["1000 1 12 90", "end"], "a block at 1000 with 1 bytes"),
}


@pytest.mark.parametrize("lines, why", BROKEN.values(), ids=BROKEN.keys())
def test_broken_blocks(tmp_path: Path, lines: list[str], why: str) -> None:
    """what the plugin cannot have written is refused"""
    with pytest.raises(Failure, match=why):
        read_blocks(written(tmp_path / "blocks", *lines))


def test_no_blocks(tmp_path: Path) -> None:
    """a file that is not there is refused"""
    with pytest.raises(Failure, match="no profile"):
        read_blocks(tmp_path / "blocks")


def code_at(program: Program, name: str, size: int = 16) -> tuple[int, bytes]:
    """The address of a function, and its first bytes as objdump reads them."""
    listed = subprocess.run(["nm", program.image.path], capture_output=True, text=True, check=True).stdout
    (address,) = [int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(f" {name}")]
    shown = subprocess.run(["objdump", "-s", f"--start-address={address}", f"--stop-address={address + size}", "-j",
                            ".text", program.path],
                           capture_output=True, text=True, check=True).stdout
    words = [word for line in shown.splitlines() if line.startswith(" ")
             for word in line[1:].split("  ")[0].split()[1:]]
    return address, bytes.fromhex("".join(words))[:size]


@pytest.fixture(scope="module")
def images() -> dict[str, Program]:
    return {name: Program(name, module_path(name)) for name in ("kernel-clh", "redis-server", "ycsb", "switch")}


def test_functions(images: dict[str, Program]) -> None:
    """code is found by its address and its bytes, and counted for its function, program and component"""
    wanted = [("kernel-clh", "schedule", "kernel"), ("redis-server", "tcp_input", "lwIP"),
              ("ycsb", "tcp_input", "lwIP"),
              ("redis-server", "addReply", "Redis"), ("ycsb", "redisBufferRead", "hiredis"),
              ("switch", "reset_answer", "switch"),
              ("redis-server", "malloc", "malloc"), ("redis-server", "strtod", "musl")]
    seen = []
    for number, (program, function, _) in enumerate(wanted, 1):
        address, code = code_at(images[program], function)
        seen.append(Block(address, number, (len(code) - 1, 1), code))
    found = tally(seen, list(images.values()), operations=1)
    counted = {(line.program, line.function): line for line in found.lines}
    for number, (program, function, part) in enumerate(wanted, 1):
        line = counted[program, function]
        assert (line.component, line.instructions) == (part, 2 * number)
    assert found.instructions == sum(block.instructions for block in seen)


def test_other_code(images: dict[str, Program]) -> None:
    """code that no image has at its address is nobody's, as are a program's bytes in the kernel's half"""
    address, code = code_at(images["switch"], "reset_answer")
    kernel_address, kernel_code = code_at(images["kernel-clh"], "schedule")
    strange = [Block(address + 1, 1, (len(code),), code), Block(address, 10, (len(code),), bytes(len(code))),
               Block(kernel_address, 100, (len(kernel_code),), code)]
    assert tally(strange, list(images.values()), 1).lines == [Line(OTHER, OTHER, OTHER, 111)]


def test_block_over_two_functions(images: dict[str, Program]) -> None:
    """instructions of a block count for the function that each stands in"""
    program = images["switch"]
    address, code = code_at(program, "reset_answer")
    before = program.function(address - 1).name
    start = address - 4
    (content,) = [c[start - a:start - a + 12] for a, c in program.code if a <= start < a + len(c)]
    found = tally([Block(start, 3, (4, 8), content)], [program], 1)
    assert {line.function: line.instructions for line in found.lines} == {before: 3, "reset_answer": 3}


def test_components() -> None:
    """an unknown source belongs to its program; every component is of a group"""
    assert component("redis-server", Function("lua_next", UNKNOWN)) == "Redis"
    assert component("kernel-fine", Function("x", UNKNOWN)) == "kernel"
    assert component("sleep", Function("main", "/x/tests/programs/sleep.c")) == "sleep"
    assert {group(name) for name in ("Redis", "musl", "lwIP", "kernel")} == set(GROUPS)


PROFILE = Profile([Line("redis-server", "Redis", "call", 600), Line("kernel-clh", "kernel", "schedule<&>", 300),
                   Line("redis-server", "lwIP", "tcp_write", 100)], operations=10)  # fmt: skip


def test_sums() -> None:
    """sums by group are for each operation"""
    assert PROFILE.by_group() == {"application": 60.0, "libc": 0.0, "network": 10.0, "kernel": 30.0}
    assert PROFILE.by("program").most_common(1) == [(("redis-server",), 700)]


def test_flame() -> None:
    """each box stands upon the one that it belongs to, and all have their names"""
    found = {(box.level, box.name): box for box in boxes(PROFILE.lines)}
    assert (found[0, "all"].start, found[0, "all"].size) == (0, 1000)
    assert (found[1, "redis-server"].start, found[1, "redis-server"].size) == (0, 700)
    assert (found[2, "lwIP"].start, found[3, "tcp_write"].start) == (600, 600)
    assert found[3, "schedule<&>"].start == 700
    picture = ElementTree.fromstring(svg(PROFILE, "a & b"))
    titles = [title.text or "" for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "a & b" and "schedule<&>: 30.0 instructions/operation, 30.0%" in titles


def test_metrics_in_files() -> None:
    """a metric in parts is nested in a file, and flat where it is read"""
    metrics = {"ops_per_s": 5.0} | PROFILE.metrics()
    file = json.loads(json.dumps({"metrics": nested(metrics)}))
    assert file["metrics"]["instructions_per_op_by"] == PROFILE.by_group()
    assert Entry.model_validate(file).metrics == metrics


# ---- Whose code a Linux guest executed: from symbols and maps, also from broken ones ----

LIBRARY = BUILD / CHECKER  # position-independent, and not stripped
TEXT = 0xFFFFFFFF81000000
KALLSYMS = [
    f"{TEXT:x} T _stext", f"{TEXT + 0x100:x} T do_something", f"{TEXT + 0x1000:x} T devm_register_netdev",
    f"{TEXT + 0x1100:x} T tcp_sendmsg",
    f"{TEXT + 0x2000:x} t pcibios_align_resource", f"{TEXT + 0x3000:x} t do_idle",
    f"{TEXT + 0x3100:x} T __entry_text_start",
    f"{TEXT + 0x3100:x} T entry_SYSCALL_64", "ffffffffc0000000 t virtnet_poll\t[virtio_net]",
]  # fmt: skip


def executed(address: int, code: bytes = b"\x90", times: int = 1) -> Block:
    return Block(address, times, (len(code),), code)


def owned(owner: Kernel | Mapped, address: int) -> tuple[str, str]:
    function = owner.function(address)
    return function.name, group(component(owner.name, function))


def test_kernel() -> None:
    """an address is the function's before it, which is of its folder's group"""
    found = kernel(KALLSYMS)
    assert owned(found, TEXT + 0x1FF) == ("do_something", "kernel")
    assert owned(found, TEXT + 0x1100) == ("tcp_sendmsg", "network") == owned(found, TEXT + 0x1FFF)
    assert owned(found, TEXT + 0x2000) == ("pcibios_align_resource", "kernel")
    assert owned(found, TEXT + 0x3010) == ("do_idle", "idle")
    assert owned(found, TEXT + 0x3100) == ("entry_SYSCALL_64", "kernel")  # not the section that begins there
    assert owned(found, 0xFFFFFFFFC0000010) == ("virtnet_poll", "network")


def test_nobodys() -> None:
    """what is before, or far behind, all functions, and what a program has, is not the kernel's"""
    found = kernel(KALLSYMS)
    assert found.owns(executed(TEXT)) and found.owns(executed(TEXT + 0x3FFF))
    for address in (0x400000, TEXT - 1, TEXT + 0x3100 + (1 << 16), 0xFFFFFFFFC0000000 + (1 << 16), (1 << 64) - 1):
        assert not found.owns(executed(address))
    profile = tally([executed(0x400000, times=3), executed(TEXT + 0x1100)], [found], 1)
    assert profile.lines == [Line(OTHER, OTHER, OTHER, 3), Line("linux", "Linux network", "tcp_sendmsg", 1)]


BROKEN_PROFILE_LINUX = {
    "nothing": ([], "no function of the kernel has an address"),
    "hidden addresses": (["0000000000000000 T _stext", "0000000000000000 T tcp_sendmsg"],
                         "no function of the kernel has an address"),
    "data": ([*KALLSYMS, f"{TEXT:x} D jiffies"], "is no line of /proc/kallsyms"),
    "half a line": ([*KALLSYMS, f"{TEXT:x} T"], "is no line of /proc/kallsyms"),
    "no number": (["ffffxfff81000000 T _stext"], "is no line of /proc/kallsyms"),
    "longer than an address": (["1ffffffff81000000 T _stext"], "is no line of /proc/kallsyms"),
    "a line without end": ([f"{TEXT:x} T " + "x" * 9 + " [m] more"], "is no line of /proc/kallsyms"),
    "no network": ([line for line in KALLSYMS if "netdev" not in line], "no devm_register_netdev"),
    "no end of the network": ([line for line in KALLSYMS if "pcibios" not in line], "no pcibios_align_resource"),
    "another order": ([line.replace(f"{TEXT + 0x1000:x}", f"{TEXT + 0x2800:x}") for line in KALLSYMS],
                      "linked in another order"),
}


@pytest.mark.parametrize("lines, why", BROKEN_PROFILE_LINUX.values(), ids=BROKEN_PROFILE_LINUX.keys())
def test_broken_symbols(lines: Sequence[str], why: str) -> None:
    """what is no kernel's, or cannot be told apart, is refused"""
    with pytest.raises(Failure, match=why):
        kernel(lines)


CUT = {
    "nothing": b"", "no end": b"ffffffff81000000 T _stext\nvdso 00\n", "no vdso": b"ffffffff81000000 T _stext\nend\n",
    "half a byte": b"vdso 0\nend\n", "no digits": b"vdso xy\nend\n", "not text": b"\xff\xfe\nvdso 00\nend\n",
}  # fmt: skip


@pytest.mark.parametrize("content", CUT.values(), ids=CUT.keys())
def test_broken_console(tmp_path: Path, content: bytes) -> None:
    """a debug console that was cut off, or is garbage, is refused"""
    (tmp_path / "symbols").write_bytes(content)
    with pytest.raises(Failure, match="the Linux guest's symbols"):
        reported(tmp_path / "symbols")


def test_console(tmp_path: Path) -> None:
    """functions first, then the vDSO; a file that is not there is a failure"""
    (tmp_path / "symbols").write_text("\n".join([*KALLSYMS, "vdso 7f454c46", "end", ""]))
    found, vdso = reported(tmp_path / "symbols")
    assert vdso == b"\x7fELF" and found.function(TEXT + 0x1100).name == "tcp_sendmsg"
    with pytest.raises(Failure, match="the Linux guest's symbols"):
        reported(tmp_path / "none")


def executable_map(path: str, app: str, at: int = 0x7FFFF7000000) -> Event:
    (segment, _), *_ = executable(LIBRARY)
    offset = segment.offset - segment.offset % 4096
    return Event("map", {"event": "map", "app": app, "start": at + offset, "end": at + offset + 4096, "offset": offset,
                         "path": path})


def test_mapped(tmp_path: Path) -> None:
    """an image is found where it is mapped, once for all that map it there; code elsewhere, and other code, is not
    its"""
    at = 0x7FFFF7000000
    events = [executable_map("/lib/a.so.1", app, at) for app in ("redis@1", "redis@2")]
    events += [executable_map("[vsyscall]", "redis@1"), executable_map("[heap]", "redis@1")]
    (found,) = mapped(events, tmp_path / "vdso", lambda path: LIBRARY)
    symbol = found.image.symbol("check_form")
    code = found.bytes_at(symbol.address, 16)
    assert len(code) == 16 and found.name == "a.so.1"
    assert found.owns(executed(at + symbol.address, code)) and found.function(at + symbol.address
                                                                              + 3).name == "check_form"
    assert not found.owns(executed(symbol.address, code)) and not found.owns(executed(at + symbol.address, bytes(16)))
    assert not found.owns(executed(at + symbol.address + (1 << 63), code))
    assert component(found.name, Function("x", UNKNOWN)) == "glibc"


def test_broken_maps(tmp_path: Path) -> None:
    """maps of what cannot be read, is no program, or has no code there, are refused, with the culprit"""
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n" * 20)
    headers = tmp_path / "headers"
    headers.write_bytes(LIBRARY.read_bytes()[:64])
    good = executable_map("/x", "redis@1")
    for image, why in ((tmp_path / "none", "none"), (text, "text is not an ELF64"),
                       (headers, "headers are not in the file"), (tmp_path, "directory")):
        with pytest.raises(Failure, match=why):
            mapped([good], tmp_path / "vdso", lambda path, image=image: image)
    with pytest.raises(Failure, match="no executable segment at 0x123000"):
        base(LIBRARY, 0x7FFFF7000000, 0x123000)
    for broken, why in (({"start": "0x7f"}, "'start' of .* is no number"),
                        ({"offset": None}, "'offset' of .* is no number")):
        with pytest.raises(Failure, match=why):
            mapped([Event("map", good.data | broken)], tmp_path / "vdso", lambda path: LIBRARY)
    with pytest.raises(Failure, match="has no 'path'"):
        mapped([Event("map", {"start": 1, "offset": 0})], tmp_path / "vdso", lambda path: LIBRARY)


def test_static_libc() -> None:
    """a function that a static program has from its C library has the library's source; one that is in neither is
    glibc's"""
    library = Mapped("libc.so.6", LIBRARY)
    library.__dict__["sources"] = {"check_form": "./string/memcpy.c"}
    program = Mapped("ycsb", LIBRARY, 0x400000, library)
    known = program.image.symbol("check_form").address
    program.image.__dict__["files"] = {}
    assert component("ycsb", program.function(0x400000 + known)) == "strings"
    library.__dict__["sources"] = {}
    assert component("ycsb", program.function(0x400000 + known)) == "glibc"


def test_stripped(tmp_path: Path) -> None:
    """an image without symbols has what it exports; one whose .debug stands beside it has all"""
    stripped, debug = tmp_path / "a.so", tmp_path / "a.so.debug"
    subprocess.run(["strip", "-o", stripped, LIBRARY], check=True)
    exported = {symbol.name for symbol in Image(stripped).symbols}
    everything = {symbol.name for symbol in Image(LIBRARY).symbols}
    assert "check_form" in exported and exported < everything
    shutil.copyfile(LIBRARY, debug)
    assert {symbol.name for symbol in Image(stripped).symbols} == everything


def test_requests() -> None:
    """every connection is at work before requests are counted, and still is behind the last"""
    requests = Requests(connections=50, pipeline=16, count=1000)
    words = requests.words(("127.0.0.1", 1234))
    assert requests.before >= 2 * 50 * 16
    assert int(words[words.index("-n") + 1]) == requests.total >= requests.before + requests.count + 50 * 16
    assert requests.window(0x1234, bytes(range(20))) == {"skip": str(requests.before), "count": "1000",
                                                         "to": f"1234:{bytes(range(15)).hex()}"}


def test_beside() -> None:
    """a group that one of both has not is a dash, and no ratio"""
    ours, other = Profile([Line("a", "Redis", "f", 100)],
                          10), Profile([Line("linux", "idle", "g", 50), Line("b", "Redis", "f", 250)], 10)
    columns = [list(column.cells) for column in compared("ours", ours, "Linux", other,
                                                       metrics=({"memory_per_instance": 1 << 20}, {})).columns]
    rows = {row[0]: row[1:] for row in zip(*columns)}
    assert rows["application"] == ("10", "25", "2.50") and rows["idle"] == ("-", "5", "-")
    assert rows["all"] == ("10", "30", "3.00") and rows["resident memory of an instance, MiB"] == ("1.0", "-", "-")
    assert SPEED not in rows


def test_beside_timed() -> None:
    """what the host has measured stands below what was counted, and says that it is the host's"""
    same = Profile([Line("a", "Redis", "f", 100)], 10, "request")
    table = compared("ours", same, "Linux", same, ({METRIC: 40_000.0}, {METRIC: 10_000.0}))
    assert [list(column.cells)[-1] for column in table.columns] == [SPEED, "40,000", "10,000",
                                                                    "0.25"] and "on this host" in SPEED


# ---- The Linux guest: its archive, and that it runs what Skerry runs ----

def unpack(data: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content by name, up to the trailer."""
    found: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        start = (at + 110 + name_size + 3) & ~3
        if name == "TRAILER!!!":
            return found
        assert name not in found
        found[name] = mode, data[start : start + size]
        at = (start + size + 3) & ~3


def test_archive_holds_what_was_put_in() -> None:
    archive = Archive()
    contents = {f"a/b{i}/file{'x' * i}": bytes(range(i)) * i for i in range(9)}
    for name, content in contents.items():
        archive.file("/" + name, content, executable=content == b"")
    archive.device("/dev/console", 5, 1)
    data = archive.finish()
    found = unpack(data)
    assert len(data) % 512 == 0
    assert {name: found[name][1] for name in contents} == contents
    assert stat.S_ISCHR(found["dev/console"][0]) and stat.S_ISDIR(found["a/b3"][0])
    order = list(found)
    assert all(order.index(name.rpartition("/")[0]) < order.index(name) for name in contents)


def deployment(shape: Shape) -> Deployment:
    return Deployment(redis=Redis(), shape=shape, load=Load(clients=2, workload="a", records=101, operations=7))


def test_plan_is_skerrys_with_other_addresses() -> None:
    made = deployment(Shape(2, 2))
    apps = {app.name: app for app in expand(made, 4)}
    plan = guest_plan(made)
    lines = [line.split("\t") for line in plan.text.splitlines()]
    servers = [line for line in lines if line[0] == "serve"]
    clients = [line for line in lines if line[0] == "run"]
    assert [int(line[1]) for line in servers] == [1, 2, 3]
    assert [int(line[1]) for line in clients] == [1, 1, 2, 2, 3, 3]
    assert len({line[3] for line in servers}) == 3
    for line in servers:
        theirs, ours = apps[line[2]].args, line[5:]
        assert ours[ours.index("--port") + 1] == line[3]
        assert [w for w in ours if w != line[3]] == [w for w in theirs if w != "6379"]
        assert "" in ours  # --save ""
    for line in clients:
        theirs, ours = apps[line[2]].args, line[4:]
        for option in ("--workload", "--records", "--operations", "--value-size", "--load-first", "--load-count",
                       "--writer"):
            assert ours[ours.index(option) + 1] == theirs[theirs.index(option) + 1]
        server = next(s for s in servers if s[3] == ours[ours.index("--port") + 1])
        assert server[1] == line[1]
        assert "--await" not in ours and ours[ours.index("--parties") + 1] == "6"
    assert sum(plan.shares.values()) == 3 * 101


def test_guest_runs_the_deployments_server() -> None:
    what = Deployment(redis=Redis(server="valkey"), shape=Shape(1, 2))
    (line,) = [line.split("\t") for line in guest_plan(what).text.splitlines()]
    assert line[4] == "/bin/valkey-server" and on_host(line[4]).name == "valkey-server-linux"


def test_one_core_runs_everything() -> None:
    lines = [line.split("\t") for line in guest_plan(deployment(Shape(1, 1))).text.splitlines()]
    assert [line[1] for line in lines if line[0] != "rendezvous"] == ["0", "0", "0"]


def test_servers_alone_need_no_rendezvous() -> None:
    assert "rendezvous" not in guest_plan(Deployment(redis=Redis(), shape=Shape(1, 2))).text
