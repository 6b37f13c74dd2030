# SPDX-License-Identifier: BSD-2-Clause
"""Full disks, trees of others, Ctrl-C: each command ends with one line, and leaves nothing behind."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.machine import image

SKERRY = str(ROOT / "skerry")
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="other users need root: run as root")
CHANGES_MOUNTS = ["unshare", "--mount"]
with_mounts = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run([*CHANGES_MOUNTS, "true"], capture_output=True).returncode != 0,
    reason="mounts of a process's own need root, and a root folder that is a mount point: in a chroot, bind its folder "
    "to itself first",
)

# An image without a build: an ELF file is all that GRUB asks for.
MAKE = """
import sys
from pathlib import Path
from deploy.cli import main as cli
from deploy.machine import image
def main():
    image.make_iso(Path(sys.argv[1]), {"map": bytes(int(sys.argv[3]) << 20)}, Path(sys.argv[2]))
    return 0
cli.make_app = lambda called: lambda **words: main()
sys.exit(cli.main_program())
"""


def loader(folder: Path) -> Path:
    path = folder / "loader"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    return path


def in_small_disk(folder: Path, size: int, script: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    words = [*CHANGES_MOUNTS, "sh", "-c", f"mount -t tmpfs -o size={size}k none '{folder}' && {script}"]
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "MAKE": MAKE})


@with_mounts
@pytest.mark.parametrize("where, size", [("output", 0), ("scratch", 0), ("scratch", 8)])
def test_full_disk(where: str, size: int, tmp_path: Path) -> None:
    """an image onto a full disk: which folder is full, what is free and what is needed, and no rest of it"""
    small = tmp_path / "small"
    output = small / "x.iso" if where == "output" else tmp_path / "x.iso"
    scratch = f"TMPDIR='{small}'" if where == "scratch" else ""
    make = f"{scratch} {sys.executable} -c \"$MAKE\" '{output}' '{loader(tmp_path)}' {size}"
    done = in_small_disk(small, 3000 if where == "output" else 1000,
                         f"{make}; status=$?; ls -A '{small}'; exit $status")
    assert done.returncode == 1 and done.stdout == "", done
    text = done.stderr.strip()
    assert text.count("\n") == 0 and f"no space left in {small}: " in text and "MiB are needed there" in text, text
    assert not (tmp_path / "x.iso").exists()


@as_root
def test_other_users_tree() -> None:
    """in another user's tree commands that write nothing work, and those that build say in one line what they may
    not"""
    as_other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if subprocess.run([*as_other, "test", "-r", SKERRY]).returncode:
        pytest.skip(f"no other user can read {ROOT}")
    other = [*as_other, SKERRY]
    for words, status in ((["--version"], 0), (["topology"], 0), (["build", "--quiet"], 1)):
        done = subprocess.run([*other, *words], capture_output=True, text=True, cwd="/",
                              env={**os.environ, "HOME": "/nonexistent"})
        assert "Traceback" not in done.stderr and done.returncode == status, (words, done.stderr)
        if status:
            assert done.stderr.count("\n") == 1 and "permission denied" in done.stderr, done.stderr


@with_mounts
def test_readonly_tree() -> None:
    """with build/ read-only a command that must write there says so in one line, from the first on"""
    at = f"mount --bind '{BUILD}' '{BUILD}' && mount -o remount,ro,bind '{BUILD}'"
    never_set_up = f"mount -t tmpfs none '{BUILD}' && mount -o remount,ro '{BUILD}'"
    for before, words in ((at, "build --quiet"), (at, "compare --quiet --records 10"), (never_set_up, "build")):
        script = f"{before} && exec '{SKERRY}' {words}"
        done = subprocess.run([*CHANGES_MOUNTS, "sh", "-c", script], capture_output=True, text=True, cwd="/")
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 1 and "read-only file system" in lines[-1] and "Traceback" not in done.stderr, done.stderr
        assert lines[-1].startswith("skerry: ")


# In place of grub-mkrescue: an image that comes late, from a process that a signal to the group does not end at once.
SLOW = """#!/bin/sh
for word; do case $previous in -o) output=$word;; esac; previous=$word; done
setsid sh -c 'sleep 0.4; echo image > "$0"' "$output" &
touch "$(dirname "$output")/begun"
wait
"""


@pytest.mark.parametrize("when", ["at work", "as it starts", "as it ends"])
def test_late_image(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """an image whose making was interrupted is not there afterwards, and does not come later; one that was there
    stays"""
    tool, output = tmp_path / "bin" / "grub-mkrescue", tmp_path / "x.iso"
    tool.parent.mkdir()
    tool.write_text(SLOW)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    popen = subprocess.Popen

    class Starting(popen):  # type: ignore[type-arg, valid-type, misc]
        def __init__(self, *words: Any, **rest: Any) -> None:
            super().__init__(*words, **rest)
            raise KeyboardInterrupt

    class Working(popen):  # type: ignore[type-arg, valid-type, misc]
        def communicate(self, *words: Any, **rest: Any) -> Any:
            while not (tmp_path / "begun").exists():
                time.sleep(0.01)
            raise KeyboardInterrupt

    class Ending(popen):  # type: ignore[type-arg, valid-type, misc]
        def communicate(self, *words: Any, **rest: Any) -> Any:
            super().communicate(*words, **rest)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", {"at work": Working, "as it starts": Starting, "as it ends": Ending}[when])
    with pytest.raises(KeyboardInterrupt):
        image.make_iso(output, {"map": b"map"}, loader(tmp_path))
    assert not output.exists()
    time.sleep(0.6)
    assert not output.exists()
    output.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        image.make_iso(output, {"map": b"map"}, loader(tmp_path))
    assert output.exists()


def interrupted(command: list[str], after: float, folder: Path) -> tuple[int, str]:
    """Interrupts a command as a shell does: the whole group gets SIGINT, once. Returns its status and output."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder)}, stdin=subprocess.DEVNULL,
    )
    time.sleep(after)
    try:
        os.killpg(process.pid, signal.SIGINT)
    except ProcessLookupError:
        pass
    printed = process.communicate()[0]
    status = process.returncode
    return status if status >= 0 else 128 - status, printed


