# SPDX-License-Identifier: BSD-2-Clause
"""A deployment with a domain for each cluster under a real libvirtd."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from deploy.base.readiness import first_pong
from tests.boot.libvirtd import Libvirtd, private_libvirtd
from tests.boot.test_libvirt import MACHINE, SKERRY, User, wait_until

pytestmark = pytest.mark.drawn

# The instance of the second cluster is reached through the channel: network card and switch are in the first.
DEPLOYMENT = f"""{MACHINE}
statistics = true
[redis]
cpus = [0, 1]
heap = "32M"
"""
RESTARTS = DEPLOYMENT.replace("[clusters]", '[clusters]\nrestart = "on-failure"\nrestart-delay = 0')


def shared_memory(name: str) -> list[Path]:
    return sorted(Path("/dev/shm").glob(f"skerry-{name}-*"))


@pytest.fixture
def libvirtd() -> Iterator[Libvirtd]:
    with private_libvirtd() as daemon:
        yield daemon


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
def test_life(libvirtd: Libvirtd, name: str, tmp_path: Path) -> None:
    """libvirt: a domain for each cluster: deployed, one killed and brought back alone, and gone without a trace"""
    user = User(libvirtd, tmp_path, name, DEPLOYMENT)
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
