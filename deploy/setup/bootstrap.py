# SPDX-License-Identifier: BSD-2-Clause
"""Makes the virtual environment build/venv and continues in it. Standard library only.

The environment is made anew when the pinned requirements or the Python below it change; otherwise this costs
one hash of a small file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from deploy.base import interrupts  # noqa: E402

if __name__ == "__main__":
    interrupts.end_at_once()  # before anything takes long
    if "_SKERRY_COMPLETE" in os.environ:  # a TAB, for which everything does
        from deploy.setup import tab

        if (completed := tab.answer(os.environ["_SKERRY_COMPLETE"])) is not None:
            print(completed, flush=True)
            sys.exit()

# ruff: noqa: E402
import fcntl
import hashlib
import re
import shutil
import subprocess
import time

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
VENV = ROOT / "build" / "venv"
STAMP = VENV / "skerry-stamp"
MARK = "skerry-group-"  # and the name of a group that is installed
HAD = VENV / "skerry-had"
LOG = ROOT / "build" / "log" / "venv.log"
ATTEMPTS = 3


def wanted_stamp() -> str:
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode())
    return f"{digest.hexdigest()} {VENV}\n"  # a moved environment does not work: its scripts name its path


def is_ready() -> bool:
    try:
        return STAMP.read_text() == wanted_stamp()
    except OSError:
        return False


def had() -> set[str]:
    """The groups of packages that this environment has, or had before it was made anew (extensions.py)."""
    named = HAD.read_text().split() if HAD.exists() else []
    return {*named, *(path.name.removeprefix(MARK) for path in VENV.glob(f"{MARK}*"))}


def pip_wheel() -> Path | None:
    """The pip that this Python would copy into an environment (Debian: python3-pip-whl)."""
    import ensurepip

    folders = (Path("/usr/share/python-wheels"), Path(ensurepip.__file__).with_name("_bundled"))
    return next((wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))), None)


def pip_install(*arguments: str) -> list[str]:
    """The command. pip runs from its wheel, because copying it into the environment takes half as long as the rest of
    the set-up; compiled files would not be read, because commands keep theirs in build/pycache."""
    python, wheel = str(VENV / "bin" / "python"), pip_wheel()
    pip = [python, str(wheel / "pip")] if wheel else [python, "-m", "pip"]
    return [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--require-hashes", "--no-deps",
            *arguments]


def start_logged(command: list[str]) -> subprocess.Popen[bytes]:
    LOG.parent.mkdir(parents=True, exist_ok=True)  # an environment may outlive its folder of logs
    from deploy.base.atomic_files import naming  # which takes time that only a set-up has

    with naming(LOG), LOG.open("a") as log:
        print("$", *command, file=log, flush=True)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def run_logged(command: list[str]) -> bool:
    with start_logged(command) as process:
        return process.wait() == 0


def make_venv() -> bool:
    """One of several commands makes it, the others wait."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with (LOG.parent / "venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return is_ready() or make_venv_alone()


def make_venv_alone() -> bool:
    from deploy.base.atomic_files import naming

    LOG.write_text("")
    groups = had()
    shutil.rmtree(VENV, ignore_errors=True)
    if not run_logged([sys.executable, "-m", "venv", *(["--without-pip"] if pip_wheel() else []), str(VENV)]):
        return False
    install = pip_install("--only-binary", ":all:", "--requirement", str(REQUIREMENTS))
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(5 * attempt)
        if run_logged(install):
            for path, text in ((HAD, "".join(f"{group}\n" for group in sorted(groups))), (STAMP, wanted_stamp())):
                with naming(path):
                    path.write_text(text)
            return True
    return False


def what_went_wrong() -> str:
    """pip's last word, or what it says broke the connection, which its last word does not tell."""
    text = LOG.read_text()
    broken = re.search(r"after connection broken by '(.*)': /", text)
    lines = text.strip().splitlines()
    if not broken:
        return lines[-1] if lines else "no output"
    # within the object's name and its address
    why = re.search(r"(?:>: |, ')(?:[^'>]*: )?\[?(?:Errno -?\d+\] )?([^'>]+)'", broken[1])
    return f"no connection to the package index: {why[1]}" if why else broken[1]


def set_up() -> int:
    """The exit status, 0 when the environment is there."""
    if not is_ready():
        if "_SKERRY_COMPLETE" in os.environ:  # nobody waits for that at a TAB
            return 1
        if not {"--quiet", "-q"} & set(sys.argv[1:]):
            print("skerry: setting up the Python tools in build/venv (some ten seconds, once)", file=sys.stderr)
        if not make_venv():
            print(f"skerry: Python tools not installed: {what_went_wrong()} (all of it: {LOG})", file=sys.stderr)
            return 1
    return 0


def main() -> int:
    try:
        try:  # Ctrl-C may be heard in the calls before and behind, too
            interrupts.raise_keyboard_interrupt()
            status = set_up()
        finally:
            interrupts.hold_back()
    except KeyboardInterrupt:
        print("skerry: interrupted", file=sys.stderr)
        return interrupts.STATUS
    except OSError as error:
        what = f"cannot write {error.filename}" if error.filename else "cannot write"
        print(f"skerry: Python tools not installed: {what}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 1
    if status:
        return status
    python = VENV / "bin" / "python"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "pycache"),  # keeps the source tree clean
    }
    environment.pop("PYTHONHOME", None)
    os.execve(python, [str(python), "-m", "deploy.cli.main", *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
