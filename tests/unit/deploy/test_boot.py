# SPDX-License-Identifier: BSD-2-Clause
"""Images and QEMU with files that are no kernels; and what is reported to serve where."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base import elf
from deploy.base.errors import Failure
from deploy.base.timeouts import Patience, _stat
from deploy.deployment import Deployment, Redis, modules
from deploy.deployment.planner import plan
from deploy.domains import deploy as domains
from deploy.domains.deployed import State
from deploy.machine import image, listeners as module, monitor, qemu, run as boots, run_folder
from deploy.machine.events import Event
from deploy.machine.listeners import Announcer, Listener, Service, serves_at, serving
from deploy.machine.qemu import INSIDE, Forward
from deploy.machine.run import Options, boot
from tests.unit.deploy.executables import executable
from topology.errors import InputError
from topology.machines.machine import Shape
from topology.units import GIB

# ---- Images and QEMU, with files that are no kernels: GRUB starts, refuses the loader, and the machine hangs. ----


ELF = executable()


def test_an_older_program_in_the_place_of_a_newer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what boots is the file that is there, whichever of two is older; one that stays is stripped once"""
    (tmp_path / "strip").write_text("#!/bin/sh\necho >>$0.called; cp $3 $2\n")
    (tmp_path / "strip").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    own = tmp_path / "own.elf"
    for text, age in (("second", 2000), ("first", 1000), ("first", 1000)):
        own.write_text(text)
        os.utime(own, (age, age))
        assert image._stripped(own, tmp_path / "build") == text.encode()
    assert (tmp_path / "strip.called").read_text() == "\n\n"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build directory whose every image is an executable of one page."""
    for name in ("root", "switch", "virtio-net", "redis-server", "ycsb", "kernel-clh", "kernel-clh+stat"):
        path = modules.module_path(name, tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(executable(elf.KERNEL_LOW) if name.startswith("kernel-") else ELF)
    loader = tmp_path / modules.LOADER
    loader.parent.mkdir(parents=True, exist_ok=True)
    loader.write_bytes(ELF)
    monkeypatch.setattr(image, "_stripped", lambda path, build: path.read_bytes())
    monkeypatch.setattr(boots, "LOGS", tmp_path / "log")
    return tmp_path


def test_every_module_of_the_map_is_in_the_image(build: Path) -> None:
    files = image.contents(plan(Deployment(redis=Redis())).cluster_map, build)
    assert list(files) == ["map", "kernel-clh", "root", "switch", "virtio-net", "redis-server"]
    assert files["map"][:4] == b"\xd0\x0d\xfe\xed"
    config = image.grub_config(files, "t")
    assert "multiboot2 /boot/loader" in config and "module2 /boot/kernel-clh kernel-clh" in config


def test_all_that_failed(build: Path) -> None:
    """why a machine failed names all that failed, once each, without what was started again"""
    run = boot(plan(Deployment(redis=Redis())), Options(qemu.tcg_for(2), build=build))
    first, second, *_ = [app.name for app in run.plan.cluster_map.applications if app.program == "redis-server"]
    ends = [{"event": "exit", "app": first, "status": 2}, {"event": "exit", "app": second, "status": 4},
            {"event": "restart", "app": second}]
    ends += [{"event": "exit", "app": second, "status": 1}, {"event": "exit", "app": first, "status": 2}]
    ends += [{"event": "fault", "app": second, "cause": "page fault", "rip": 0},
             {"event": "done", "status": 1, "why": "all have ended"}]
    run.events.events = [Event(str(one["event"]), one) for one in ends]
    run.status = qemu.EXIT_FAILURE
    why = run.reason()
    run.close()
    words = [f"{second} was killed: page fault, at instruction 0x0", f"{first} ended with status 2",
             f"{second} ended with status 1"]
    assert why == f"the machine failed: {'; '.join(words)}"


def test_missing_and_unknown_images_name_their_user(build: Path) -> None:
    with pytest.raises(InputError, match=r"cluster@0: kernel-none: its image .* is missing"):
        image.contents(plan(Deployment(lock="none", shape=Shape(2, 1, GIB))).cluster_map, build)
    modules.module_path("root", build).write_bytes(b"#!/bin/sh\n")
    with pytest.raises(InputError, match="not an ELF64"):
        image.contents(plan(Deployment()).cluster_map, build)


def test_cpio_unpacks_to_what_went_in(tmp_path: Path) -> None:
    files = {"map": b"abc", "kernel-clh+stat": b"x" * 4097, "empty": b""}
    (tmp_path / "a.cpio").write_bytes(image.cpio(files))
    subprocess.run(["cpio", "-i", "--quiet", "-F", "a.cpio"], cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


def test_iso_boots_by_bios_and_uefi(tmp_path: Path) -> None:
    (tmp_path / "loader").write_bytes(ELF)
    image.make_iso(tmp_path / "x.iso", {"map": b"abc"}, tmp_path / "loader")
    report = subprocess.run(
        ["xorriso", "-indev", tmp_path / "x.iso", "-report_el_torito", "plain", "-find", "/boot", "-type", "f"],
        capture_output=True,
        text=True,
    ).stdout
    assert "BIOS" in report and "UEFI" in report and "/boot/map" in report


def test_machine_arguments() -> None:
    command = " ".join(qemu.topology_arguments(Shape(2, 3)))
    assert "-smp cpus=6,sockets=2,cores=3,threads=1 -m 2048M" in command
    assert "node,nodeid=1,memdev=memory1 -numa cpu,node-id=1,socket-id=1" in command
    assert "dist,src=0,dst=1,val=21" in command


def test_a_machine_that_hangs_is_stopped_and_its_registers_kept(build: Path) -> None:
    options = Options(qemu.TCG_TURNS, patience=Patience(4), build=build)
    with pytest.raises(Failure, match=r"hang: not done, and nothing moved for \d+ s \(last: the console, .*--timeout.* "
                       r"\(log: .*\.log\)"):
        with boot(plan(Deployment(redis=Redis())), options) as run:
            pid, directory = run.pid, run.directory
            run.wait_done()
    assert not Path(f"/proc/{pid}").exists()
    assert not directory.exists()
    log = next((build / "log").glob("*.log")).read_text()
    assert len(re.findall(r"\b[ER]IP=", log)) == 4
    assert "===== console =====" in log and "multiboot" in log


def test_a_limit_of_time_is_the_users(build: Path) -> None:
    options = Options(qemu.TCG_TURNS, patience=Patience(0.1, limit=2), build=build)
    with pytest.raises(Failure, match=r"not done within 2 s, the limit of --timeout \(last: "):
        with boot(plan(Deployment(redis=Redis())), options) as run:
            run.wait_done()


def test_a_full_disk_and_what_failed_are_said(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMU drops what a full disk does not take: whatever fails then may be for that; and there is no room for a log"""
    def write(path: Path, text: str) -> None:
        if path.suffix == ".log":
            raise Failure(f"cannot write {path.name}: no space left on device")
        path.write_text(text)

    monkeypatch.setattr(run_folder, "free", lambda folder: run_folder.LEAST - 1)
    monkeypatch.setattr(boots, "write_text", write)
    lost = f"no space left in {tempfile.gettempdir()}, so that some of what the machine wrote is lost"
    with pytest.raises(Failure, match=rf"^not done within 1 s, .*; {lost} \(without a log: cannot write .*: no space "
                       rf"left on device\)$"):
        with boot(plan(Deployment(redis=Redis())),
                  Options(qemu.TCG_TURNS, patience=Patience(1, limit=1), build=build)) as run:
            run.wait_done()


