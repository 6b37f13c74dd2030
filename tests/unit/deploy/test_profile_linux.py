# SPDX-License-Identifier: BSD-2-Clause
"""Whose code a Linux guest executed: from symbols and maps, also from broken ones."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.machine.events import Event
from deploy.profile.blocks import Block
from deploy.profile.components import component, group
from deploy.profile.linux_symbols import Kernel, Mapped, base, executable, kernel, mapped, said
from deploy.profile.outside import Requests
from deploy.profile.programs import UNKNOWN, Function
from deploy.profile.table import SPEED, beside
from deploy.profile.tally import OTHER, Line, Profile, tally
from deploy.profile.throughput import METRIC
from deploy.setup.needs import CHECKER

LIBRARY = BUILD / CHECKER  # position-independent, and not stripped
TEXT = 0xFFFFFFFF81000000
KALLSYMS = [
    f"{TEXT:x} T _stext", f"{TEXT + 0x100:x} T do_something", f"{TEXT + 0x1000:x} T devm_register_netdev", f"{TEXT + 0x1100:x} T tcp_sendmsg",
    f"{TEXT + 0x2000:x} t pcibios_align_resource", f"{TEXT + 0x3000:x} t do_idle", f"{TEXT + 0x3100:x} T __entry_text_start",
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


BROKEN = {
    "nothing": ([], "no function of the kernel has an address"),
    "hidden addresses": (["0000000000000000 T _stext", "0000000000000000 T tcp_sendmsg"], "no function of the kernel has an address"),
    "data": ([*KALLSYMS, f"{TEXT:x} D jiffies"], "is no line of /proc/kallsyms"),
    "half a line": ([*KALLSYMS, f"{TEXT:x} T"], "is no line of /proc/kallsyms"),
    "no number": (["ffffxfff81000000 T _stext"], "is no line of /proc/kallsyms"),
    "longer than an address": (["1ffffffff81000000 T _stext"], "is no line of /proc/kallsyms"),
    "a line without end": ([f"{TEXT:x} T " + "x" * 9 + " [m] more"], "is no line of /proc/kallsyms"),
    "no network": ([line for line in KALLSYMS if "netdev" not in line], "no devm_register_netdev"),
    "no end of the network": ([line for line in KALLSYMS if "pcibios" not in line], "no pcibios_align_resource"),
    "another order": ([line.replace(f"{TEXT + 0x1000:x}", f"{TEXT + 0x2800:x}") for line in KALLSYMS], "linked in another order"),
}


@pytest.mark.parametrize("lines, why", BROKEN.values(), ids=BROKEN.keys())
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
        said(tmp_path / "symbols")


def test_console(tmp_path: Path) -> None:
    """functions first, then the vDSO; a file that is not there is a failure"""
    (tmp_path / "symbols").write_text("\n".join([*KALLSYMS, "vdso 7f454c46", "end", ""]))
    found, vdso = said(tmp_path / "symbols")
    assert vdso == b"\x7fELF" and found.function(TEXT + 0x1100).name == "tcp_sendmsg"
    with pytest.raises(Failure, match="the Linux guest's symbols"):
        said(tmp_path / "none")


def executable_map(path: str, app: str, at: int = 0x7FFFF7000000) -> Event:
    (segment, _), *_ = executable(LIBRARY)
    offset = segment.offset - segment.offset % 4096
    return Event("map", {"event": "map", "app": app, "start": at + offset, "end": at + offset + 4096, "offset": offset, "path": path})


def test_mapped(tmp_path: Path) -> None:
    """an image is found where it is mapped, once for all that map it there; code elsewhere, and other code, is not its"""
    at = 0x7FFFF7000000
    events = [executable_map("/lib/a.so.1", app, at) for app in ("redis@1", "redis@2")]
    events += [executable_map("[vsyscall]", "redis@1"), executable_map("[heap]", "redis@1")]
    (found,) = mapped(events, tmp_path / "vdso", lambda path: LIBRARY)
    symbol = found.image.symbol("check_form")
    code = found.bytes_at(symbol.address, 16)
    assert len(code) == 16 and found.name == "a.so.1"
    assert found.owns(executed(at + symbol.address, code)) and found.function(at + symbol.address + 3).name == "check_form"
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
    for image, why in ((tmp_path / "none", "none"), (text, "text is not an ELF64"), (headers, "headers are not in the file"), (tmp_path, "directory")):
        with pytest.raises(Failure, match=why):
            mapped([good], tmp_path / "vdso", lambda path, image=image: image)
    with pytest.raises(Failure, match="no executable segment at 0x123000"):
        base(LIBRARY, 0x7FFFF7000000, 0x123000)
    for broken, why in (({"start": "0x7f"}, "'start' of .* is no number"), ({"offset": None}, "'offset' of .* is no number")):
        with pytest.raises(Failure, match=why):
            mapped([Event("map", good.data | broken)], tmp_path / "vdso", lambda path: LIBRARY)
    with pytest.raises(Failure, match="has no 'path'"):
        mapped([Event("map", {"start": 1, "offset": 0})], tmp_path / "vdso", lambda path: LIBRARY)


def test_static_libc() -> None:
    """a function that a static program has from its C library has the library's source; one that is in neither is glibc's"""
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
    assert requests.window(0x1234, bytes(range(20))) == {"skip": str(requests.before), "count": "1000", "to": f"1234:{bytes(range(15)).hex()}"}


def test_beside() -> None:
    """a group that one of both has not is a dash, and no ratio"""
    ours, other = Profile([Line("a", "Redis", "f", 100)], 10), Profile([Line("linux", "idle", "g", 50), Line("b", "Redis", "f", 250)], 10)
    columns = [list(column.cells) for column in beside("ours", ours, "Linux", other, metrics=({"memory_per_instance": 1 << 20}, {})).columns]
    rows = {row[0]: row[1:] for row in zip(*columns)}
    assert rows["application"] == ("10", "25", "2.50") and rows["idle"] == ("-", "5", "-")
    assert rows["all"] == ("10", "30", "3.00") and rows["resident memory of an instance, MiB"] == ("1.0", "-", "-")
    assert SPEED not in rows


def test_beside_timed() -> None:
    """what the host has measured stands below what was counted, and says that it is the host's"""
    same = Profile([Line("a", "Redis", "f", 100)], 10, "request")
    table = beside("ours", same, "Linux", same, ({METRIC: 40_000.0}, {METRIC: 10_000.0}))
    assert [list(column.cells)[-1] for column in table.columns] == [SPEED, "40,000", "10,000", "0.25"] and "on this host" in SPEED
