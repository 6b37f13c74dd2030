# SPDX-License-Identifier: BSD-2-Clause
"""Python packages that only some commands need, put into build/venv when one does; among them one that must be
compiled.

Apart from bootstrap.py, which runs before any compiler is installed.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.terminal import Output
from deploy.setup import bootstrap

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Extension:
    """The packages of requirements-GROUP.txt; with `tools`, sources that are compiled with those of another file."""

    group: str
    what: str
    tools: str = ""

    @property
    def requirements(self) -> Path:
        return HERE / f"requirements-{self.group}.txt"

    @property
    def stamp(self) -> Path:
        return bootstrap.VENV / f"{bootstrap.MARK}{self.group}"  # goes when the environment is made anew

    def wanted_stamp(self) -> str:
        files = [self.requirements, *([HERE / self.tools] if self.tools else [])]
        return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest() + "\n"

    def is_ready(self) -> bool:
        try:
            return self.stamp.read_text() == self.wanted_stamp()
        except OSError:
            return False

    def install(self) -> bool:
        if not self.tools:
            return _pip(*_ready_made(self))
        return _pip("--only-binary", ":all:", "--requirement", str(HERE / self.tools)) and _pip(
            "--no-build-isolation", "--use-pep517", "--requirement", str(self.requirements)
        )

    def set_stamp(self) -> None:
        write_text(self.stamp, self.wanted_stamp())


EXTENSIONS = (
    Extension("plots", "Matplotlib, to draw plots"),
    Extension("science", "SciPy, to fit models to measurements"),
    Extension("dask", "Dask, to run on other hosts"),
    Extension("docs", "mkdocs-material, to make a site of docs/"),
    Extension("test", "pytest, libclang, ruff, mypy and what else tests use"),
    Extension("libvirt", "libvirt's library, compiled, to talk to libvirt", "requirements-compile.txt"),
)


def _ready_made(*extensions: Extension) -> list[str]:
    return ["--only-binary", ":all:",
            *(word for extension in extensions for word in ("--requirement", str(extension.requirements)))]


def _pip(*arguments: str) -> bool:
    if bootstrap.run_logged(bootstrap.pip_install(*arguments)):
        return True
    # An installation that was killed may have left a package without the list of its files, which pip refuses to
    # replace.
    return "RECORD" in bootstrap.what_went_wrong() and bootstrap.run_logged(bootstrap.pip_install("--ignore-installed",
        *arguments))


def is_ours() -> bool:
    """Another environment is its owner's affair."""
    return sys.prefix.startswith(str(bootstrap.VENV))


def missing(groups: Set[str]) -> list[Extension]:
    return [extension for extension in EXTENSIONS if extension.group in groups and not extension.is_ready()]


@contextmanager
def installed_meanwhile(output: Output, groups: Set[str]) -> Iterator[None]:
    """Installs those that need no compiler while the body runs, which uses none of them. The caller has the lock of the
    build.

    What fails here is left to ensure(), which tries it again and says why."""
    needed = [extension for extension in missing(groups | bootstrap.had()) if not extension.tools] if is_ours() else []
    if not needed:
        yield
        return
    output.step(f"Python packages to install: {'; '.join(extension.what for extension in needed)}")
    process = bootstrap.start_logged(bootstrap.pip_install(*_ready_made(*needed)))
    try:
        yield
    except BaseException:
        process.terminate()
        process.wait()
        raise
    with output.progress("Installing Python packages"):
        status = process.wait()
    for extension in needed if status == 0 else ():
        extension.set_stamp()


def ensure(output: Output, groups: Set[str]) -> None:
    """Installs these groups, and those that the environment had before it was made anew. The caller holds the lock of
    the build."""
    for extension in missing(groups | bootstrap.had()) if is_ours() else ():
        with output.progress(f"Python packages to install: {extension.what}"):
            done = extension.install()
        if not done:
            raise Failure(f"Python packages not installed: {bootstrap.what_went_wrong()} (all of it: {bootstrap.LOG})")
        extension.set_stamp()