@pytest.mark.parametrize("least, fails", [(run_folder.LEAST - 1, True), (run_folder.LEAST, False), (None, False)])
def test_a_success_on_a_full_disk_is_none(least: int | None, fails: bool, build: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    """some of what the machine reports is missing, even where there is room again at its end"""
    run = boot(plan(Deployment(redis=Redis())), Options(qemu.tcg_for(2), build=build))
    left, ends = [least, 1 << 30], [None, None, qemu.EXIT_SUCCESS]
    monkeypatch.setattr(run_folder, "free", lambda folder: left.pop(0))
    for path in (run.command.console, run.command.events):
        path.touch()
    run._process = SimpleNamespace(poll=lambda: ends.pop(0))  # type: ignore[assignment]
    run.poll()
    with pytest.raises(Failure, match="^no space left in .*is lost$") if fails else nullcontext():
        run.poll()
    run._process = None
    run.close()


def test_refused_arguments_of_qemu_are_said(build: Path) -> None:
    options = Options(qemu.TCG_TURNS, build=build, extra=("-nonsense",))
    with pytest.raises(Failure, match="^QEMU ended with status 1: .*nonsense"):
        with boot(plan(Deployment(redis=Redis())), options):
            pass


def test_qemu_that_dies_before_the_machine_starts(monkeypatch: pytest.MonkeyPatch, build: Path) -> None:
    """a QEMU that is killed once it has greeted: one line says by which signal"""
    is_up = monitor.is_up

    def killed(path: Path) -> bool:
        up = is_up(path)
        if up:
            assert run._process
            os.kill(run._process.pid, signal.SIGKILL)
        return up

    monkeypatch.setattr(monitor, "is_up", killed)
    waits = replace(qemu.TCG_TURNS, arguments=(*qemu.TCG_TURNS.arguments, "-S"))
    run = boot(plan(Deployment(redis=Redis())), Options(waits, build=build))
    with pytest.raises(Failure, match="^QEMU was ended by SIGKILL"):
        with run:
            pass


def test_host_ports_are_open_and_different(build: Path) -> None:
    with boot(plan(Deployment(redis=Redis())), Options(qemu.TCG_TURNS, build=build)) as run:
        ports = {f.host_port for f in run.forwards}
        assert len(ports) == 3
        assert run.address("redis@2")[0] == "127.0.0.1"
        listening = Path("/proc/net/tcp").read_text()
        assert all(f"0100007F:{port:04X}" in listening for port in ports)


def test_a_port_that_is_taken_after_it_was_chosen_is_replaced(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose, chosen = boots.choose_ports, []
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]

        def lose_the_first(forwards: Sequence[qemu.Forward]) -> None:
            choose(forwards)
            if not chosen:
                forwards[0].host_port = taken
            chosen.append(forwards[0].host_port)

        monkeypatch.setattr(boots, "choose_ports", lose_the_first)
        with boot(plan(Deployment(redis=Redis())), Options(qemu.TCG_TURNS, build=build)) as run:
            assert run.running and run.forwards[0].host_port == chosen[1]
    assert chosen[0] == taken and len(chosen) == 2


PARENT = """
import sys, time
from pathlib import Path
from deploy.base import process
child = process.start(["sleep", "60"], Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_children_die_with_their_parent(tmp_path: Path, by: int) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path / "log")], stdout=subprocess.PIPE,
                          text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        os.kill(parent.pid, by)
        parent.wait()
    for _ in range(1000):
        stat = _stat(child)
        if not stat or stat[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")


def test_directories_of_killed_runs_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what killed runs have left goes; what processes of another namespace have, which cannot be seen from here,
    stays"""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    first = run_folder.private_directory()
    here = first.name.split("-")[3]
    names = (f"{os.getpid()}-{here}-a", f"{gone.pid}-{here}-b", f"{gone.pid}-1{here}-b", f"notes-{here}-c")
    ours, theirs, elsewhere, other = directories = [tmp_path / f"skerry-run-{name}" for name in names]
    for directory in directories:
        directory.mkdir()
    made = run_folder.private_directory()
    assert made.parent == tmp_path and made != first and made.name.startswith(f"skerry-run-{os.getpid()}-{here}-")
    assert first.exists() and ours.exists() and elsewhere.exists() and other.exists() and not theirs.exists()


# ---- Tests what is reported to serve where: only what listens at the port that the deployment leads to. ----


WEB = Forward("web@3", "10.0.2.151", 8080, 41001)


def event(kind: str, app: str = "web@3", **data: object) -> Event:
    return Event(kind, {"event": kind, "app": app, "cluster": 1} | data)


def listens(*ports: int) -> list[Event]:
    first, *rest = [event("listening", port=port) for port in ports]
    return [event("started"), first, event("serving"), *rest]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock of its own; what is called lets seconds go by."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    return lambda seconds: setattr(clock, "now", clock.now + seconds)


def ports(*events: Event) -> dict[str, list[int]]:
    return {app: [listener.port for listener in one.at] for app, one in serving(events).items()}


def test_ports() -> None:
    """a program's ports are known until it ends, or its cluster is lost; one that says itself that it serves has
    none"""
    assert ports(*listens(8080, 443)) == {"web@3": [8080, 443]}
    assert ports(event("serving")) == {"web@3": []}
    assert ports(event("listening", port=80)) == {}
    assert ports(*listens(80), event("exit", status=0)) == {} == ports(*listens(80),
                                                                       Event("cluster-lost", {"cluster": 1}))
    assert ports(*listens(80), event("fault"), event("restart"), *listens(81)) == {"web@3": [81]}
    assert all(serves_at(Service(True, [Listener(port) for port in at]), 80) for at in ((), (81, 80)))
    assert not serves_at(Service(True, [Listener(81)]), 80) and not serves_at(Service(False, []),
                                                                              80) and not serves_at(None, 80)


def test_loopback(later: Any) -> None:
    """a listener on the program's own loopback interface serves nobody, and is named with its address; another one
    beside it serves"""
    inside = event("listening", port=8080, address="127.0.0.1")
    lines: list[str] = []
    announcer = Announcer([WEB], lines.append)
    announcer.look([inside])
    assert not announcer.complete and not announcer.is_settled()
    later(module.GRACE)
    announcer.say()
    why = (
        "web@3 listens at 127.0.0.1 port 8080, its own loopback interface, to which 127.0.0.1:41001 does not lead; let "
        "it listen at 0.0.0.0"
    )
    assert lines == [why] == announcer.wrong() and announcer.is_settled()
    announcer.look([inside, event("listening", port=8080, address="10.0.2.151"), event("serving")])
    announcer.say()
    assert lines[1:] == ["web@3 serves at 127.0.0.1:41001"] and announcer.complete
    assert serves_at(serving([inside, event("serving")])["web@3"], 8080), "it says itself that it serves"


def test_serves_and_ends_between_two_looks(later: Any) -> None:
    """a program that serves and ends before anybody looks has served"""
    announcer = Announcer([WEB], lambda line: None)
    announcer.look([*listens(8080), event("exit", status=0)])
    assert announcer.complete and not announcer.waiting()


def test_says_where(later: Any) -> None:
    """each port that is served is said once, also the second one of a program"""
    lines: list[str] = []
    announcer = Announcer([WEB, Forward("web@3", "10.0.2.151", 443, INSIDE)], lines.append)
    events = listens(8080)
    announcer.look(events)
    announcer.say()
    assert lines == ["web@3 serves at 127.0.0.1:41001"] and announcer.done == 1 and announcer.waiting() == {"web@3"}
    announcer.look([*events, event("listening", port=443)])
    announcer.say()
    assert lines[1:] == ["web@3 serves at 10.0.2.151:443, in the "
                         "machine only"] and announcer.complete and announcer.is_settled()


def test_listens_elsewhere(later: Any) -> None:
    """a program that listens at another port does not serve: a line names it and both ports, after a while"""
    lines: list[str] = []
    announcer = Announcer([WEB], lines.append)
    announcer.look([event("started")])
    later(60)
    assert not announcer.is_settled(), "it does not listen at all"
    announcer.look(listens(9090))
    announcer.say()
    assert lines == [] and not announcer.is_settled(), "the other port may follow"
    later(module.GRACE)
    announcer.say()
    announcer.say()
    assert lines == ["web@3 listens at port 9090, not at the deployment's port 8080, to which 127.0.0.1:41001 leads"]
    assert announcer.is_settled() and not announcer.complete and announcer.wrong() == lines
    announcer.look([*listens(9090), event("listening", port=8080)])
    announcer.say()
    assert lines[1:] == ["web@3 serves at 127.0.0.1:41001"] and announcer.complete


def wait(events: list[Event], word: str = "running") -> bool:
    deployed = SimpleNamespace(name="test", record=SimpleNamespace(forwards=[WEB]), events=lambda: events,
                               state=lambda: State(word))
    cluster = SimpleNamespace(number=1, cpus=[7], restart=False)
    app = SimpleNamespace(name="web@3", cpu=7, restart="never", ends_the_run=True, barrier=1)
    what = SimpleNamespace(application=lambda name: app,
                           cluster_map=SimpleNamespace(clusters=[cluster], applications=[app]))
    done = domains.Done(deployed, "created", "", None)  # type: ignore[arg-type]
    return domains.wait_ready(done, what, Patience(0.0, 0.0), lambda **what: None)  # type: ignore[arg-type]


def test_deploy_waits() -> None:
    """deploy is ready when each port is served; a program that listens elsewhere, or has ended, is named"""
    boot = event("boot")
    assert wait([boot, *listens(8080)]) and not wait([boot, *listens(8080)], "done")
    with pytest.raises(Failure, match="^web@3 listens at ports 9090, 9091, not at the deployment's port 8080, to which "
                       "127.0.0.1:41001 leads within"):
        wait([boot, *listens(9090, 9091)])
    with pytest.raises(Failure, match="^web@3 listens at 127.0.0.1 port 8080, its own loopback interface, to which "
                       "127.0.0.1:41001 does not lead; "):
        wait([boot, event("started"), event("listening", port=8080, address="127.0.0.1")])
    with pytest.raises(Failure, match="^web@3 not up within"):
        wait([boot, event("started")])
    with pytest.raises(Failure, match="^web@3 ended with status 3, before it served; it stays"):
        wait([boot, event("started"), event("exit", status=3)])
    with pytest.raises(Failure, match="^web@3 ended with status 0, before it served; it stays"):
        wait([boot, event("started"), event("exit", status=0)])