@pytest.mark.limit(240)
@pytest.mark.parametrize("words, times", [(["--version"], 8), (["topology"], 4), (["doctor", "--quiet"], 3),
                                          (["compare", "--records", "10"], 3)], ids=str)
def test_interrupt_at_any_moment(words: list[str], times: int, tmp_path: Path) -> None:
    """Ctrl-C at any moment of a command ends it with status 130 and at most one line"""
    if words[0] == "compare":
        whole = 6.0  # somewhere between its start and its end
    else:
        for _ in range(2):  # what the first run finds out, the later ones know
            start = time.monotonic()
            assert subprocess.run([SKERRY, *words], capture_output=True, cwd=tmp_path).returncode == 0
            whole = time.monotonic() - start
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    seen = []
    while len(seen) < times or (130 not in seen and len(seen) < 40):
        status, printed = interrupted([SKERRY, *words], chance.uniform(0, whole), tmp_path)
        what = f"seed {seed}: status {status}: {printed}"
        assert "Traceback" not in printed and "KeyboardInterrupt" not in printed and "Error" not in printed, what
        assert status in (0, 130), what
        assert status == 0 or printed.count("skerry: interrupted") <= 1, what
        seen.append(status)
        if status == 0:  # it was over before
            whole /= 2
    assert 130 in seen, f"seed {seed}: it was always over before"


DEAF = """
import os, signal, sys, time
from deploy.base import interrupts
class Deaf:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(0)
        print("still here")
interrupts.raise_keyboard_interrupt(signal.SIGTERM)
try:
    deaf = Deaf()
    del deaf
    time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_interrupted_destructor(number: int) -> None:
    """a signal that meets a destructor, which swallows its exception, is heard after it"""
    done = subprocess.run([sys.executable, "-c", DEAF, str(int(number))], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")


IMPORTS = """
import os, sys, time
from pathlib import Path
from deploy.base import interrupts
Path(sys.argv[1], "described.py").write_text('''
import os, signal, time
class Field:
    def __set_name__(self, owner, name):
        for _ in range(40):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.0013)
class Described:
    field = Field()
print("defined", flush=True)
''')
sys.path.insert(0, sys.argv[1])
interrupts.raise_keyboard_interrupt()
try:
    try:
        import described
    finally:
        if sys.argv[2:]:
            interrupts.hold_back()
            time.sleep(0.05)  # nothing is heard meanwhile
            os.execv(sys.executable, [sys.executable, "-c", "import signal; print(signal.sigpending())"])
    while True:
        pass
except KeyboardInterrupt:
    time.sleep(0.1)  # what is cleaned up takes time, in which it must not be interrupted once more
    print("heard")
"""


@pytest.mark.parametrize("replaced", [False, True], ids=["goes on", "is replaced"])
def test_interrupted_import(replaced: bool, tmp_path: Path) -> None:
    """signals that meet an import, which makes another exception of them, are heard after it, once, if by the program
    that follows"""
    command = [sys.executable, "-c", IMPORTS, str(tmp_path), *["held"] * replaced]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    heard = "{<Signals.SIGINT: 2>}" if replaced else "heard"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"defined\n{heard}\n", "")


LATE = """
import os, signal, sys, time
from pathlib import Path
from deploy.base import interrupts
Path(sys.argv[1], "slow.py").write_text("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(0.1)")
sys.path.insert(0, sys.argv[1])
send = signal.pthread_kill
def send_late(*what):
    time.sleep(0.3)  # as on a busy host
    send(*what)
signal.pthread_kill = send_late
interrupts.raise_keyboard_interrupt()
try:
    import slow
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.6)
    print("cleaned up")
"""


def test_a_late_reminder(tmp_path: Path) -> None:
    """a signal that is sent again, and comes when another one has been heard, does not interrupt what cleans up"""
    done = subprocess.run([sys.executable, "-c", LATE, str(tmp_path)], capture_output=True, text=True, cwd=ROOT,
                          timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cleaned up\n", "")


COMPILATION = """
import os, signal, sys, time
from pathlib import Path
from deploy.cli import main as cli
from deploy.cli.commands.project import cc
class Deaf:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)
def ensure_built(*_):
    deaf = Deaf()
