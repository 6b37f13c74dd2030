# SPDX-License-Identifier: BSD-2-Clause
"""Tests what a command sets up: the build, Debian's packages and Python's."""

import ast
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Output
from deploy.cli import main
from deploy.deployment import modules, read
from deploy.deployment.engines import ENGINES
from deploy.deployment.planner import plan
from deploy.setup import bootstrap, build, extensions, needs, packages, recipes
from deploy.setup.needs import Needs
from topology import demand
from topology.maps.check import images_of

# ---- Set-up and build on demand: no command installs and builds more than it needs, and none less ----

DEPLOYMENTS = sorted((ROOT / "deploy/deployments").glob("*.toml"))
NOT_FOR_RUNNING = (
    re.compile(
        r"(^|/)(test|tests|model|bench|fuzz|replay)[-/]|kernel-(bench|fuzz|replay|model)|sanitized|\bclang\b|posix-host")
)


def commands(needed: Needs) -> list[str]:
    """Lists what ninja would execute from nothing."""
    targets = [] if needed.targets is None else sorted(needed.targets)
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", *targets], capture_output=True, text=True,
                          check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", DEPLOYMENTS, ids=lambda path: path.stem)
def test_run_builds_its_plan(path: Path) -> None:
    """a run builds the loader and the modules of its map, none of another regime, no test, bench, fuzzer or model:
    under a ninth of all"""
    what = plan(read(path))
    needed = needs.of_map(what.cluster_map, what.own)
    names = images_of(what.cluster_map)
    assert needed.targets is not None
    assert {needs.target(name) for name in names} | {str(modules.LOADER)} <= needed.targets
    steps = commands(needed)
    assert len(steps) * 9 < len(commands(needs.EVERYTHING)), len(steps)
    built = set(re.findall(r"cluster-kernel/kernel-([\w+]+)\.elf\b", "\n".join(steps)))
    assert built == {name.removeprefix("kernel-") for name in names if name.startswith("kernel-")}
    outputs = re.findall(r" -o (\S+)", "\n".join(steps))
    own = {needs.target(name) for name in names}  # a deployment may run one of tests/programs
    assert outputs and not [made for made in outputs if made not in own and NOT_FOR_RUNNING.search(made)]


class Stop(Exception):
    pass


