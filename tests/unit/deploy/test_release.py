# SPDX-License-Identifier: BSD-2-Clause
"""`skerry release`: archives that are the same each time, an SDK that works where it is unpacked, checksums."""

import hashlib
import io
import json
import re
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.cli.commands.project import release as command
from deploy.cli.main import main
from deploy.machine import image
from deploy.tools import release


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
