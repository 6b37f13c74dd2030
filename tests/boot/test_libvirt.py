# SPDX-License-Identifier: BSD-2-Clause
"""Deployments under a real libvirtd, one domain or a domain for each cluster."""

import contextlib
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
import redis

from deploy.base.paths import ROOT
from deploy.base.readiness import first_pong
from deploy.cli.main import main
from tests.boot.libvirtd import Libvirtd, private_libvirtd

# ---- Deployments under a real libvirtd, as a user has them. ----


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


# ---- A deployment with a domain for each cluster under a real libvirtd. ----


# The instance of the second cluster is reached through the channel: network card and switch are in the first.
CLUSTERS = f"""{MACHINE}
statistics = true
[redis]
cpus = [0, 1]
heap = "32M"
"""
RESTARTS = CLUSTERS.replace("[clusters]", '[clusters]\nrestart = "on-failure"\nrestart-delay = 0')


def shared_memory(name: str) -> list[Path]:
    return sorted(Path("/dev/shm").glob(f"skerry-{name}-*"))


@pytest.fixture
def name() -> Iterator[str]:
    """Yields a name of no other test that runs now: each has a libvirtd, but a machine has one /dev/shm."""
    name = f"apart{os.getpid()}"
    yield name
    for left in shared_memory(name):
        left.unlink()


def answers(instances: list[dict[str, str]]) -> None:
    assert len(instances) == 2
    for instance in instances:
        host, port = instance["address"].split(":")
        first_pong((host, int(port)))


@pytest.mark.limit(240)
def test_life_of_clusters(libvirtd: Libvirtd, name: str, tmp_path: Path) -> None:
    """libvirt: a domain for each cluster: deployed, one killed and brought back alone, and gone without a trace"""
    user = User(libvirtd, tmp_path, name, CLUSTERS)
    deploy = ("deploy", f"{name}.toml", *user.here, "--per-cluster")
    made = user.result(*deploy)
    assert (made["action"], made["domains"]) == ("created", [f"skerry-{name}-0", f"skerry-{name}-1"])
    answers(made["instances"])
    for domain in made["domains"]:
        places, running = (user.virsh("vcpucount", domain, "--live", which).strip()
                           for which in ("--maximum", "--active"))
        assert (places, running) == ("2", "1"), "with one place an emulator would not lock instructions"
    assert len(shared_memory(name)) == 1
    state = user.state()
    assert state["state"] == "running" and len(state["serving"]) == 2, "the second is reported through the channel"
    look = user.result("top", name, "--connect", libvirtd.uri)
    assert {one["cluster"] for one in look["results"]} == {0, 1}, "read in both domains"
    assert "cluster 1: kernel clh+stat" in user.skerry("logs", name, "--cluster", "1").stdout

    emulators = [libvirtd.emulator(domain) for domain in made["domains"]]
    os.kill(emulators[1], signal.SIGKILL)
    wait_until(lambda: "shut off" in user.virsh("domstate", f"skerry-{name}-1"))
    state = user.state()
    assert [one["state"] for one in state["domains"]] == ["running", "killed"] and state["serving"] == ["redis@2"]
    again = user.skerry(*deploy).stdout
    assert (
        f"skerry-{name}-1 had lost its emulator, which was killed or crashed,: started again alone, the others go on"
        in again
    )
    assert (
        libvirtd.emulator(made["domains"][0]) == emulators[0] and libvirtd.emulator(made["domains"][1]) != emulators[1]
    )
    answers(made["instances"])
    assert len(user.state()["serving"]) == 2 and not user.state()["trouble"]
    assert "nothing has changed" in user.skerry(*deploy).stdout

    assert "is gone" in user.skerry("undeploy", name).stdout
    assert name not in user.virsh("list", "--all", "--name") + user.virsh("pool-list", "--all", "--name")
    assert libvirtd.files_of(f"skerry-{name}") == [] and shared_memory(name) == []
    assert libvirtd.emulators() == []


@contextlib.contextmanager
def watched(user: User, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([SKERRY, *words], cwd=user.folder, env=user.environment, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def restarted(user: User, times: int, cluster: int = 1) -> None:
    """The first domain's events begin anew with it."""
    def count() -> int:
        lines = user.skerry("logs", user.name, "--events").stdout.splitlines()
        return sum('"cluster-restarted"' in line and f'"cluster":{cluster}' in line for line in lines)

    wait_until(lambda: count() >= times)
    wait_until(lambda: len(user.state()["serving"]) == 2)


@pytest.mark.limit(400)
def test_a_watched_deployment_starts_again_what_is_lost(libvirtd: Libvirtd, name: str, tmp_path: Path) -> None:
    """libvirt: a domain for each cluster: destroyed, its kernel panics, the first one's emulator is killed; each comes
    back alone"""
    user = User(libvirtd, tmp_path, name, RESTARTS)
    with watched(user, "deploy", f"{name}.toml", *user.here, "--per-cluster", "--keep") as watcher:
        assert watcher.stdout
        for line in watcher.stdout:
            if line.startswith("Watching"):
                break
        one, two = (f"skerry-{name}-{number}" for number in (0, 1))
        first = libvirtd.emulator(one)
        instances = user.result("deploy", f"{name}.toml", *user.here, "--per-cluster")["instances"]
        host, port = instances[0]["address"].split(":")
        steady = redis.Redis(host=host, port=int(port))
        identity = steady.client_id()
        for times, how in enumerate(("destroy", "panic"), 1):
            before = libvirtd.emulator(two)
            assert "is lost" in user.skerry("kill", name, "--connect", libvirtd.uri, "--cluster", "1", "--how",
                                            how).stdout
            restarted(user, times)
            assert libvirtd.emulator(one) == first and libvirtd.emulator(two) != before
            answers(instances)
        assert steady.client_id() == identity, "its connection lives on"
        survivor = libvirtd.emulator(two)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: libvirtd.has_another_emulator(one, first) and "shut off" not in user.virsh("domstate", one))
        wait_until(lambda: len(user.state()["serving"]) == 2)
        answers(instances)
        assert libvirtd.emulator(two) == survivor
        user.skerry("stop", name)
        text = watcher.stdout.read()
    assert text.count("is started again in 0 s, the others go on") == 3 and text.endswith(f"{name} has ended.\n"), text
    assert f"{two} was lost to the others" in text and f"{one} had lost its emulator" in text
    user.skerry("undeploy", name)
    assert shared_memory(name) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user: run as root")
def test_memory_of_another_user(libvirtd: Libvirtd, name: str, tmp_path: Path) -> None:
    """libvirt: a file of another user in the place of shared memory is no memory of ours, and nothing is left behind"""
    user = User(libvirtd, tmp_path, name)
    theirs = Path(f"/dev/shm/skerry-{name}-channel0")
    theirs.write_text("of root, and libvirtd is not root")
    theirs.chmod(0o666)
    errors = user.deploy("--per-cluster", status=1).stderr
    assert f"{theirs} is another user's" in errors.splitlines()[-1]
    assert libvirtd.files_of(f"skerry-{name}") == [] and theirs.read_text().startswith("of root")
