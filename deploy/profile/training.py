# SPDX-License-Identifier: BSD-2-Clause
"""Makes the layer's profile anew: `build/venv/bin/python -m deploy.profile.training [--check]`.

The layer (apps/libc, net) is compiled as always, but instrumented, and linked into Redis and the YCSB client. These
serve a load inside a machine and one from the host, and say at their end how often each edge of a function ran
(apps/profile/counts.c). The sums are apps/libc/profile.json, with which the build compiles the layer. lwIP has no
profile: little of it runs, and the names of its objects contain the path of the checkout.

--check lists the functions that have changed since. GCC ignores the counts of a function if its control flow has
changed.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.host import cpu
from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.deployment import read
from deploy.deployment.planner import Plan, plan
from deploy.machine import qemu
from deploy.machine.run import Options, Run, boot
from deploy.profile.outside import Requests, load
from deploy.setup import needs
from deploy.setup.build import build_lock, ensure_built

PROFILE = ROOT / "apps" / "libc" / "profile.json"
TOOLS = ROOT / "apps" / "profile"
WORK = BUILD / "training" / "layer"  # apps/libc/meson.build has it, too: skerry-cc-training
LIBRARIES = ("apps/libc/libskerry-posix.a.p", "net/libskerry-net.a.p")
INSTRUMENTED = ("-fprofile-arcs", "-fprofile-update=atomic", "-fno-profile-values")
SECTION = "-fprofile-info-section=layer_counts"  # where counts.c finds them
WORKLOADS = ("c", "a")
RECORDS, OPERATIONS = 2000, 3000
PIPELINES = (1, 16)
_LINE = re.compile(r"\[(\S+)\] counts ([=+.;]) ([^\r\n]+)")
_GCNO_HEADER, _RECORD, _WORD = struct.Struct("<4I"), struct.Struct("<2I"), struct.Struct("<I")  # gcc/gcov-io.h
_FUNCTION, _ARCS = 0x01000000, 0x01430000  # tags of records
_ON_TREE = 1  # GCC derives the count of such an arc from those of others


class Profile(TypedDict):
    """The output of apps/profile/profile.py."""

    version: str
    highest: int
    objects: dict[str, dict[str, str]]  # by object, then by identifier and checksums of a function: counts of its edges


@dataclass(frozen=True)
class Object:
    """One of the layer's, and how it is compiled."""

    name: str  # as the profile has it: the object's path in the build folder, without .o
    arguments: tuple[str, ...]  # the compiler's, without the output
    source: str

    def compile(self, output: Path, *more: str) -> None:
        """GCC takes a function's identifier from the name of the object that the build makes."""
        name = Path(self.name)
        command = [*self.arguments, "-o", str(output), "-dumpdir", f"{name.parent}/", "-dumpbase", name.name, *more]
        done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{self.source}: {done.stderr.strip()}")


def objects() -> list[Object]:
    """Returns the objects of our own sources, by the build's own commands."""
    made = []
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        output = entry.get("output", "")
        if output.startswith(LIBRARIES) and not Path(entry["file"]).is_relative_to(THIRD_PARTY):
            made.append(Object(output.removesuffix(".o"), tuple(_plain(shlex.split(entry["command"]))), entry["file"]))
    if not made:
        raise Failure("the build has no commands for the layer; ./skerry build makes them")
    checkout = str(ROOT).replace("/", "_")
    if odd := [each.source for each in made if checkout in each.name]:
        raise Failure(f"{odd[0]}: the name of its object contains the checkout's folder, and no other checkout would "
                      f"find its profile; name it by files()")
    return made


def _plain(words: Sequence[str]) -> Iterator[str]:
    """Yields a command's words without compiler cache, output, dependencies and profile."""
    rest = iter(words[1:] if Path(words[0]).name == "ccache" else words)
    for word in rest:
        if word in ("-o", "-MQ", "-MF"):
            next(rest)
        elif word != "-MD" and not word.startswith(("-fprofile", "-fno-profile", "-fno-vpt")):
            yield word


