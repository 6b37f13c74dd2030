# SPDX-License-Identifier: BSD-2-Clause
"""Files are written through no link that another user made, whatever its name."""

import os
from pathlib import Path

import pytest

from deploy.base import atomic_files
from deploy.base.errors import Failure

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user: run the tests as root")


def test_the_half_file_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a link, a pipe or a file under the half file's name, even one that was guessed, is neither opened nor followed"""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    monkeypatch.setattr(atomic_files.secrets, "token_hex", lambda size: "0" * 2 * size)
    half = tmp_path / ".skerry-half-0000000000000000"
    for plant in (lambda: half.symlink_to(victim), lambda: half.symlink_to(tmp_path / "absent"), lambda: os.link(victim, half), lambda: os.mkfifo(half)):
        plant()
        with pytest.raises(Failure, match="cannot write .*out.json: file exists"):
            atomic_files.write_text(tmp_path / "out.json", "{}")
        half.unlink()
        assert victim.read_text() == "untouched" and not (tmp_path / "absent").exists() and not (tmp_path / "out.json").exists()


def test_half_files_cannot_be_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    replace = Path.replace

    def note(self: Path, target: Path) -> Path:
        seen.append(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", note)
    for _ in range(50):
        atomic_files.write_text(tmp_path / "out.json", "{}")
    assert len(set(seen)) == 50 and all(str(os.getpid()) != name.rpartition("-")[2] for name in seen)
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_new_file_has_the_mode_that_the_user_gives_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_files.write_text(tmp_path / "new", "")
        (tmp_path / "old").touch(0o600)
        atomic_files.write_text(tmp_path / "old", "")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640 and (tmp_path / "old").stat().st_mode & 0o777 == 0o600


def test_what_is_private_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """others cannot open the new content of a file that they may not read while it is being written"""
    (tmp_path / "old").touch(0o600)
    modes = []
    monkeypatch.setattr(atomic_files.os, "fdopen", lambda fd, how: modes.append(os.fstat(fd).st_mode & 0o777) or open(fd, how))
    atomic_files.write_text(tmp_path / "old", "{}")
    assert modes == [0o600] and (tmp_path / "old").read_text() == "{}"


def test_a_link_of_ones_own_is_followed(tmp_path: Path) -> None:
    (tmp_path / "out.json").symlink_to(tmp_path / "real.json")
    atomic_files.write_text(tmp_path / "out.json", "{}")
    assert (tmp_path / "real.json").read_text() == "{}" and (tmp_path / "out.json").is_symlink()


@needs_root
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    link = tmp_path / "out.json"
    link.symlink_to(victim)
    os.lchown(link, 65534, 65534)
    with pytest.raises(Failure, match="cannot write .*out.json: it is a link that another user made"):
        atomic_files.write_text(link, "{}")
    assert victim.read_text() == "untouched"
