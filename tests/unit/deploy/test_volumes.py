# SPDX-License-Identifier: BSD-2-Clause
"""Folders of the host in a deployment: what becomes of them, and what is refused with the line of the one to blame."""

import re
from pathlib import Path, PurePosixPath

import pytest

from deploy.deployment import Deployment, volumes
from deploy.deployment.planner import Plan, plan
from deploy.deployment.reader import parse
from deploy.deployment.volumes import Folder, Share
from deploy.domains.definition import define
from deploy.domains.machines import arrange
from deploy.domains.record import Record
from topology import foreign
from topology.errors import InputError
from topology.machines.machine import emulated

PROGRAM = "[[program]]\nprogram = 'posixtest'\n"
HEAD = "network = false\n" + PROGRAM


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "below").mkdir(parents=True)
    (tmp_path / "more").mkdir()
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    (tmp_path / "with, a comma").mkdir()
    return tmp_path


def read(text: str, folder: Path) -> Deployment:
    return parse(HEAD + text, "file", folder)


def test_map(folder: Path) -> None:
    """each volume has a server on its program's core, which the map joins to the program"""
    made = plan(read("volume = ['./data:/data', 'more:/var/more:ro']\n", folder))
    program, first, second = made.cluster_map.applications
    assert program.volumes == [first.name, second.name] and program.mount is None
    assert [(a.role, a.program, a.mount, a.cpu) for a in (first, second)] == [
        ("volume", "volume", "/data", 0), ("volume", "volume", "/var/more", 0)]
    assert made.shares == (Share(first.name, Folder(folder / "data", "/data")),
                           Share(second.name, Folder(folder / "more", "/var/more", read_only=True)))
    assert "volume" in made.cluster_map.clusters[0].modules


def test_qemu(folder: Path) -> None:
    """QEMU gets each folder at its own place, commas in the path doubled, read-only where that is asked for"""
    made = plan(read("volume = ['with, a comma:/data:ro', 'link:/more']\n", folder))
    words = volumes.qemu_arguments(made.shares)
    assert words[1] == f"local,id=volume0,path={folder}/with,, a comma,security_model=none,multidevs=remap,readonly=on"
    assert words[3] == f"virtio-9p-pci,fsdev=volume0,mount_tag={made.shares[0].tag},bus=pcie.0,addr=0x11"
    assert words[5] == f"local,id=volume1,path={folder}/data,security_model=none,multidevs=remap"
    assert words[7].endswith("addr=0x12")


def test_libvirt(folder: Path) -> None:
    """libvirt gives the first domain what QEMU's command line gives the machine"""
    made = plan(read("volume = ['data:/data:ro']\n", folder))
    record = Record("test", "0", "per-socket", "clh", 2, 4, "tcg", "skerry-test")
    domain = foreign.xml(define(arrange(made), record, PurePosixPath("/")), "the domain")
    share = domain.find("devices/filesystem")
    assert share is not None and (share.get("accessmode"), share.get("multidevs")) == ("squash", "remap")
    parts = {part.tag: dict(part.attrib) for part in share}
    assert parts["source"] == {"dir": str(folder / "data")} and parts["target"] == {"dir": made.shares[0].tag}
    assert "readonly" in parts and (parts["address"]["bus"], parts["address"]["slot"]) == ("0", "0x11")


def refused(text: str, folder: Path) -> str:
    with pytest.raises(InputError) as error:
        plan(read(text, folder))
    line = str(error.value)
    assert "\n" not in line and line.startswith("file:")
    return line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("volume = ['missing:/data']", r"file:4: .*missing: no such folder; mkdir makes it"),
        ("volume = ['file:/data']", "file is no folder"),
        ("volume = ['loop:/data']", "(?i)symlink loop|too many levels"),
        ("volume = ['data:/']", "cannot be a volume"),
        ("volume = ['data:data']", "a folder of the host and an absolute path"),
        ("volume = [':/data']", "names no folder"),
        ("volume = ['data']", "a folder of the host and an absolute path"),
        ("volume = [7]", "a folder of the host and an absolute path"),
        ("volume = 'data:/data'", "list of"),
        ("volume = ['data:/data/../etc']", r"'\.' or '\.\.'"),
        (r'volume = ["a\u0000b:/data"]', "null byte|character"),
        ("volume = ['data:/x\u0000']", "character"),
        ("volume = ['data:/a', 'data:/b']", "the folder of two volumes"),
        ("volume = ['data:/a', 'link:/b']", "the folder of two volumes"),
        ("volume = ['data:/a', 'data/below:/b']", "the folder of two volumes"),
        ("volume = ['data:/a', 'more:/a']", "/a is in the way of another volume, at /a"),
        ("volume = ['data:/a', 'more:/a/b']", "/a/b is in the way"),
        ("volume = ['data:/a/b', 'more:/a']", "/a is in the way"),
        ("volume = ['data:/dev/null']", "/dev/null is a file"),
        ("volume = ['data:/proc/self/stat/x']", "/proc/self/stat is a file"),
        ("files = ['file:/here']\nvolume = ['data:/here/data']", "/here is a file"),
        ("volume = ['data:/a']\n" + PROGRAM + "volume = ['data:/b']", "file:7: .*the folder of two volumes"),
        ("cpu = 2\nvolume = ['data:/a']", r"cpu 2 is of cluster@1, and volumes are for programs of cluster@0"),
    ],
)  # fmt: skip
def test_refused(text: str, problem: str, folder: Path) -> None:
    """whatever cannot be a volume is one line that names it"""
    if "\u0000" in text:
        text = text.replace("\u0000", "\\u0000").replace("'", '"')
    assert re.search(problem, refused(text + "\n", folder))


def test_too_many(folder: Path) -> None:
    """a machine has places for so many"""
    for number in range(volumes.MOST + 1):
        (folder / str(number)).mkdir()
    some = [f"volume = {[f'{n}:/{n}' for n in range(first, first + 8) if n <= volumes.MOST]}\n" for first in (0, 8)]
    assert f"a machine can have {volumes.MOST}" in refused(some[0] + PROGRAM + some[1], folder)
    assert "a program can have 8" in refused(f"volume = {[f'{n}:/{n}' for n in range(9)]}\n", folder)


def test_real_hardware(folder: Path) -> None:
    """an image for real hardware has no host, and says so"""
    deployment = read("volume = ['data:/data']\n", folder)
    with pytest.raises(InputError, match=r"file:4: .*real hardware has none"):
        plan(deployment, emulated(deployment.shape))


def without_volumes() -> Plan:
    return plan(parse(HEAD, "file"))


def test_without() -> None:
    """a machine without volumes is what it was"""
    made = without_volumes()
    assert not made.shares and not volumes.qemu_arguments(made.shares)
    assert [a.program for a in made.cluster_map.applications] == ["posixtest"]