COMMANDS = {
    "run deploy/deployments/redis.toml --lock mcs": needs.kernels(["mcs+stat"], "redis-server", "switch"),
    "run deploy/deployments/redis.toml --machine xeon-e5-2683v3": needs.MODELLED,
    "compare --records 10 --accel tcg": needs.kernels(["clh"], "redis-server", "ycsb", statistics=True)
    | needs.plugin("profile"),
    "compare --records 10 --lock rtm --quick --machine xeon-e5-2683v3": needs.kernels(["rtm+model"], "ycsb")
    | needs.MODELLED | needs.plugin("profile"),
    "compare --records 10 --baseline linux": needs.BESIDE_LINUX,
    "compare --records 10 --server valkey --baseline linux": needs.kernels(["clh"], "valkey-server", "ycsb")
    | needs.beside_linux("valkey"),
    "profile --server valkey --start": needs.kernels(["clh"], "valkey-server"),
    "compare --records 10 --layout per-socket,homed": needs.kernels(["clh", "dynamic"], "ycsb", statistics=True),
    "profile --lock fine": needs.kernels(["fine", "fine+stat"], "redis-server") | needs.plugin("profile"),
    "bench ipc --lock clh": needs.kernels(["none", "clh"], "pingpong"),
    "bench scale --lock rtm --cores 1,2 --machine xeon-e5-2683v3": needs.kernels(["rtm+model"], "pingpong")
    | needs.MODELLED,
    "bench scale --lock rtm --cores 1,2": needs.kernels(["rtm"], "pingpong") | needs.plugin("lockstep"),
    "bench dynamic --figure 8": needs.kernels(["dynamic"], "pingpong") | needs.plugin("lockstep") | needs.MODELLED,
    "bench dynamic --icount --figure 8": needs.kernels(["dynamic"], "pingpong") | needs.plugin("lockstep"),
    "bench dynamic --icount --figure 6": needs.kernels(["none", "dynamic", "clh", "fine"], "pingpong"),
    "bench mach --lock clh --cores 2": needs.kernels(["clh+stat"], "stress"),
    "bench failure": needs.kernels(["clh"], "redis-server", "ycsb") | needs.plugin("profile"),
    "demo failure": needs.kernels(["clh"], "redis-server"),
    "bench fork": needs.kernels(["clh"]) | needs.of_targets("apps/forkcost/forkcost.elf") | needs.plugin("profile"),
    "bench fork --baseline linux": needs.of_targets("apps/forkcost/forkcost-linux"),
    "bench latency --lock clh": needs.kernels(["none", "clh"], "stress"),
    "bench lines --lock rtm --cores 2": needs.kernels(["rtm+model", "rtm+stat"], "pingpong") | needs.MODELLED,
    "bench redis --lock clh --cores 1,2": needs.kernels(["clh+stat"], "redis-server", "ycsb"),
    "bench ipc --native --lock clh": needs.natively(["clh"]),
    "bench lock --cores 1 --lock clh": needs.native("kernel-bench-clh", "bench-cores"),
    "cc x.c": needs.COMPILER,
    "prove": needs.NAMES_OF_TESTS,
    "explore": needs.NAMES_OF_TESTS,
    "fuzz": Needs(groups=frozenset({"fuzz"})),
    "fuzz --target net": needs.NAMES_OF_TESTS,
    "build": needs.EVERYTHING,
    "build examples/lua": needs.COMPILER,
    "build examples/sqlite": needs.COMPILER | Needs(groups=frozenset({"sqlite"})),
    "test": needs.EVERYTHING,
}


@pytest.mark.parametrize("line", COMMANDS)
def test_command_needs(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a command asks for what it is known to use before it uses any of it"""
    asked: list[Needs] = []

    def note(output: Output, needed: Needs, werror: bool = False) -> None:
        asked.append(needed)
        raise Stop

    name = line.split()[0]
    monkeypatch.chdir(ROOT)
    main.command_module(name)
    from deploy.bench.native import measure as native  # that of commands which load it late

    assert native
    original = build.ensure_built
    for module in list(sys.modules.values()):
        if getattr(module, "ensure_built", None) is original:
            monkeypatch.setattr(module, "ensure_built", note)
    with pytest.raises(Stop):
        main.main([*line.split(), *(["--json", str(tmp_path / "x.json")] if name not in ("cc", "build") else [])])
    (needed,) = asked
    assert needed.covers(COMMANDS[line]), (COMMANDS[line].targets or frozenset()) - (needed.targets or frozenset())
    assert needed.targets is None or needed.targets
    assert needed.targets is None or not [target for target in needed.targets if "test" in target]


def test_other_servers_are_not_of_the_build() -> None:
    """no step of the whole build, and none that Redis needs, makes another server; what needs it says so"""
    for needed in (needs.EVERYTHING, needs.kernels(["clh"], "redis-server"), needs.BESIDE_LINUX):
        assert not [step for step in commands(needed) if "valkey-server" in step] and not needed.servers - {"redis"}
    assert needs.kernels(["clh"], "valkey-server").servers == needs.beside_linux("valkey").servers == {"valkey"}


def test_targets_exist() -> None:
    """every target that a command may ask for is one of the build"""
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True,
                          check=True)
    known = {line.rpartition(":")[0] for line in done.stdout.splitlines()}
    asked = needs.kernels(modules.REGIMES, *modules.PROGRAMS, statistics=True,
                          transactions=True) | needs.natively(modules.REGIMES)
    for more in (needs.MODELLED, *map(needs.beside_linux, ENGINES), needs.COMPILER, needs.PRICES, needs.FUZZ,
                 needs.plugin("lockstep", "profile")):
        asked |= more
    assert asked.targets and asked.targets <= known, (asked.targets or set()) - known


def test_required_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """what a command uses beyond what it asked for is made before it is used; nothing is made where nothing was asked
    for"""
    made: list[Needs] = []
    monkeypatch.setattr(build, "ensure_built", lambda output, needed: made.append(needed))
    monkeypatch.setattr(build, "_made", [])
    more = needs.kernels(["mcs"], "root")
    build.require(more)
    assert made == []
    build._made.append((needs.kernels(["clh"], "root"), Output(quiet=True)))
    build.require(needs.kernels(["clh"], "root"))
    assert made == []
    build.require(more)
    assert made == [more]
    build._made.append((needs.EVERYTHING, Output(quiet=True)))
    build.require(needs.kernels(["rtm"], "stress"))
    assert made == [more]


def test_second_command_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a command that finds another building in its tree says which one it waits for and where to look, and goes on
    after it"""
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["skerry", "test", "--only", "a \x1b[J"])
    steps: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(Output, "step", lambda output, text: steps.put(text))
    order = []

    def second() -> None:
        with build.build_lock(Output()):
            order.append("second")

    with build.build_lock(Output()):
        other = threading.Thread(target=second)
        other.start()
        step = steps.get()
        order.append("first")
    other.join()
    assert order == ["first", "second"] and steps.empty()
    assert (
        f"waiting for process {os.getpid()}, skerry test --only a ?[J (how far it is: " in step and "build.log" in step
    )
    assert (tmp_path / ".skerry-lock").read_text() == ""


