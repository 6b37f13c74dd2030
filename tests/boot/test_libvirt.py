# SPDX-License-Identifier: BSD-2-Clause
"""Deployments under a real libvirtd, as a user has them."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from deploy.base.readiness import first_pong
from deploy.cli.main import main
from tests.boot.libvirtd import Libvirtd, private_libvirtd

pytestmark = pytest.mark.drawn

SKERRY = str(ROOT / "skerry")
MACHINE = """\
shutdown = "never"
[machine]
sockets = 2
cores = 1
memory = "512M"
[clusters]
layout = "per-socket"
lock = "clh"
"""
DEPLOYMENT = f"""{MACHINE}
[redis]
instances = "every-core"
heap = "32M"
"""


@pytest.fixture(scope="module")
def libvirtd() -> Iterator[Libvirtd]:
    with private_libvirtd() as daemon:
        yield daemon


class User:
    """Calls skerry in a folder with a deployment file."""

    def __init__(self, daemon: Libvirtd, folder: Path, name: str, deployment: str = DEPLOYMENT) -> None:
        self.daemon = daemon
        self.folder = folder
        self.name = name
        (folder / f"{name}.toml").write_text(deployment)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | self.daemon.environment() | {"LIBVIRT_DEFAULT_URI": self.daemon.uri}

    @property
    def here(self) -> list[str]:
        return ["--storage", str(self.daemon.images), "--accel", "tcg"]

    def skerry(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([SKERRY, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)  # fmt: skip
        assert done.returncode == status, done.stderr + done.stdout
        return done

    def deploy(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        return self.skerry("deploy", f"{self.name}.toml", *self.here, *words, status=status)

    def result(self, *words: str) -> dict[str, Any]:
        document = json.loads(self.skerry(*words, "--json", "-").stdout)
        assert isinstance(document, dict)
        return document

    def state(self) -> dict[str, Any]:
        deployments = [one for one in self.result("status")["deployments"] if one["name"] == self.name]
        assert len(deployments) == 1, deployments
        return dict(deployments[0])

    def virsh(self, *words: str) -> str:
        done = subprocess.run(["virsh", "--quiet", *words], env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


def address(instances: list[dict[str, str]]) -> tuple[str, int]:
    assert len(instances) == 1
    host, port = instances[0]["address"].split(":")
    return host, int(port)


def assert_pong(instances: list[dict[str, str]]) -> None:
    first_pong(address(instances))


@pytest.mark.limit(240)
def test_life(libvirtd: Libvirtd, tmp_path: Path) -> None:
    """libvirt: deployed, killed, brought back, left alone, replaced, watched, stopped, and gone without a trace"""
    user = User(libvirtd, tmp_path, "life")
    made = user.result("deploy", "life.toml", *user.here)
    assert made["action"] == "created"
    assert_pong(made["instances"])
    state = user.state()
    assert state["state"] == "running" and state["serving"] == ["redis@2"] and state["clusters"] == 2
    if len(os.sched_getaffinity(0)) >= 2 and made["placement"].startswith("pinned"):
        pins = re.findall(r"^ *\d+ +(\S+)$", user.virsh("vcpupin", "skerry-life"), re.MULTILINE)
        assert len(set(pins)) == 2, pins

    os.kill(libvirtd.emulator("skerry-life"), signal.SIGKILL)
    wait_until(lambda: "shut off" in user.virsh("domstate", "skerry-life"))
    assert "killed: its emulator is gone" in user.skerry("status").stdout
    again = user.result("deploy", "life.toml", *user.here)
    assert again["action"] == "started" and again["instances"] == made["instances"], "where it was before"
    assert_pong(again["instances"])

    emulator = libvirtd.emulator("skerry-life")
    assert "nothing has changed" in user.deploy().stdout
    refused = user.deploy("--lock", "ticket", status=1).stderr.strip().splitlines()[-1]
    assert "lock clh -> ticket" in refused and "--replace" in refused
    assert libvirtd.emulator("skerry-life") == emulator, "the machine was left alone"
    assert any("Ready to accept connections" in line for line in user.result("logs")["lines"])

    assert "lock clh -> ticket" in user.deploy("--no-wait", "--lock", "ticket", "--replace").stdout
    assert libvirtd.emulator("skerry-life") != emulator
    watch_console(user)
    kill_cluster(user)
    assert "switched off" in user.skerry("stop", "life").stdout
    stopped = user.state()
    assert (stopped["state"], stopped["lock"]) == ("stopped", "ticket")
    assert '"why":"the power button was pressed"' in user.skerry("logs", "life", "--events").stdout
    with socket.create_server(address(again["instances"])):
        moved = user.result("deploy", "life.toml", "--lock", "ticket", *user.here)
        assert moved["action"] == "started" and moved["instances"] != again["instances"], "its port was taken meanwhile"
        assert_pong(moved["instances"])
    assert "is gone" in user.skerry("undeploy", "life").stdout
    assert "skerry-life" not in user.virsh("list", "--all", "--name") + user.virsh("pool-list", "--all", "--name")
    assert libvirtd.files_of("skerry-life") == []
    assert libvirtd.emulators() == []


def wait_until(condition: Callable[[], bool]) -> None:
    """The test's own limit, which is not of the host's clock, ends it."""
    while not condition():
        time.sleep(0.1)


def watch_console(user: User) -> None:
    """Attached before the machine goes on, so that it says something."""
    user.virsh("suspend", "skerry-life")
    us, them = pty.openpty()
    process = subprocess.Popen(
        [SKERRY, "console"], env=user.environment, stdin=them, stdout=them, stderr=them, start_new_session=True
    )
    os.close(them)
    try:
        read_until(us, b"Ctrl-] leaves")
        user.virsh("resume", "skerry-life")
        read_until(us, b"redis@2")
        os.write(us, b"\x1d")
        assert process.wait() == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(us)


def kill_cluster(user: User) -> None:
    """Kills a domain's cluster through libvirt; the other cluster goes on."""
    printed = user.skerry("kill", "life", "--connect", user.daemon.uri, "--cluster", "1", "--how", "panic").stdout
    assert "Cluster 1 is lost, the others say after" in " ".join(printed.split()), printed
    assert "panicked" in user.skerry("status").stdout
    again = user.skerry("kill", "life", "--connect", user.daemon.uri, "--cluster", "1", status=1).stderr
    assert again.startswith("skerry: cluster 1 is lost already"), again


