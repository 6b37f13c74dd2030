# SPDX-License-Identifier: BSD-2-Clause
"""`skerry release`: archives, an SDK, checksums; and what a results file says of the code that ran."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shlex
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from deploy.base import host
from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.base.terminal import Output
from deploy.cli.commands.project import release as command
from deploy.cli.main import main
from deploy.deployment import modules
from deploy.machine import image
from deploy.results import fingerprint, kinds
from deploy.results.result import document
from deploy.setup import build, needs
from deploy.tools import release

# ---- `skerry release`: archives that are the same each time, an SDK that works where it is unpacked, checksums. ----


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the images: tests of their own write them."""
    monkeypatch.setattr(command, "ensure_built", lambda output, needed: None)
    monkeypatch.setattr(image, "contents", lambda cluster_map, own: {"map": b"map"})
    monkeypatch.setattr(image, "make_iso", lambda to, files, loader, title, options,
                        notes: to.write_bytes(b"".join([*files.values(), *notes.values()])))


@pytest.mark.limit(120)
def test_release(quick: None, tmp_path: Path) -> None:
    """images of both layouts, SDK, sources, citation and the sums of all; made again, the same"""
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        assert main(["release", "-o", str(folder), "--quiet", "--json", str(tmp_path / "release.json")]) == 0
    names = sorted(path.name for path in folders[0].iterdir())
    assert sum(name.endswith(".iso") for name in names) == 2 and "CITATION.cff" in names
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    listed = dict(line.split("  ")[::-1] for line in (folders[0] / "SHA256SUMS").read_text().splitlines())
    assert set(listed) == set(names) - {"SHA256SUMS"}
    assert all(hashlib.sha256((folders[0] / name).read_bytes()).hexdigest() == digest
               for name, digest in listed.items())
    document = json.loads((tmp_path / "release.json").read_text())
    assert {one["name"] for one in document["files"]} == set(listed)
    citation = (folders[0] / "CITATION.cff").read_text()
    assert re.search(r"^version: \d+\.\d+\.\d+\ndate-released: \d{4}-\d\d-\d\d\nlicense: BSD-2-Clause$", citation,
                     re.MULTILINE)
    assert main(["release", "-o", str(folders[0]), "--quiet"]) == 0  # over an older one
    (archive,) = folders[0].glob("skerry-sdk-*.tar.gz")
    check_sdk(archive.read_bytes(), tmp_path / "any where")


def check_sdk(packed: bytes, folder: Path) -> None:
    """It compiles and links where it was unpacked, and names no folder of the machine that made it."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = archive.getmembers()
        assert all((m.uid, m.gid, m.uname, m.mtime) == (0, 0, "", release.epoch()) for m in members)
        archive.extractall(folder)
    (top,) = folder.iterdir()
    assert {"skerry", "musl", "lwip"} <= {path.name for path in (top / "licences").iterdir()}
    assert str(ROOT) not in (top / "bin/skerry-cc").read_text()
    readme = (top / "README.md").read_text()
    assert {path.name for path in top.iterdir()
            if path.is_dir()} == set(re.findall(r"^\| `(\w+)/` \|", readme, re.MULTILINE))
    command = next(line for line in readme.splitlines() if line.startswith("bin/skerry-cc "))
    subprocess.run(shlex.split(command), check=True, capture_output=True, cwd=top)  # as its first page says
    made = top / "examples/echo/echo.elf"
    assert made.read_bytes()[:4] == b"\x7fELF" and str(ROOT).encode() not in made.read_bytes()


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a folder with other files is not emptied"""
    (tmp_path / "mine").write_text("x")
    assert main(["release", "-o", str(tmp_path)]) == 2 and "is no release" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "x"


# ---- Tests what a results file says of the code that ran, and of what kind its figures are. ----


def compiled(folder: Path, text: str, *more: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "a.c").write_text(text)
    subprocess.run(["gcc", "-g", "-O1", "-nostdlib", "-static", "-o", "a.elf", str(folder / "a.c"), *more], cwd=folder,
                   check=True)
    return folder / "a.elf"


SOURCE = "int twice(int n) { return 2 * n; }\nvoid _start(void) { for (;;) twice(1); }\n"


