# SPDX-License-Identifier: BSD-2-Clause
"""The guest's initial file system: init, kernel modules, Redis with its libraries, the YCSB client."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from deploy.base.atomic_files import write_bytes
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment.engines import ENGINES, PROGRAMS, REDIS
from deploy.load.linux_guest import kernel
from deploy.machine.cpio import Archive
from deploy.machine.image import DirectBoot

INIT = Path("deploy/load/linux_guest/linux-guest-init")
YCSB = Path("apps/ycsb/ycsb-linux")

# Servers are made from the same sources as those for Skerry, optimised alike (apps/redis/meson.build).


def build_guest(folder: Path = BUILD / "linux-guest", build: Path = BUILD, server: str = REDIS.name) -> DirectBoot:
    """Makes kernel and initial file system in `folder`; they lack only /plan, which each run adds (plan.py)."""
    folder.mkdir(parents=True, exist_ok=True)
    linux = kernel.fetch()
    archive = Archive()
    archive.device("/dev/console", 5, 1)
    archive.file("/init", _program(on_host("/init", build)), executable=True)
    archive.file("/bin/ycsb", _program(on_host("/bin/ycsb", build)), executable=True)
    for module in linux.modules:
        archive.file(f"/modules/{module.name}", module.read_bytes())
    archive.file("/modules/order", "".join(f"{module.name}\n" for module in linux.modules).encode())
    _add_server(archive, f"/bin/{ENGINES[server].program}", build)

    boot = DirectBoot(folder / "vmlinuz", folder / "initrd")
    write_bytes(boot.kernel, linux.image.read_bytes())
    write_bytes(boot.initrd, archive.finish())
    return boot


def on_host(path: str, build: Path = BUILD) -> Path:
    """The file that the guest has at a path: ours, or a library of the host's."""
    servers = {f"/bin/{name}": engine.linux for name, engine in PROGRAMS.items()}
    ours = {"/init": INIT, "/bin/ycsb": YCSB, **servers}
    return build / ours[path] if path in ours else Path(path)


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


def _add_server(archive: Archive, path: str, build: Path) -> None:
    server = on_host(path, build)
    archive.file(path, _program(server), executable=True)
    # "libm.so.6 => /lib/... (0x...)", "/lib64/ld-linux-x86-64.so.2 (0x...)"
    for library in sorted(set(re.findall(r"(/\S+) \(0x", _output("ldd", server)))):
        archive.file(library, Path(library).read_bytes(), executable=True)


def version(server: str) -> str:
    """Returns the version of the binary that goes into the guest."""
    binary = BUILD / ENGINES[server].linux
    text = _output(binary, "--version")
    match = re.search(r" v=(\S+)", text)
    if not match:
        raise Failure(f"{binary} --version says {text.splitlines()[:1]}")
    return match[1]
