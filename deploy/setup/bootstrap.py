# SPDX-License-Identifier: BSD-2-Clause
"""Makes the virtual environment build/venv and continues in it. Standard library only.

The environment is made anew when the pinned requirements or the Python below it change; otherwise this costs
one hash of a small file.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
VENV = ROOT / "build" / "venv"
STAMP = VENV / "skerry-stamp"
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


def run_logged(command: list[str]) -> bool:
    with LOG.open("a") as log:
        print("$", *command, file=log, flush=True)
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode == 0


def make_venv() -> bool:
    """One of several commands makes it, the others wait."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with (LOG.parent / "venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return is_ready() or make_venv_alone()


def make_venv_alone() -> bool:
    LOG.write_text("")
    shutil.rmtree(VENV, ignore_errors=True)
    if not run_logged([sys.executable, "-m", "venv", str(VENV)]):
        return False
    install = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", str(REQUIREMENTS)]
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(5 * attempt)
        if run_logged(install):
            STAMP.write_text(wanted_stamp())
            return True
    return False


def what_went_wrong() -> str:
    """pip's last word, or what it says broke the connection, which its last word does not tell."""
    text = LOG.read_text()
    broken = re.search(r"after connection broken by '(.*)': /", text)
    lines = text.strip().splitlines()
    return broken[1] if broken else lines[-1] if lines else "no output"


def main() -> int:
    if not is_ready():
        if not {"--quiet", "-q"} & set(sys.argv[1:]):
            print("skerry: setting up the Python tools in build/venv (half a minute, once)", file=sys.stderr)
        if not make_venv():
            print(f"skerry: Python tools not installed: {what_went_wrong()} (all of it: {LOG})", file=sys.stderr)
            return 1
    python = VENV / "bin" / "python"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "pycache"),  # keeps the source tree clean
    }
    environment.pop("PYTHONHOME", None)
    os.execve(python, [str(python), "-m", "deploy.cli", *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