def test_folders_do_not_matter(tmp_path: Path) -> None:
    """an image's hash is that of its code: folders in debug information, and what the linker makes of them, are left
    out"""
    one = compiled(tmp_path / "here", SOURCE, "-Wl,--build-id")
    other = compiled(tmp_path / "another folder" / "with a longer name", SOURCE, "-Wl,--build-id")
    assert one.read_bytes() != other.read_bytes() and fingerprint.digest(one) == fingerprint.digest(other)
    changed = compiled(tmp_path / "changed", SOURCE.replace("2 * n", "3 * n"), "-O0")
    assert fingerprint.digest(changed) != fingerprint.digest(one)


def test_no_image(tmp_path: Path) -> None:
    """what is no executable is refused, with its name"""
    (tmp_path / "x.elf").write_text("text")
    with pytest.raises(Failure, match=r"x.elf: cannot be stripped"):
        fingerprint.digest(tmp_path / "x.elf")


def test_names() -> None:
    """each image has one file and each such file one name; others, as the host's own tools, have none"""
    for name in ("loader", "model", "kernel-clh", "kernel-fine+stat", *modules.PROGRAMS):
        target = fingerprint.target_of(name)
        assert target and fingerprint.name_of(target) == name
    assert fingerprint.target_of("nothing") is None
    assert not [target for target in (needs.CHECKER, needs.LISTEN, needs.NAMES, *needs.LINUX)
                if fingerprint.name_of(Path(target))]


def test_files_say_what_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a results file has the hash of each image that its command had made, one of all, and the compiler's version"""
    (tmp_path / "cluster-kernel").mkdir()
    compiled(tmp_path / "x", SOURCE).rename(tmp_path / "cluster-kernel" / "kernel-clh.elf")
    monkeypatch.setattr(fingerprint, "BUILD", tmp_path)
    monkeypatch.setattr(fingerprint.of_targets, "__defaults__", (tmp_path,))
    assert "images" not in document("x", {}, [])
    monkeypatch.setattr(build, "_made",
                        [(needs.Needs(frozenset(("cluster-kernel/kernel-clh.elf", needs.CHECKER))),
                          Output(quiet=True))])
    found = document("x", {}, [])
    assert list(found["images"]) == ["kernel-clh"] and len(found["images"]["kernel-clh"]) == 64
    assert (
        found["images_sha256"] == fingerprint.together(found["images"]) and found["toolchain"]["gcc"].startswith("gcc")
    )
    assert fingerprint.together({"a": "1"}) != fingerprint.together({"a": "2"}) != fingerprint.together({"b": "2"})


@pytest.mark.parametrize(
    ("entry", "on", "expected"),
    [
        ({"modelled": {"machine": "x"}, "emulated": True}, {}, kinds.MODELLED),
        ({"clock": "modelled", "emulated": True}, {}, kinds.MODELLED),
        ({"clock": "step", "emulated": True}, {}, kinds.COUNTED),
        ({"emulated": True}, {"counts_instructions": True}, kinds.COUNTED),
        ({"emulated": True}, {}, kinds.EMULATED),
        ({"emulated": True, "metrics": {"unmap_kernel_instructions": 1.0}}, {}, kinds.COUNTED),
        ({"clock": "tsc"}, {}, kinds.REAL),
        ({}, {}, kinds.REAL),
        ({"kind": "native", "emulated": False}, {}, kinds.NATIVE),
        ({"model": "closed form"}, {}, kinds.COMPUTED),
    ],
)
def test_kinds(entry: dict[str, Any], on: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """each result says of what kind its figures are, in JSON and CSV"""
    data = (
        document("x", on, [],
                 [{"metrics": {"ops_per_s": 1.0, "p99_us": 2.0}} | entry
                  | {"distorted": ["p99_us", "cpu_utilisation"]}])
    )
    assert data["results"][0]["kind"] == expected
    Output(quiet=True, json_to=str(tmp_path / "x.json")).results(data)
    (row,) = csv.DictReader((tmp_path / "x.csv").open())
    assert row["kind"] == expected and row["distorted"] == "p99_us cpu_utilisation"


def test_commit_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """a file that changes while a command runs does not change the commit of its results"""
    host.commit.cache_clear()
    said = [("a" * 40, ""), ("a" * 40, " M file\n")]

    def run(command: list[str], **more: Any) -> Any:
        text = said[0][0] if "rev-parse" in command else said[0][1]
        return subprocess.CompletedProcess(command, 0, text)

    monkeypatch.setattr(host.subprocess, "run", run)
    assert host.commit() == "a" * 40
    said.pop(0)
    assert host.commit() == "a" * 40
    host.commit.cache_clear()
    assert host.commit() == "a" * 40 + "+"
    host.commit.cache_clear()
