# SPDX-License-Identifier: BSD-2-Clause
"""Files that are written whole, by one process, on a disk that may be full."""

import errno
import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base import atomic_files
from deploy.base.atomic_files import write_bytes, write_text
from deploy.base.errors import Failure
from deploy.base.file_lock import alone, exclusive
from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Output
from deploy.cli.main import main
from deploy.deployment import Deployment, Redis
from deploy.live.lockstat import live
from deploy.load.linux_guest import kernel, machine
from deploy.machine import qemu, run_folder
from deploy.machine.image import DirectBoot, make_direct
from deploy.setup import bootstrap, build as building, sources
from deploy.tools.fuzz.target import Target
from tests.pages import verdicts
from topology.machines.machine import Shape

# ---- Files are written through no link that another user made, whatever its name ----

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user: run the tests as root")


def test_the_half_file_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a link, a pipe or a file under the half file's name, even one that was guessed, is neither opened nor followed"""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    monkeypatch.setattr(atomic_files.secrets, "token_hex", lambda size: "0" * 2 * size)
    half = tmp_path / ".skerry-half-0000000000000000"
    for plant in (lambda: half.symlink_to(victim), lambda: half.symlink_to(tmp_path / "absent"),
                  lambda: os.link(victim, half), lambda: os.mkfifo(half)):
        plant()
        with pytest.raises(Failure, match="cannot write .*out.json: file exists"):
            atomic_files.write_text(tmp_path / "out.json", "{}")
        half.unlink()
        assert (victim.read_text() == "untouched" and not (tmp_path / "absent").exists()
                and not (tmp_path / "out.json").exists())


def test_an_interrupt_leaves_no_half_file(tmp_path: Path) -> None:
    """a file that is being written goes, whichever line of its writing an interrupt comes at"""
    def write(lines: int) -> bool:
        def trace(frame: Any, event: str, value: Any) -> Any:
            nonlocal lines
            if frame.f_code.co_filename != atomic_files.__file__:
                return None
            lines -= event == "line"
            if not lines:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            atomic_files.write_text(tmp_path / "out.json", "{}")
        except KeyboardInterrupt:
            return False
        finally:
            sys.settrace(before)
        return True

    for lines in range(1, 60):
        whole = write(lines)
        assert not list(tmp_path.glob(".skerry-half-*")), f"line {lines}"
        if whole:
            break
    assert whole and lines > 10


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
    monkeypatch.setattr(atomic_files.os, "fdopen", lambda fd,
                        how: modes.append(os.fstat(fd).st_mode & 0o777) or open(fd, how))
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


# ---- Campaigns that keep their results in one place: the second one is refused, and told of the first ----

HOLDER = (
    "import sys, time\nfrom pathlib import Path\nfrom deploy.base.file_lock import alone\nwith alone('a campaign', "
    "Path(sys.argv[1])):\n    print(flush=True)\n    time.sleep(600)\n"
)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_alone(how: signal.Signals, tmp_path: Path) -> None:
    """a second campaign in a folder is refused with the first one's process, until that is gone; another folder is
    free"""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "one")], cwd=ROOT,
                          stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout and first.stdout.readline()
            with pytest.raises(Failure) as error, alone("another", tmp_path / "one"):
                pass
            assert (str(error.value) == f"{tmp_path / 'one'} is being written by process {first.pid}, a campaign: wait "
                    f"until it has ended, or end it")
            with alone("another", tmp_path / "two"):
                pass
        finally:
            first.send_signal(how)
    with alone("another", tmp_path / "one"):
        pass


def test_fuzz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """a fuzzer of the same target is refused before it fuzzes, also with a corpus of its own: logs and finds have one
    place"""
    command = importlib.import_module("deploy.cli.commands.project.fuzz")
    monkeypatch.setattr(Target, "folder", tmp_path)
    monkeypatch.setattr(command, "ensure_built", lambda *what: None)
    monkeypatch.setattr(command, "build", lambda output, name, regime: Target(name, regime))
    monkeypatch.setattr(command, "run_fuzzers", lambda *what: pytest.fail("it fuzzes"))
    with alone("skerry fuzz", tmp_path):
        for more in ([], ["--corpus", str(tmp_path / "corpus")]):
            assert main(["fuzz", *more]) == 1
            words = capsys.readouterr().err.strip().splitlines()
            assert words == [f"skerry: {tmp_path} is being written by process {os.getpid()}, skerry fuzz: wait until "
                             f"it has ended, or end it"]


