# SPDX-License-Identifier: BSD-2-Clause
"""Profiles: what the plugin wrote, whose code it is, and how it is shown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deploy.base.errors import Failure
from deploy.deployment.modules import module_path
from deploy.profile import blocks
from deploy.profile.blocks import Block
from deploy.profile.components import GROUPS, component, group
from deploy.profile.flame import boxes, svg
from deploy.profile.programs import UNKNOWN, Function, Program
from deploy.profile.tally import OTHER, Line, Profile, tally
from deploy.report.load import Entry
from deploy.results.result import nested


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_blocks(tmp_path: Path) -> None:
    """a block has its address, its executions, and the place of each of its instructions"""
    (block,) = blocks.read(written(tmp_path / "blocks", "ffffffff80001000 7 125 9090904155418b00", "end"))
    assert block == Block(0xFFFFFFFF80001000, 7, (1, 2, 5), bytes.fromhex("9090904155418b00"))
    assert list(block.places()) == [0xFFFFFFFF80001000, 0xFFFFFFFF80001001, 0xFFFFFFFF80001003]
    assert block.instructions == 21


def test_repeated() -> None:
    """steps of a string instruction are blocks that begin with one; those of another prefix, or of none, are not"""
    for code in ("f3aa", "f348a5", "66f3a5", "f34da4", "f26e"):
        content = bytes.fromhex(code)
        assert Block(0x1000, 7, (len(content), 1), content + b"\xc3").repeated == 7, code
    for code in ("aa", "48a5", "f390", "f30f1efa", "c3", "f3", "f3480fb8c0"):  # stos, movs, pause, endbr64, ret, half of one, popcnt
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
        blocks.read(written(tmp_path / "blocks", *lines))


def test_no_blocks(tmp_path: Path) -> None:
    """a file that is not there is refused"""
    with pytest.raises(Failure, match="no profile"):
        blocks.read(tmp_path / "blocks")


def code_at(program: Program, name: str, size: int = 16) -> tuple[int, bytes]:
    """The address of a function, and its first bytes as objdump reads them."""
    listed = subprocess.run(["nm", program.image.path], capture_output=True, text=True, check=True).stdout
    (address,) = [int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(f" {name}")]
    shown = subprocess.run(["objdump", "-s", f"--start-address={address}", f"--stop-address={address + size}", "-j", ".text", program.path],
                           capture_output=True, text=True, check=True).stdout
    words = [word for line in shown.splitlines() if line.startswith(" ") for word in line[1:].split("  ")[0].split()[1:]]
    return address, bytes.fromhex("".join(words))[:size]


@pytest.fixture(scope="module")
def images() -> dict[str, Program]:
    return {name: Program(name, module_path(name)) for name in ("kernel-clh", "redis-server", "ycsb", "switch")}


def test_functions(images: dict[str, Program]) -> None:
    """code is found by its address and its bytes, and counted for its function, program and component"""
    wanted = [("kernel-clh", "schedule", "kernel"), ("redis-server", "tcp_input", "lwIP"), ("ycsb", "tcp_input", "lwIP"),
              ("redis-server", "addReply", "Redis"), ("ycsb", "redisBufferRead", "hiredis"), ("switch", "reset_answer", "switch"),
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