def read_until(file: int, text: bytes) -> None:
    seen = b""
    while text not in seen:
        if select.select([file], [], [], 0.2)[0]:
            seen += os.read(file, 4096)


@pytest.mark.limit(120)
def test_strangers(libvirtd: Libvirtd, tmp_path: Path) -> None:
    """libvirt: domains and pools of others are not listed and not touched; a deployment that cannot start leaves
    nothing"""
    user = User(libvirtd, tmp_path, "other")
    system = "<os><type arch='x86_64'>hvm</type></os>"
    (tmp_path / "other.xml").write_text(f"<domain "
                                        f"type='qemu'><name>skerry-other</name><memory>1024</memory>{system}</domain>")
    user.virsh("define", str(tmp_path / "other.xml"))
    before = user.virsh("dumpxml", "skerry-other")
    assert "is not Skerry's" in user.deploy(status=1).stderr
    assert user.result("status")["deployments"] == []
    assert "other" in user.skerry("undeploy", "other", status=2).stderr
    assert user.virsh("dumpxml", "skerry-other") == before
    user.virsh("undefine", "skerry-other")
    (libvirtd.images / "theirs").mkdir()
    (libvirtd.images / "theirs/disk.img").write_text("theirs")
    user.virsh("pool-create-as", "skerry-other", "dir", "--target", str(libvirtd.images / "theirs"))
    assert "is not Skerry's" in user.deploy(status=1).stderr
    assert (libvirtd.images / "theirs/disk.img").exists()
    user.virsh("pool-destroy", "skerry-other")
    failed = user.deploy("--bridge", "nobridge0", status=1).stderr.strip().splitlines()[-1]
    assert "does not start" in failed
    assert libvirtd.files_of("skerry-other") == []


def test_no_connection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """libvirt: a connection that cannot be is one line with its URI"""
    for uri, status in ((Libvirtd(tmp_path).uri, 1), ("test:///default", 2), ("nonsense", 2)):
        assert main(["status", "--connect", uri]) == status
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1 and uri in lines[0], lines
