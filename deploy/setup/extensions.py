# SPDX-License-Identifier: BSD-2-Clause
"""Python packages that must be compiled: put into build/venv once Debian's headers are there.

Apart from bootstrap.py, which runs before any compiler is installed.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from deploy.errors import Failure
from deploy.output import Output
from deploy.setup import bootstrap

HERE = Path(__file__).parent
TOOLS, SOURCES = HERE / "requirements-compile.txt", HERE / "requirements-source.txt"
STAMP = bootstrap.VENV / "skerry-extensions"  # goes when the environment is made anew


def _wanted_stamp() -> str:
    return hashlib.sha256(TOOLS.read_bytes() + SOURCES.read_bytes()).hexdigest() + "\n"


def _is_ready() -> bool:
    try:
        return STAMP.read_text() == _wanted_stamp()
    except OSError:
        return False


def _install(*arguments: str) -> bool:
    pip = [str(bootstrap.VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return bootstrap.run_logged([*pip, "--require-hashes", "--no-deps", *arguments])


def ensure(output: Output) -> None:
    if _is_ready() or not sys.prefix.startswith(str(bootstrap.VENV)):  # another environment is its owner's affair
        return
    with output.progress("Compiling Python packages"):
        done = _install("--only-binary", ":all:", "--requirement", str(TOOLS)) and _install(
            "--no-build-isolation", "--use-pep517", "--requirement", str(SOURCES)
        )
    if not done:
        raise Failure(f"Python packages not compiled: {bootstrap.what_went_wrong()} (all of it: {bootstrap.LOG})")
    STAMP.write_text(_wanted_stamp())
