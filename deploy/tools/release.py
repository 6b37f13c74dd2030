# SPDX-License-Identifier: BSD-2-Clause
"""Makes a release: bootable images, the SDK for programs, the sources, the manual page, checksums."""

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deploy import deployment
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from deploy.base.version import version
from deploy.deployment import modules
from deploy.deployment.planner import Plan, plan
from deploy.machine import image
from deploy.results import serial_log

LAYOUTS = ("per-socket", "spanning")
DEPLOYMENT = ROOT / "deploy" / "deployments" / "redis.toml"
HEADERS = {"libc": ROOT / "apps/libc/include", "lib": ROOT / "lib/include", "kernel": ROOT / "cluster-kernel/include"}
OBJECTS = (BUILD / "net/skerry-layer.o", BUILD / "apps/libc/skerry-layer-alone.o",
           BUILD / "apps/libc/skerry-for-linux.o", BUILD / "net/skerry-layer-cores.o",
           BUILD / "apps/libc/skerry-layer-alone-cores.o", BUILD / "apps/libc/skerry-layer-alone-processes.o")
LICENCES = {"musl": THIRD_PARTY / "musl/COPYRIGHT", "lwip": THIRD_PARTY / "lwip/COPYING",
            "redis": THIRD_PARTY / "redis/COPYING", "skerry": ROOT / "LICENSE"}
WRAPPER, SPECS = ROOT / "apps/libc/skerry-cc.in", ROOT / "apps/libc/skerry-cc.specs"
SUMS = "SHA256SUMS"


def epoch() -> int:
    """Seconds: of the commit, so that a release made again is the same; of now, without git."""
    done = _git("log", "-1", "--format=%ct")
    return int(done) if done else int(time.time())


def is_changed() -> bool:
    """The tree is not what the commit says."""
    return bool(_git("status", "--porcelain", "--untracked-files=no"))


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(ROOT), *words], capture_output=True,
                              text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def plans() -> dict[str, Plan]:
    """Maps the name of each image to its plan."""
    deployed = deployment.read(DEPLOYMENT)
    return {f"skerry-{version()}-redis-{layout}.iso": plan(deployed.with_clusters(layout, None)) for layout in LAYOUTS}


def make(folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Everything, into a folder that is there and empty."""
    at = epoch()
    with _dated(at):
        for name, what in plans().items():
            step(f"writing {name}")
            files = image.contents(what.cluster_map, own=what.own)
            image.make_iso(folder / name, files, modules.loader(), what.name, "", serial_log.notes(what))
    step("packing the SDK")
    (folder / f"skerry-sdk-{version()}-x86_64.tar.gz").write_bytes(sdk(at))
    if sources := source_archive():
        (folder / f"skerry-{version()}.tar.gz").write_bytes(gzip.compress(sources, mtime=at))
    (folder / "CITATION.cff").write_text(citation(at))
    made = sorted(path for path in folder.iterdir() if path.name != SUMS)
    (folder / SUMS).write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                                       for path in made))
    return [*made, folder / SUMS]


@contextmanager
def _dated(at: int) -> Iterator[None]:
    """Sets the date for programs that write file systems."""
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = before or str(at)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SOURCE_DATE_EPOCH"]


def source_archive() -> bytes:
    """Returns an archive of the commit; empty without git."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "archive", f"--prefix=skerry-{version()}/", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True)
    except FileNotFoundError:
        return b""
    return done.stdout if done.returncode == 0 else b""


def citation(at: int) -> str:
    """CITATION.cff with what only a release knows."""
    day = time.strftime("%Y-%m-%d", time.gmtime(at))
    return (ROOT / "CITATION.cff").read_text().replace("license:",
                                                       f"version: {version()}\ndate-released: {day}\nlicense:", 1)


def wrapper() -> str:
    """skerry-cc of a folder that may lie anywhere."""
    values = {
        "SYSROOT": "$here/sysroot", "INCLUDE": "$here/include/libc", "LIB_INCLUDE": "$here/include/lib",
        "KERNEL_INCLUDE": "$here/include/kernel",
        "GCC": "gcc", "SPECS": "$here/lib/skerry-cc.specs", "LAYER": "$here/lib/skerry-layer",
        "ALONE": "$here/lib/skerry-layer-alone",
        "LINUX": "$here/lib/skerry-for-linux", "OPENMP": "$here/openmp", "CPLUSPLUS": "$here/c++",
    }  # fmt: skip
    text = re.sub(r"'@(\w+)@(/?[\w/]*)'", lambda place: f'"{values[place[1]]}{place[2]}"', WRAPPER.read_text())
    if left := re.search(r"@\w+@", text):
        raise Failure(f"{WRAPPER}: {left[0]} is not between single quotes")
    here = "here=$(CDPATH='' cd -- \"$(dirname -- \"$(readlink -f -- \"$0\")\")/..\" && pwd)\n"
    return text.replace("sysroot=", f"{here}sysroot=", 1)


def sdk(at: int) -> bytes:
    """A tar archive: compiler wrapper, libraries, headers, examples, the page on programs, licences."""
    with tempfile.TemporaryDirectory(prefix="skerry-sdk-") as scratch:
        top = Path(scratch) / f"skerry-sdk-{version()}"
        (top / "lib").mkdir(parents=True)
        (top / "bin").mkdir()
        shutil.copytree(BUILD / "apps/libc/sysroot", top / "sysroot")
        for name, folder in HEADERS.items():
            shutil.copytree(folder, top / "include" / name)
        for made in (*OBJECTS, SPECS):
            shutil.copy(made, top / "lib")
        _strip([*(top / "lib").glob("*.o"), *(top / "sysroot/lib").glob("*.[ao]")])
        (top / "bin/skerry-cc").write_text(wrapper())
        (top / "bin/skerry-cc").chmod(0o755)
        shutil.copytree(ROOT / "examples", top / "examples", ignore=shutil.ignore_patterns("*.elf"))
        (top / "licences").mkdir()
        for name, path in LICENCES.items():
            shutil.copy(path, top / "licences" / name)
        shutil.copy(ROOT / "apps/libc/sdk.md", top / "README.md")
        (top / "docs").mkdir()
        shutil.copy(ROOT / "docs/own-program.md", top / "docs")
        return packed(top, at)


def _strip(paths: Iterable[Path]) -> None:
    """Strips debug information, which names folders of this machine."""
    for path in paths:
        subprocess.run(["strip", "--strip-debug", "--enable-deterministic-archives", str(path)], check=True,
                       capture_output=True)


def packed(top: Path, at: int) -> bytes:
    """Packs files into the same bytes for the same files, whoever packs them, and when."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in [top, *sorted(top.rglob("*"))]:
            entry = archive.gettarinfo(str(path), path.relative_to(top.parent).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = at
            entry.mode = 0o755 if path.is_dir() or entry.mode & 0o100 else 0o644
            if path.is_file():
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    return gzip.compress(raw.getvalue(), mtime=at)


def sums(folder: Path) -> Mapping[str, str]:
    """Returns the digests of SHA256SUMS, by name."""
    return {name: digest for digest, name in (line.split("  ", 1) for line in (folder / SUMS).read_text().splitlines())}
