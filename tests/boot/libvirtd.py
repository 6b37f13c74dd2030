# SPDX-License-Identifier: BSD-2-Clause
"""A libvirtd of the tests' own: unprivileged, in a folder of its own, unknown to any other on the machine."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.base.timeouts import Patience, Watch

NOBODY = 65534  # root's libvirtd would be the host's: it has fixed folders
QEMU_CONF = 'security_driver = "none"\nstdio_handler = "file"\nnamespaces = []\ncgroup_controllers = []\n'
START = Patience(60.0)  # it takes one


@dataclass(frozen=True)
class Libvirtd:
    folder: Path

    @property
    def uri(self) -> str:
        return f"qemu:///session?socket={self.folder}/socket/libvirt-sock"

    @property
    def images(self) -> Path:
        return self.folder / "images"

    def environment(self) -> dict[str, str]:
        """Returns the variables that tell this user's libvirt where its files are."""
        places = ("config", "run", "cache", "data")
        kinds = ("CONFIG_HOME", "RUNTIME_DIR", "CACHE_HOME", "DATA_HOME")
        return {f"XDG_{kind}": str(self.folder / place) for kind, place in zip(kinds, places)}

    def emulator(self, domain: str) -> int:
        """The process that a running domain is."""
        return int((self.folder / f"run/libvirt/qemu/run/{domain}.pid").read_text())

    def has_another_emulator(self, domain: str, than: int) -> bool:
        """False, too, while it has none, and while libvirt writes its number."""
        try:
            return self.emulator(domain) != than
        except (FileNotFoundError, ValueError):
            return False

    def files_of(self, word: str) -> list[str]:
        """Whatever has the word in its name or in its text."""
        paths = [path for path in self.folder.rglob("*") if path.name != "daemon.log"]
        inside = [p for p in paths if p.suffix == ".xml" and p.is_file() and word in p.read_text(errors="replace")]
        return sorted({str(path) for path in paths if word in path.name} | {str(path) for path in inside})

    def emulators(self) -> list[int]:
        pids = []
        for path in (self.folder / "run/libvirt/qemu/run").glob("*.pid"):
            number = path.read_text().strip() if path.name != "driver.pid" else ""
            if number.isdecimal():
                pids.append(int(number))
        return pids


def _folder(path: Path) -> None:
    path.mkdir()
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


@contextmanager
def private_libvirtd() -> Iterator[Libvirtd]:
    daemon = Libvirtd(Path(tempfile.mkdtemp(prefix="skerry-libvirtd-")))  # short: a socket's path may have 107 bytes
    daemon.folder.chmod(0o755)
    for name in ("config", "config/libvirt", "run", "cache", "data", "socket", "images"):
        _folder(daemon.folder / name)
    (daemon.folder / "config/libvirt/qemu.conf").write_text(QEMU_CONF)
    (daemon.folder / "libvirtd.conf").write_text(f'unix_sock_dir = "{daemon.folder}/socket"\n')
    other_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    command = [*other_user, "libvirtd", "--config", str(daemon.folder / "libvirtd.conf"), "--pid-file",
               str(daemon.folder / "run/pid")]
    environment = os.environ | daemon.environment() | {"HOME": str(daemon.folder)}
    environment.pop("LISTEN_FDS", None)
    with (daemon.folder / "daemon.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        began, watch = time.monotonic(), Watch(process.pid)
        while not (daemon.folder / "socket/libvirt-sock").exists():
            if process.poll() is not None or watch.overdue("no socket", START, began):
                pytest.fail(f"libvirtd does not start:\n{(daemon.folder / 'daemon.log').read_text()[-2000:]}")
            time.sleep(0.05)
        yield daemon
    finally:
        for pid in daemon.emulators():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(daemon.folder, ignore_errors=True)