def test_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """figures are not run into a folder of results that another process writes; their list can be read"""
    with alone("skerry paper", tmp_path):
        assert main(["paper", "uemura-tables", "--into", str(tmp_path), "--quiet"]) == 1
        assert f"{tmp_path} is being written by process {os.getpid()}" in capsys.readouterr().err
        assert main(["paper", "uemura-tables", "--into", str(tmp_path), "--list"]) == 0


LONG = {
    "mistakes": ("tests.mistakes.__main__", ROOT / "tests/mistakes/verdicts.txt"),
    "cluster-restarts": ("tests.long.cluster_restarts", ROOT / "tests/long/cluster_restarts.json"),
    "pages": ("tests.long.pages", verdicts.FILE),
}


@pytest.mark.parametrize("name", LONG)
def test_long(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a long campaign is refused while another one in this tree writes the same verdicts, whatever else it is told"""
    words, writes = LONG[name]
    module = importlib.import_module(words)
    assert writes.is_file() and module.BUILD == BUILD
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "attend", lambda *what: pytest.fail("it runs beside the other"))
    monkeypatch.setattr(sys, "argv", [name])
    printed: list[str] = []
    monkeypatch.setattr(module, "print", lambda *what, **where: printed.append(str(what[0])), raising=False)
    with alone(words, writes, tmp_path / f"{name}.lock"):
        try:
            assert module.main() == 1
        except Failure as error:  # which what calls main() prints
            printed.append(str(error))
    assert f"{writes} is being written by process {os.getpid()}" in printed[-1]


# ---- What a full disk does: one line that names the file, and nothing is lost of what was there ----

@contextmanager
def full(free: int = 0) -> Iterator[None]:
    """No file grows beyond `free` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("words, name", [
    (["topology", "--json"], "results.json"), (["man", "-o"], "skerry.1"),
    (["model", "predict", "--plot"], "curve.png"), (["model", "predict", "--json"], "x.json"),
])  # fmt: skip
@pytest.mark.parametrize("had", [b"good", None])
def test_a_command_loses_nothing(words: list[str], name: str, had: bytes | None, tmp_path: Path,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    if had is not None:
        path.write_bytes(had)
    with full(16):
        assert main([*words, str(path)]) == 1
    assert capsys.readouterr().err.endswith(f"skerry: cannot write {path}: file too large\n")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == ({} if had is None else {name: had})


@pytest.mark.parametrize("left, status", [(0, 1), (1, 0), (None, 0)])
def test_no_space_is_said_before_the_work(
    left: int | None, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deploy.base.terminal.free", lambda folder: left)
    path = tmp_path / "results.json"
    assert main(["topology", "--json", str(path)]) == status
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"skerry: cannot write {path}: no space left on device\n") or not status
    assert main(["topology", "--json", "/dev/null"]) == 0


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """with the permissions that it had; a new one gets those of any new file"""
    path, other = tmp_path / "x", tmp_path / "other"
    write_text(path, "first")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode
    path.chmod(0o600)
    write_text(path, "second: ä")
    assert (path.read_text(encoding="utf-8"), path.stat().st_mode & 0o777) == ("second: ä", 0o600)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "x"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text(tmp_path / "link", "content")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "content"


def test_a_pipe_gets_it(tmp_path: Path) -> None:
    read, write = os.pipe()
    write_bytes(Path(f"/dev/fd/{write}"), b"content")
    assert os.read(read, 100) == b"content"
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("path, why", [("/dev/full", "no space left on device"),
                                       ("/nowhere/x", "no such file or directory")])
def test_the_file_is_named(path: str, why: str) -> None:
    with pytest.raises(Failure, match=f"^cannot write {path}: {why}$"):
        write_text(Path(path), "x")


def test_no_folder_takes_temporary_files(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/Full", "/var/Full"])
    monkeypatch.setattr("deploy.cli.completion.script", lambda *rest: tempfile.mkdtemp())
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == (
        "skerry: cannot write temporary files: no usable temporary directory found in ['/Full', '/var/Full']; "
        "set TMPDIR to a folder with space\n"
    )


def test_a_lock_is_named(tmp_path: Path) -> None:
    with full(), pytest.raises(OSError) as error, exclusive(tmp_path / "lock", "this", lambda holder: None):
        pytest.fail("held")
    assert error.value.filename == str(tmp_path / "lock")
    with exclusive(tmp_path / "lock", "this", lambda holder: None):
        assert (tmp_path / "lock").read_text().endswith(", this")


def test_what_is_done_under_a_lock_is_not_named_by_it(tmp_path: Path) -> None:
    with pytest.raises(OSError) as error, exclusive(tmp_path / "lock", "this", lambda holder: None):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.filename is None


def test_the_log_of_a_build_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what ninja says fits into memory, and the file's error comes when it is closed"""
    ninja = tmp_path / "ninja"
    ninja.write_text("#!/bin/sh\necho '[1/1] all'\n")
    ninja.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(building, "LOGS", tmp_path)
    with full(), pytest.raises(OSError) as error:
        building.compile(Output(quiet=True))
    assert error.value.filename == str(tmp_path / "build.log")


def test_a_build_that_fails_for_it_says_so(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("FAILED: x.so\n/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld "
                   "returned 1 exit status\n")
    assert "final link failed: No space left on device" in str(building.complain("the build failed", log))


def test_the_log_of_the_tools_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "venv.log")
    with full(), pytest.raises(OSError) as error:
        bootstrap.start_logged(["true"])
    assert error.value.filename == str(tmp_path / "venv.log")


@pytest.mark.parametrize("status, has", [(0, {"deb", "image", "module"}), (1, {"old"})])
def test_half_a_kernel_is_none(status: int, has: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a module that is not there would pass for one that is built in, for ever after"""
    def unpack(command: list[str], **rest: object) -> subprocess.CompletedProcess[str]:
        Path(command[3], "boot").mkdir()
        Path(command[3], "boot", "vmlinuz-6").touch()
        if status == 0:
            Path(command[3], "lib/modules/6").mkdir(parents=True)
            Path(command[3], "lib/modules/6/net.ko").touch()
        return subprocess.CompletedProcess(command, status, "",
                                           "dpkg-deb: error: No space left on device\ntar: Exiting\n" if status else "")

    folder = tmp_path / "linux"
    folder.mkdir()
    (folder / "old").touch()
    monkeypatch.setattr(kernel, "_package", lambda: "linux-image")
    monkeypatch.setattr(kernel.apt, "run_apt", lambda words, as_root, cwd: (cwd / "linux-image_6.deb").touch())
    monkeypatch.setattr(kernel.subprocess, "run", unpack)
    with pytest.raises(Failure, match="linux-image_6.deb cannot be unpacked: .*No space left on "
                       "device$") if status else nullcontext():
        assert len(kernel.fetch(folder, ("net",)).modules) == 1
    names = {"linux-image_6.deb": "deb", "vmlinuz-6": "image", "net.ko": "module"}
    assert {names.get(path.name, path.name) for path in folder.rglob("*") if path.is_file()} == has
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("error, reported", [
    ("tar: a.c: Cannot write: No space left on device\ntar: Exiting with failure status due to previous errors\n",
     "tar: a.c: Cannot write: No space left on device"),
    ("", "status 2"),
])  # fmt: skip
def test_half_a_source_is_none(error: str, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """and why is said by the first line of tar's, not the last"""
    def unpack(command: list[str], **rest: object) -> subprocess.CompletedProcess[str]:
        Path(command[4], "a.c").touch()
        return subprocess.CompletedProcess(command, 2, "", error)

    monkeypatch.setattr(sources, "THIRD_PARTY", tmp_path)
    monkeypatch.setattr(sources.subprocess, "run", unpack)
    with pytest.raises(Failure) as failure:
        sources.unpack(sources.Source("lwip", "lwip.tar", "0"))
    assert str(failure.value) == f"lwip.tar cannot be unpacked: {reported}"
    assert list(tmp_path.iterdir()) == []


def test_tarball_within_a_tarball(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """of a tarball within a tarball its parts alone are unpacked, those in its first folder, without tests;
    a part that is not there is named"""
    for path in ("gcc-1/lib/a.c", "gcc-1/lib/testsuite/x", "gcc-1/lib/testsuite/y/t.c", "gcc-1/other/b.c",
                 "gcc-1/other/lib/c.c"):
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / path).write_text(path)
    (tmp_path / "outer/x").mkdir(parents=True)
    subprocess.run(["tar", "-C", tmp_path / "in", "-cJf", tmp_path / "outer/x/gcc-1.tar.xz", "gcc-1"], check=True)
    subprocess.run(["tar", "-C", tmp_path / "outer", "-czf", tmp_path / "gcc.tar", "x"], check=True)
    monkeypatch.setattr(sources, "THIRD_PARTY", tmp_path)
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path)
    source = sources.Source("gcc", "gcc.tar", "0", "gcc", "gcc-1.tar.xz", ("lib",))
    sources.unpack(source)
    assert source.is_unpacked() and not replace(source, parts=("lib", "other")).is_unpacked()
    files = {path.relative_to(source.tree).as_posix() for path in source.tree.rglob("*") if path.is_file()}
    assert files == {"lib/a.c", "lib/testsuite/x", sources.STAMP}
    with pytest.raises(Failure, match="gcc.tar cannot be unpacked: .*absent: Not found in archive"):
        sources.unpack(replace(source, parts=("lib", "absent")))


def test_other_sources_are_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """files of another tarball are compiled anew, however old they are in it, and none is newer than another; those of
    examples stay as old as they are"""
    (tmp_path / "in/lwip").mkdir(parents=True)
    for name, age in (("a.c", 1), ("configure", 2)):
        (tmp_path / "in/lwip" / name).touch()
        os.utime(tmp_path / "in/lwip" / name, (age, age))
    subprocess.run(["tar", "-C", tmp_path / "in", "-cf", tmp_path / "lwip.tar", "lwip"], check=True)
    monkeypatch.setattr(sources, "THIRD_PARTY", tmp_path)
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path)
    before = tmp_path / "object"
    before.touch()
    for example in (None, "one"):
        sources.unpack(sources.Source("lwip", "lwip.tar", "0", example))
        times = [(tmp_path / "lwip" / name).stat().st_mtime_ns for name in ("a.c", "configure")]
        if example:
            assert times == [1e9, 2e9]
        else:
            assert times[0] == times[1] >= before.stat().st_mtime_ns


@pytest.mark.parametrize("answer, wrote, left, why", [
    ("", 0, 7, "no space left in {}"), ("Error: writing memory failed", 0, 0, "no space left in {}"),
    ("Error: writing memory failed", 0, 8, "monitor: Error: writing memory failed"),
    ("", 4, None, "the monitor wrote 4 bytes of memory, not 8"),
])  # fmt: skip
def test_no_space_for_a_machines_memory(
    answer: str, wrote: int, left: int | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def human(path: Path, *commands: str) -> list[str]:
        (path.parent / "memory.bin").write_bytes(bytes(wrote))
        return [answer]

    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr(live.monitor, "human", human)
    monkeypatch.setattr(live, "free", lambda where: left)
    with pytest.raises(Failure) as failure:
        live.monitor_memory(folder)(0, 0x1000, 8)
    assert str(failure.value) == why.format(tmp_path)
    assert list(folder.iterdir()) == []


LINUX = Deployment(shape=Shape(1, 1), redis=Redis(), shutdown="never")


def guest(folder: Path) -> DirectBoot:
    boot = DirectBoot(folder / "vmlinuz", folder / "initrd")
    boot.initrd.write_bytes(bytes(5000))
    return boot


def test_a_linux_that_does_not_fit_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    made = guest(tmp_path)
    with full(4096), pytest.raises(Failure, match=r"^cannot write .*/skerry-linux-.*/initrd: file too large$"):
        machine.LinuxRun(made, LINUX, machine.Options(qemu.TCG_TURNS))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_linux_whose_output_is_lost_has_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "free", lambda folder: 0)
    run = machine.LinuxRun(guest(tmp_path), LINUX, machine.Options(qemu.TCG_TURNS))
    run.command.console.touch()
    run.command.events.touch()
    run._process = SimpleNamespace(poll=lambda: 0)  # type: ignore[assignment]
    with pytest.raises(Failure, match="^no space left in .*is lost$"):
        run.wait_for(lambda: True, "done")
    run._process = None
    run.__exit__(None, None, None)


def test_an_archive_names_itself(tmp_path: Path) -> None:
    with full(16), pytest.raises(Failure, match=f"^cannot write {tmp_path}/modules.cpio: file too large$"):
        make_direct(tmp_path, {"map": b"x"}, tmp_path / "loader")
    assert list(tmp_path.iterdir()) == []