def test_interrupted_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a build folder whose build.ninja an interrupt removed is configured again"""
    (tmp_path / "meson.build").write_text("project('small')\n")
    folder = tmp_path / "build"
    for name, value in {"ROOT": tmp_path, "BUILD": folder, "LOGS": tmp_path,
                        "CONFIGURED": tmp_path / "configured"}.items():
        monkeypatch.setattr(build, name, value)
    build.configure(Output(quiet=True), Needs())
    (folder / "build.ninja").unlink()
    build.configure(Output(quiet=True), Needs())
    assert (folder / "build.ninja").exists()


def test_interrupted_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """an interrupt ends what a script has started with it: the next build has the folder for itself"""
    script, started = tmp_path / "build.sh", tmp_path / "started"
    script.write_text("sh -c 'echo $$ >started; exec sleep 1000'\n:\n")

    def interrupted(process: "subprocess.Popen[bytes]") -> int:
        while not (started.exists() and started.read_text()):
            assert process.poll() is None
            time.sleep(0.01)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recipes.run(script, tmp_path, {}, tmp_path / "log", "it")
    status = Path("/proc", started.read_text().strip(), "stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"  # nobody may have asked for its status


def test_ninja_ends_with_the_build(tmp_path: Path) -> None:
    """a build that is killed leaves no ninja behind"""
    ninja, ended = tmp_path / "ninja", tmp_path / "ended"
    ninja.write_text(f"#!/bin/sh\ntrap 'echo > {ended}; exit' TERM\necho '[1/2] a step'\n"
                     "while :; do sleep 0.05; done\n")
    ninja.chmod(0o755)
    program = ("from pathlib import Path\nfrom deploy.base.terminal import Output\nfrom deploy.setup import build\n"
               f"build.LOGS = Path('{tmp_path}')\nbuild.compile(Output())")
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=os.environ | path, stderr=subprocess.PIPE,
                          text=True) as process:
        assert process.stderr and any("1 of 2" in line for line in process.stderr)
        process.kill()
    while not ended.exists():  # the test's own limit ends this
        time.sleep(0.02)


def test_configured_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Meson looks again when a command needs packages that it has not seen, and only then"""
    ran: list[list[str]] = []

    def run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    (tmp_path / "build.ninja").touch()
    (tmp_path / "meson-private").mkdir()
    (tmp_path / "meson-private" / "coredata.dat").touch()
    present = {package.name for package in packages.in_groups(needs.BOOT_GROUPS)}
    monkeypatch.setattr(build.subprocess, "run", run)
    monkeypatch.setattr(build, "BUILD", tmp_path)
    monkeypatch.setattr(build, "LOGS", tmp_path)
    monkeypatch.setattr(build, "CONFIGURED", tmp_path / "configured")
    monkeypatch.setattr(packages, "present", lambda: present)
    boot = needs.kernels(["clh"], "root")
    build.CONFIGURED.write_text("\n".join(present))
    build.configure(Output(quiet=True), boot)
    build.configure(Output(quiet=True), needs.FUZZ)  # clang is not there, so Meson would not see it
    assert ran == []
    present = present | {"clang-14", "libclang-rt-14-dev"}
    build.configure(Output(quiet=True), boot)
    assert ran == []
    build.configure(Output(quiet=True), needs.FUZZ)
    assert ran == [["meson", "setup", "--reconfigure", str(tmp_path), str(ROOT)]]
    build.configure(Output(quiet=True), needs.FUZZ)
    assert len(ran) == 1


