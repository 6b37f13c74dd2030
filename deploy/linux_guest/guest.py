# SPDX-License-Identifier: BSD-2-Clause
"""The guest's initial file system: init, kernel modules, Redis with its libraries, the YCSB client."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from deploy.errors import Failure
from deploy.image import DirectBoot
from deploy.linux_guest import kernel
from deploy.linux_guest.cpio import Archive
from deploy.paths import BUILD

INIT = Path("deploy/linux_guest/linux-guest-init")
YCSB = Path("apps/ycsb/ycsb-linux")

# Debian's redis-server is a link to this file of redis-tools; which program it is, its name decides.
REDIS = Path("/usr/bin/redis-check-rdb")
REDIS_VERSION = "7.0.15"


def build_guest(folder: Path = BUILD / "linux-guest", build: Path = BUILD) -> DirectBoot:
    """Kernel and initial file system in `folder`; they lack only /plan, which each run adds (plan.py)."""
    folder.mkdir(parents=True, exist_ok=True)
    linux = kernel.fetch()
    archive = Archive()
    archive.device("/dev/console", 5, 1)
    archive.file("/init", _program(build / INIT), executable=True)
    archive.file("/bin/ycsb", _program(build / YCSB), executable=True)
    for module in linux.modules:
        archive.file(f"/modules/{module.name}", module.read_bytes())
    archive.file("/modules/order", "".join(f"{module.name}\n" for module in linux.modules).encode())
    _add_redis(archive)

    boot = DirectBoot(folder / "vmlinuz", folder / "initrd")
    shutil.copyfile(linux.image, boot.kernel)
    boot.initrd.write_bytes(archive.finish())
    return boot


def _program(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise Failure(f"{path} is missing; ./skerry build makes it") from None


def _output(*command: str | Path) -> str:
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{command[0]}: {error}") from None


def _add_redis(archive: Archive) -> None:
    if not REDIS.exists():
        raise Failure(f"{REDIS} is missing; install redis-tools")
    archive.file("/bin/redis-server", REDIS.read_bytes(), executable=True)
    # "libm.so.6 => /lib/... (0x...)", "/lib64/ld-linux-x86-64.so.2 (0x...)"
    for library in sorted(set(re.findall(r"(/\S+) \(0x", _output("ldd", REDIS)))):
        archive.file(library, Path(library).read_bytes(), executable=True)


def redis_version() -> str:
    """Of the binary that goes into the guest, asked under the name that makes it a server."""
    done = subprocess.run(["redis-server", "--version"], executable=REDIS, capture_output=True, text=True)
    match = re.search(r" v=(\S+)", done.stdout)
    if not match:
        raise Failure(f"{REDIS} --version says {done.stdout.splitlines()[:1]}")
    return match[1]