cc.ensure_built, cc.WRAPPER = ensure_built, Path("/bin/echo")
write = sys.stderr.write
def write_slowly(text):
    write(text)
    sys.stderr.flush()
    time.sleep(0.1)  # as on a busy host, between a line and its end
sys.stderr.write = write_slowly
sys.argv[1:] = ["cc", "compiled"]
sys.exit(cli.main_program())
"""


def test_interrupted_compilation() -> None:
    """a signal that nothing could hear just before gcc takes the command's place ends the command, which says so"""
    done = subprocess.run([sys.executable, "-c", COMPILATION], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "skerry: interrupted\n")


INSTALLATION = """
import os, signal, sys, time
from pathlib import Path
from deploy.cli import main as cli
from deploy.setup import build
Path(sys.argv[1], "drawing.py").write_text('from topology import demand; demand.module("no_such_module_of_skerry", "plots")')
sys.path.insert(0, sys.argv[1])
def ensure_built(output, needed):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
    print("installed")
build.ensure_built = ensure_built
def main():
    import drawing
cli.make_app = lambda called: lambda **words: main()
sys.exit(cli.main_program())
"""


def test_interrupted_installation(tmp_path: Path) -> None:
    """Ctrl-C while a package is installed that a module needs: at once, not when the import of the module has ended"""
    done = subprocess.run([sys.executable, "-c", INSTALLATION, str(tmp_path)], capture_output=True, text=True, cwd=ROOT,
                          timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "skerry: interrupted\n")


# Makes images in one process, interrupted at the first line of its own code, then at the second, and so on to the last.
STEPS = """
import signal, sys, time
from pathlib import Path
from deploy.base import interrupts
from deploy.machine import image
output, loader, scratch = map(Path, sys.argv[1:])
TRACED = {image.__file__, image.shutil.__file__, image.tempfile.__file__}
interrupts.raise_keyboard_interrupt()
def make(step):
    left, heard, whole = step, False, False
    def trace(frame, event, value):
        nonlocal left, whole
        if frame.f_code.co_filename in TRACED:
            left -= 1
            if left == 0:
                sys.settrace(None)
                whole = (frame.f_code.co_name, event) == ("make_iso", "return")
                signal.raise_signal(signal.SIGINT)
            return trace
    sys.settrace(trace)
    try:
        image.make_iso(output, {"map": bytes(9)}, loader)
        whole = True
        while left <= 0:
            time.sleep(0.001)
    except KeyboardInterrupt:
        heard = True
    sys.settrace(None)
    assert output.exists() == whole, f"step {step}: image there: {output.exists()}"
    assert not list(scratch.iterdir()), f"step {step}: {list(scratch.rglob('*'))}"
    output.unlink(missing_ok=True)
    return heard
steps = 1
while make(steps):
    steps += 1
print(steps)
"""
QUICK = """#!/bin/sh
for word; do case $previous in -o) echo image > "$word";; esac; previous=$word; done
"""


@pytest.mark.limit(240)
def test_interrupted_steps(tmp_path: Path) -> None:
    """Ctrl-C at each line that makes an image or removes its folder: image and folder are whole or gone"""
    tool, scratch = tmp_path / "bin" / "grub-mkrescue", tmp_path / "scratch"
    for folder in (tool.parent, scratch):
        folder.mkdir()
    tool.write_text(QUICK)
    tool.chmod(0o755)
    environment = {**os.environ, "TMPDIR": str(scratch), "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", STEPS, str(tmp_path / "x.iso"), str(loader(tmp_path)), str(scratch)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and int(done.stdout) > 100, done.stderr


@pytest.mark.limit(240)
def test_interrupted_image(tmp_path: Path) -> None:
    """Ctrl-C while an image is written: status 130, and neither a part of the image nor a folder of GRUB's is left"""
    chance = random.Random(7)
    for _ in range(8):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        command = [sys.executable, "-c", MAKE, str(tmp_path / "x.iso"), str(loader(tmp_path)), "2"]
        environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while process.poll() is None and not any(path.name.startswith("grub.") for path in walked(scratch)):
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.3))
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        errors = process.communicate()[1]
        assert process.returncode in (0, 130) and "Traceback" not in errors, errors
        assert list(scratch.iterdir()) == []
        if (tmp_path / "x.iso").exists():  # the signal came after the last byte
            assert image.read_iso(tmp_path / "x.iso", "map") == [bytes(2 << 20)]
        (tmp_path / "x.iso").unlink(missing_ok=True)
        shutil.rmtree(scratch)


def walked(folder: Path) -> list[Path]:
    """Returns the folders below one whose files come and go."""
    return [Path(name) for name, *_ in os.walk(folder)]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    """a command runs without the streams that its caller has closed"""
    script = f"exec '{sys.executable}' -B -m deploy.cli.main topology {closed}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert ("cluster 0" in done.stdout) == (" >&-" not in f" {closed}")