# ---- Python's packages ----

NAMES = {"libclang": "clang", "prometheus-client": "prometheus_client", "libvirt-python": "libvirt"}  # of their modules


def later() -> dict[str, str]:
    """Modules that a command must ask for, and their group."""
    pins = {extension.group: re.findall(r"^([\w.-]+)==", extension.requirements.read_text(), re.MULTILINE)
            for extension in extensions.EXTENSIONS}
    return {NAMES.get(pin, pin): group for group, names in pins.items() for pin in names}


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno


def test_modules_on_demand() -> None:
    """a module that is not in every environment is asked for in the line before its import"""
    groups = later()
    assert {"matplotlib", "scipy", "pytest", "clang", "libvirt"} <= set(groups)
    seen = set()
    of_pytest = ROOT / "deploy/tools/testing/pytest_report.py"  # pytest loads it
    for path in {*ROOT.glob("deploy/**/*.py"), *ROOT.glob("topology/**/*.py")} - {of_pytest}:
        text = path.read_text()
        for name, line in imports(ast.parse(text)):
            if name in groups:
                seen.add(name)
                before = "".join(text.splitlines()[:line])
                assert f'demand.module("{name}", "{groups[name]}")' in before, f"{path}:{line}: {name}"
    assert seen == {"matplotlib", "numpy", "scipy", "libvirt", "clang", "distributed"}


