# SPDX-License-Identifier: BSD-2-Clause
"""Folders of the host as volumes of programs, in the machine."""

import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.deployment import Program
from deploy.deployment.volumes import Folder
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from topology.units import MIB

ELF = BUILD / "tests/programs/volume.elf"
CSV = "n,square\n" + "".join(f"{n},{n * n}\n" for n in range(1000))


@contextmanager
def program(what: str, folder: Path, read_only: bool = False) -> Iterator[Run]:
    """A machine whose one program does this in the folder."""
    one = Program("volumetest", elf=ELF, name="files", cpu=1, heap=16 * MIB, args=(what,),
                  folders=(Folder(folder, "/data", read_only),))
    with machine(deployment(1, 2, network=False, shutdown="when-done", programs=(one,))) as run:
        yield run


def output(what: str, folder: Path, read_only: bool = False) -> str:
    """What it has printed, when all of it has ended well."""
    with program(what, folder, read_only) as run:
        run.wait_done()
        assert run.events.of("exit")[0]["status"] == 0
        assert "wrong" not in run.console, run.console
        return run.console


@pytest.mark.limit(200)
def test_files(tmp_path: Path) -> None:
    """a program finds in a volume what POSIX promises, the host its files, and the next program both"""
    console = output("write", tmp_path)
    assert "in .: large moved results.csv" in console and "read 1001 lines, the last is 999,998001" in console
    assert (tmp_path / "results.csv").read_text() == CSV
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large", "moved", "results.csv"]
    assert stat.S_IMODE((tmp_path / "results.csv").stat().st_mode) == 0o644
    assert (tmp_path / "large").stat().st_size == 1004 and (tmp_path / "moved").stat().st_mtime_ns == 2000 * 10**9 + 500
    (tmp_path / "results.csv").write_text("from the host\n")
    assert "read 1 lines, the last is from the host" in output("read", tmp_path)


@pytest.mark.limit(120)
def test_escape(tmp_path: Path) -> None:
    """no name and no link leads out of the folder"""
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret").write_text("of the host")
    (folder / "link").symlink_to("../secret")
    console = output("escape", folder)
    assert "opened" not in console and console.count("No such file") + console.count("Symbolic link loop") == 3


@pytest.mark.limit(120)
def test_full(tmp_path: Path) -> None:
    """a full disk is ENOSPC until there is room again"""
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", tmp_path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system cannot be mounted here")
    try:
        assert "full: No space left on device" in output("full", tmp_path)
        assert (tmp_path / "after").read_text() == "room"
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.limit(120)
def test_gone(tmp_path: Path) -> None:
    """a folder that the host removes is EIO, and stays so"""
    folder = tmp_path / "data"
    folder.mkdir()
    with program("vanish", folder) as run:
        run.wait_for(lambda: "waits" in run.console, "the program works in the folder")
        shutil.rmtree(folder)
        run.wait_done()
        assert "gone: I/O error" in run.console and "wrong" not in run.console, run.console
        assert "the host could not store what was written, or the folder has gone" in run.console