def _instrumented(output: Output) -> None:
    """The layer as one object, WORK/skerry-layer.o."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    every = objects()
    with output.progress("Compiling the layer, instrumented",
                         total=len(every)) as update, ThreadPoolExecutor(cpu().cores) as pool:
        made = [WORK / f"{number}.o" for number in range(len(every))]
        compiled = pool.map(lambda pair: pair[0].compile(pair[1], *INSTRUMENTED, SECTION), zip(every, made))
        for number, _ in enumerate(compiled, 1):
            update(completed=number)
    own = {f"{each.name}.o" for each in every}
    others = [path for library in LIBRARIES for path in (BUILD / library).glob("*.o")
              if str(path.relative_to(BUILD)) not in own]
    counts = WORK / "counts.o"
    _run(BUILD / "apps/libc/skerry-cc-training", "-O2", "-Wall", "-Wextra", "-Werror", "-c", "-o", counts,
         TOOLS / "counts.c")
    runtime = subprocess.run(["gcc", "-print-file-name=libgcov.a"], capture_output=True, text=True,
                             check=True).stdout.strip()
    _run("ar", "x", "--output", WORK, runtime, "_gcov_info_to_gcda.o")
    archive = WORK / "libtrained.a"
    _run("gcc-ar", "rcs", archive, *made, *others, counts, WORK / "_gcov_info_to_gcda.o")
    unit, libc = WORK / "skerry-layer-internal.o", BUILD / "apps/libc/sysroot/lib/libc.a"
    script = ROOT / "apps/libc/layer-object.sh"
    _run(script, "--internal", libc, unit, archive, BUILD / "apps/libc/libskerry-string.a")
    _run(script, libc, WORK / "skerry-layer.o", unit)


def _link(output: Output) -> None:
    """Redis and the client with it, by the build's own commands."""
    for program in ("apps/ycsb/ycsb.elf", "apps/redis/redis-server"):
        with output.progress(f"Building {Path(program).name} with it"):
            commands = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", program], capture_output=True,
                                      text=True, check=True).stdout
            places = {str(BUILD / "apps/libc/skerry-cc"): BUILD / "apps/libc/skerry-cc-training",
                      str(BUILD / "apps/redis/work"): WORK / "redis"}
            places |= {name: WORK / Path(name).name for name in (program, f"{program}.debug")}
            _run(*(places.get(word, word) for word in shlex.split(commands.splitlines()[-1])))


def _run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], cwd=BUILD, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{Path(words[0]).name}: {done.stderr.strip() or done.stdout.strip()}")


def _planned(workload: str) -> Plan:
    deployment = read(ROOT / "deploy/deployments/ycsb.toml")
    training = replace(deployment.load, records=RECORDS, operations=OPERATIONS, workload=workload)
    made = plan(replace(deployment, shutdown="never", load=training))
    return replace(made, own={"redis-server": WORK / "redis-server", "ycsb": WORK / "ycsb.elf"})


def _served(what: Plan) -> str:
    """Boots it, loads it and ends its programs; what stands on its console then."""
    with boot(what, Options(qemu.TCG_COUNTED_OUTSIDE, Patience(), "kernel")) as machine:
        for application in what.cluster_map.applications:
            if application.program == "ycsb":
                _ended(machine, application.name)
        for name, _ in what.forwards:
            for pipeline in PIPELINES:
                load(machine, machine.address(name), Requests(pipeline=pipeline), machine.patience)
            with socket.create_connection(machine.address(name)) as talk:
                talk.sendall(b"SHUTDOWN NOSAVE\r\n")
                _ended(machine, name)
        return machine.console


def _ended(machine: Run, application: str) -> None:
    if status := machine.wait_event("exit", app=application).get("status"):
        raise Failure(f"{application} ended with status {status}")