def test_commands_load_without() -> None:
    """every command's module loads, and its help comes, in an environment that has none of these"""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({sorted(later())}))"
    load = ("from deploy.cli import main as cli; [cli.command_module(name) for name in cli.COMMANDS]; "
            "sys.exit(cli.main(['--help']))")
    done = subprocess.run([sys.executable, "-B", "-c", f"{blocked}; {load}"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and "lockstat" in done.stdout, done.stderr


def test_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    """a program or module that lacks is asked for once, by its group; one that is there is not"""
    asked: list[str] = []
    monkeypatch.setattr(demand, "install", asked.append)
    assert demand.program("sh", "build") == "sh"
    demand.module("json", "test")
    assert asked == []
    demand.program("no-such-program-of-skerry", "virsh")
    demand.module("no_such_module_of_skerry", "science")
    assert asked == ["virsh", "science"]


# ---- what is seen of it ----


def test_progress_without_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """without a terminal the build says where it is: at its beginning, now and then, and at its end; quietly not"""
    clock = iter(range(0, 10_000, 4))
    monkeypatch.setattr(build.time, "monotonic", lambda: float(next(clock)))
    for output, lines in ((Output(), ["1", "4", "7", "9"]), (Output(quiet=True), [])):
        show = build._said(output, lambda **what: None)
        for step in range(10):
            show(f"[{step}/9] compiles something")
        errors = capsys.readouterr().err
        assert re.findall(r"Building: (\d+) of 9 steps", errors) == lines, errors


def test_version_costs_nothing() -> None:
    """./skerry --version starts no Python"""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPROFILEIMPORTTIME": "1"}  # a Python would say on stderr what it loads
    done = subprocess.run([str(ROOT / "skerry"), "--version"], capture_output=True, text=True, cwd="/", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"skerry {main.version()}\n", "")


def test_commands_load_little() -> None:
    """the command line as a whole is there without what only drawing and numbers need"""
    code = ("import sys, deploy.cli.main; deploy.cli.main.make_app(); print(*({'numpy', 'matplotlib', 'scipy'} & "
            "set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


@pytest.mark.parametrize("printed, expected", [
    ("WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip.HTTPSConnection object "
     "at 0x7f89>: "
     "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/x/\nERROR: No "
     "matching",
     "no connection to the package index: Temporary failure in name resolution"),
    ("after connection broken by 'ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by "
     "peer'))': /simple/x/",
     "no connection to the package index: Connection reset by peer"),
    ("ERROR: No matching distribution found for x\n", "ERROR: No matching distribution found for x"),
], ids=["no-name-server", "reset", "no-package"])  # fmt: skip
def test_pip_error(printed: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what broke pip's connection is told without the object's address"""
    (tmp_path / "log").write_text(printed)
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "log")
    assert bootstrap.what_went_wrong() == expected


@pytest.mark.parametrize("apt, status, expected", [
    ("echo Reading package lists...; echo 'E: Unable to fetch some archives'; exit 100", 1,
     "skerry: installing python3 and python3-venv\nskerry: apt-get update: E: Unable to fetch some archives (all of "
     "it: {log})\n"),
    ("echo Setting up python3", 127, "skerry: installing python3 and python3-venv\n"),
], ids=["fails", "works"])  # fmt: skip
def test_python_is_installed(apt: str, status: int, expected: str, tmp_path: Path) -> None:
    """a machine without Python gets it in one line, apt's words go into the log, and its error is told"""
    (tmp_path / "skerry").write_text((ROOT / "skerry").read_text().replace("/usr/bin/python3", "/nonexistent/python3"))
    for name, text in {"apt-get": apt, "sudo": 'exec "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(["sh", str(tmp_path / "skerry"), "doctor"], env={"PATH": path}, capture_output=True,
                          text=True)
    log = tmp_path / "build/log/apt.log"
    assert done.returncode == status and done.stderr.startswith(expected.format(log=log)) and not done.stdout
    assert log.read_text().startswith("Reading" if status == 1 else "Setting up python3\nSetting up")


def test_what_a_build_complains_of(tmp_path: Path) -> None:
    """a build that fails shows the compiler's errors, not Meson's warnings of errors to come nor options that speak of
    errors"""
    log = tmp_path / "build.log"
    log.write_text(
        "../meson.build:58: WARNING: Source item 'a.c' is a generated file. This will become a hard error in the "
        "future.\n"
        "    werror: true\n"
        "FAILED: kernel.p/a.c.o\n"
        "cc -Ikernel.p -Werror=vla -o kernel.p/a.c.o -c ../a.c\n"
        "../a.c:2:1: error: unknown type name 'syntax'\n"
    )
    complaint = str(build.complain("the build failed", log)).splitlines()
    assert complaint[1:-1] == ["FAILED: kernel.p/a.c.o", "../a.c:2:1: error: unknown type name 'syntax'"]
    assert complaint[-1] == f"skerry: the build failed (all of it: {log})"


@pytest.mark.parametrize("moment", ["raise_keyboard_interrupt", "hold_back"])
def test_interrupt_between_two_handlers(moment: str, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C that is heard while the set-up changes who hears it ends the command with one line"""

    def heard() -> None:
        raise KeyboardInterrupt

    for name in ("raise_keyboard_interrupt", "hold_back"):
        monkeypatch.setattr(bootstrap.interrupts, name, heard if name == moment else lambda: None)
    monkeypatch.setattr(bootstrap, "set_up", lambda: 0)
    assert bootstrap.main() == 130
    assert capsys.readouterr().err == "skerry: interrupted\n"
