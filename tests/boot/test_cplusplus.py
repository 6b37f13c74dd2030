# SPDX-License-Identifier: BSD-2-Clause
"""Programs of `skerry c++`, with libstdc++ of GCC's own source, which is fetched for them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.deployment import Program
from tests.boot.machine import deployment, machine
from topology.units import MIB

pytestmark = pytest.mark.campaign  # the source is 87 MB
SOURCE = ROOT / "tests/programs/cplusplus.cc"
CROSS = BUILD / "apps/libc/c++/cross.ini"


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    """Builds libstdc++."""
    done = subprocess.run([ROOT / "skerry", "build", "c++", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_booted(elf: Path, cores: int, lock: str) -> None:
    program = Program("cplusplus", elf=elf, cpu=0, cores=cores, heap=64 * MIB, storage=4 * MIB)
    with machine(deployment(1, 4, lock=lock, network=False, shutdown="when-done", programs=(program,))) as booted:
        booted.wait_done()
        assert "wrong" not in booted.console and "cplusplus: all right" in booted.console
        assert f"cplusplus: threads were on {cores} cores" in booted.console
        assert "cplusplus: destroyed" in booted.console and booted.events.of("exit")[0]["status"] == 0


@pytest.mark.limit(900)
@pytest.mark.parametrize("lock,cores,words", [("clh", 1, []), ("fine", 4, ["--cores"])])
def test_program(lock: str, cores: int, words: list[str], tmp_path: Path) -> None:
    """exceptions, threads, thread_local, streams, files and static objects of C++ work, on one core and on four"""
    elf = tmp_path / "cplusplus.elf"
    subprocess.run([ROOT / "skerry", "c++", *words, "--without-net", "-O2", "-std=c++20", "-Wall", "-Wextra", "-Werror",
                    "-o", elf, SOURCE], check=True)
    check_booted(elf, cores, lock)


@pytest.mark.limit(900)
def test_meson(tmp_path: Path) -> None:
    """Meson builds a C++ program by the cross file, and it runs"""
    (tmp_path / "in").mkdir()
    shutil.copy(SOURCE, tmp_path / "in")
    (tmp_path / "in/meson.build").write_text(
        "project('one', 'c', 'cpp', default_options: ['cpp_std=c++20'])\nexecutable('one', 'cplusplus.cc')\n")
    for words in (["setup", "--cross-file", str(CROSS), tmp_path / "out", tmp_path / "in"],
                  ["compile", "-C", tmp_path / "out"]):
        done = subprocess.run(["meson", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    check_booted(tmp_path / "out/one", 1, "clh")