def gather(console: str, objects_named: Collection[str], folder: Path) -> int:
    """Writes the .gcda files of each program to a folder of its own; their number. Each has said all of it, to the
    byte."""
    lines_of: dict[str, list[tuple[str, str]]] = {}
    for program, kind, text in _LINE.findall(console):
        lines_of.setdefault(program, []).append((kind, text.strip()))
    names = {f"{BUILD}/{name}.gcda": Path(f"{name}.gcda") for name in objects_named}
    for program, lines in lines_of.items():
        counted = dict(_files(program, lines))
        if unknown := counted.keys() - names.keys():
            raise Failure(f"{program} counted in {min(unknown)}, which is none of the layer's objects")
        for name, content in counted.items():
            path = folder / program / names[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return len(lines_of)


def _files(program: str, lines: Sequence[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    name, content, files = "", b"", 0
    for kind, text in lines:
        try:
            if kind == "=":
                name, content = text, b""
            elif kind == "+":
                content += bytes.fromhex(text)
            elif kind == ".":
                if text != f"{len(content)} {zlib.adler32(content):08x}":
                    raise ValueError
                files += 1
                yield name, content
            elif text != str(files) or kind != lines[-1][0]:
                raise ValueError
        except ValueError:
            raise Failure(f"{program}: a line of its counts is lost or wrong, at {name}, '{kind} "
                          f"{text[:20]}'") from None
    if not lines or lines[-1][0] != ";":
        raise Failure(f"{program} has not said all of its counts")


def train(output: Output) -> None:
    ensure_built(output, needs.of_map(_planned(WORKLOADS[0]).cluster_map) | needs.OUTSIDE)
    with build_lock(output):
        _instrumented(output)
        _link(output)
        names = [each.name for each in objects()]
        folders: list[Path] = []
        for workload in WORKLOADS:
            with output.progress(f"Serving, workload {workload}"):
                what = _planned(workload)
                programs = gather(_served(what), names, WORK / "counts" / workload)
            if programs != sum(application.program in what.own for application in what.cluster_map.applications):
                raise Failure(f"{programs} programs have said their counts")
            folders += sorted((WORK / "counts" / workload).iterdir())
        _tool("read", PROFILE, *folders)
    output.line(f"Wrote {PROFILE.relative_to(ROOT)}: {_executions(_profile()):,} executions of edges.")


def _tool(*words: str | Path) -> str:
    """Returns the output of apps/profile/profile.py."""
    done = subprocess.run([sys.executable, TOOLS / "profile.py", *words], capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stderr.strip())
    return done.stdout.strip()


def _profile() -> Profile:
    _tool("check", PROFILE)
    profile: Profile = json.loads(PROFILE.read_text())
    return profile


def _executions(profile: Profile) -> int:
    return sum(sum(map(int, counts.split())) for functions in profile["objects"].values()
               for counts in functions.values())


@dataclass(frozen=True)
class Lost:
    """A function that has another control flow now, or is gone: GCC ignores its counts."""

    source: str
    function: str
    executions: int  # the sum over its edges


def lost() -> tuple[list[Lost], int]:
    """Returns the losses of the committed profile, and the executions of edges that all of it has."""
    profile = _profile()
    objects_now = {each.name: each for each in objects()}
    with TemporaryDirectory(prefix="skerry-training-") as folder:
        if not _tool("lay", PROFILE, Path(folder) / "laid", _compiler()):
            raise Failure(f"{PROFILE.relative_to(ROOT)} is of another version of GCC than {_compiler()}, which "
                          f"therefore ignores it")
        notes = [(name, Path(folder) / f"{number}.gcno") for number, name in enumerate(profile["objects"])]
        with ThreadPoolExecutor(cpu().cores) as pool:
            known = dict(pool.map(lambda note: (note[0], functions_of(objects_now.get(note[0]), note[1])), notes))
    losses = []
    for name, functions in profile["objects"].items():
        for key, text in functions.items():
            identifier, _, flow = key.split()
            counts = list(map(int, text.split()))
            now = known[name].get(identifier, Noted("one that is gone", "", 0))
            if (now.flow, now.counts) != (flow, len(counts)):
                losses.append(Lost(objects_now[name].source if name in objects_now else name, now.name, sum(counts)))
    return losses, _executions(profile)


def _compiler() -> str:
    return subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()


@dataclass(frozen=True)
class Noted:
    """A function as it is now."""

    name: str
    flow: str  # checksum of its control flow
    counts: int  # that GCC would keep of it


def functions_of(each: Object | None, notes: Path) -> dict[str, Noted]:
    """Reads the functions by identifier from the notes that GCC makes for gcov (gcc/gcov-io.h)."""
    if not each or not (BUILD / each.source).exists():
        return {}
    each.compile(Path("/dev/null"), *INSTRUMENTED, "-ftest-coverage", f"-fprofile-note={notes}", "-S")
    data = notes.read_bytes()
    at = _GCNO_HEADER.size
    (size,) = _WORD.unpack_from(data, at)  # words of the folder's name
    at += 2 * _WORD.size + size
    functions: dict[str, Noted] = {}
    last = ""
    while at + _RECORD.size <= len(data):
        tag, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if tag == _FUNCTION:
            identifier, _, flow, size = struct.unpack_from("<4I", data, at)
            last = f"{identifier:08x}"
            functions[last] = Noted(data[at + 16 : at + 16 + size].rstrip(b"\0").decode(), f"{flow:08x}", 0)
        elif tag == _ARCS:
            flags = [flag for _, flag in struct.iter_unpack("<2I", data[at + _WORD.size : at + length])]
            more = sum(not flag & _ON_TREE for flag in flags)
            functions[last] = replace(functions[last], counts=functions[last].counts + more)
        at += length
    return functions


def check(output: Output) -> None:
    changed, executions = lost()
    for one in sorted(changed, key=lambda one: -one.executions):
        output.line(f"{one.source}: {one.function} has changed, {one.executions / executions:.1%} of all executions")
    output.line(f"{sum(one.executions for one in changed) / executions:.1%} of the profile's executions are of "
                f"functions that have changed.")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.profile.training",
                                     description="Makes apps/libc/profile.json anew, in a minute or two.")
    parser.add_argument("--check", action="store_true", help="only say which functions have changed since it was made")
    checking, output = parser.parse_args().check, Output()
    process.heed_signals()
    try:
        (check if checking else train)(output)
    except KeyboardInterrupt:
        return 130
    except Failure as failure:
        print(f"training: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
