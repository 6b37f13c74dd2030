# SPDX-License-Identifier: BSD-2-Clause
"""Reads a deployment file. Whatever is wrong with it is one InputError with file and line."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli
from pydantic import ValidationError

from deploy.base import elf
from deploy.base.paths import ROOT
from deploy.deployment import file_tree, modules, places as positions, problems, volumes
from deploy.deployment.file_tree import FileTree
from deploy.deployment.model import Deployment, Load, Metrics, Program, Redis, Subnet
from deploy.deployment.places import Places, title
from deploy.deployment.schema import Clusters, File, Machine, ProgramTable, is_name, is_program_name
from deploy.deployment.volumes import Folder, Volume
from topology import foreign
from topology.errors import InputError, Place
from topology.grouping import NAMES, WORDS, is_layout_name
from topology.machines.irregular import machine_of
from topology.machines.machine import Machine as Topology, Shape, default_memory, like
from topology.machines.sources import LIVE, is_uri, read_machine
from topology.maps.reader import read_file
from topology.units import GIB

EXAMPLES = ROOT / "deploy/deployments"


def read(path: Path) -> Deployment:
    try:
        content = foreign.read(path, foreign.DEPLOYMENT)
    except InputError as error:
        raise replace(error, problem=error.problem + _example(path)) from None
    return parse(_decode(content, str(path)), str(path), path.parent)


def _example(path: Path) -> str:
    """Returns a hint with the path of the example of this name, as it is typed from here; empty if there is none."""
    example = EXAMPLES / f"{path.stem}.toml"
    known = path.name == str(path) and len(path.name) < 100 and not path.exists() and example.is_file()
    return f"; there is {os.path.relpath(example)}" if known else ""


def _decode(content: bytes, source: str) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _unreadable(source, 1, "is UTF-16; TOML files are UTF-8")
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]  # a byte order mark, as some editors leave it
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise _unreadable(source, line, "is not text: it has a byte of 0")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(source, line, f"byte {content[error.start]:#04x} is not UTF-8") from None


def _unreadable(source: str, line: int, problem: str, column: int | None = None) -> InputError:
    return InputError("", problem, place=Place(source, line, column))


def parse(text: str, source: str = "deployment", folder: Path = Path()) -> Deployment:
    """`folder`: where paths in the file begin."""
    text = text.replace("\r\n", "\n")
    data = _load(text, source)
    if not data:
        raise InputError(source, "is empty; [redis] alone would be a deployment")
    places = positions.find(text, source)
    try:
        file = File.model_validate(data)
    except ValidationError as error:
        raise problems.first(error, data, places) from None
    return _Reader(places, folder).deployment(file)


def _load(text: str, source: str) -> dict[str, Any]:
    foreign.check_toml(text, source)
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise _syntax(error, text, source) from None
    except RecursionError:
        raise InputError(source, "is nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise InputError(source, "has a number with too many digits") from None


def _syntax(error: tomli.TOMLDecodeError, text: str, source: str) -> InputError:
    """The parser's message, its place in front and the line behind."""
    at_end = error.pos >= len(text)
    line = positions.broken(text) if at_end else error.lineno
    column = None if at_end else error.colno
    shown = text.split("\n")[line - 1].strip()
    why = _plain(error.msg) + (f", column {column}" if column else "") + (f": {problems.show(shown)}" if shown else "")
    return _unreadable(source, line, f"not TOML: {why}", column)


def _plain(message: str) -> str:
    """Returns the parser's message without Python's notation, as that of a table's name as a tuple."""
    text = re.sub(r"\((('[^']*'(, )?)+),?\)", lambda keys: f"[{keys[1].replace(chr(39), '').replace(', ', '.')}]",
                  message)
    return "this has a value already" if text == "Cannot overwrite a value" else text[:1].lower() + text[1:]


class _Reader:
    def __init__(self, places: Places, folder: Path) -> None:
        self.places = places
        self.folder = folder

    def wrong(self, problem: str, *path: str | int) -> InputError:
        return InputError(title(path), problem, at=path, place=self.places.place(path))

    def deployment(self, file: File) -> Deployment:
        layout = self._layout(file.clusters)
        alone = not is_layout_name(layout)  # a map, which says all but the machine
        if alone:
            self._check_map_alone(file)
        elif not (file.redis and file.redis.instances) and not file.metrics and not file.program:
            raise InputError(self.places.source, "nothing runs: there is neither [redis] nor [[program]]")
        locks = file.clusters.lock
        programs = self._programs(file.program)
        return Deployment(
            name=file.name or _name_of(self.places.source),
            shape=self._shape_of_map(layout) if alone
            and not file.machine.model_fields_set else self._shape(file.machine),
            layout=layout,
            lock=locks if isinstance(locks, str) else locks[0],
            locks=() if isinstance(locks, str) else tuple(locks),
            statistics=file.clusters.statistics,
            granularity=file.clusters.granularity,
            restart=file.clusters.restart,
            restart_limit=file.clusters.restart_limit,
            restart_delay=file.clusters.restart_delay,
            failure_timeout=file.clusters.failure_timeout,
            spare_cores=file.clusters.spare_cores,
            redis=self._redis(file, programs),
            load=Load(**file.ycsb.model_dump()),
            metrics=Metrics(**file.metrics.model_dump()) if file.metrics else None,
            programs=programs,
            shutdown=file.shutdown,
            network=file.network is not False,
            switch=None if isinstance(file.network, bool) else file.network.switch,
            subnet=self._subnet(file),
            places=self.places,
        )

    @staticmethod
    def _subnet(file: File) -> Subnet:
        if isinstance(file.network, bool):
            return Subnet()
        table = file.network
        return Subnet(table.subnet, table.gateway, table.mtu, table.forward, table.outside, table.driver)

    def _redis(self, file: File, programs: Sequence[Program]) -> Redis | None:
        if file.redis is None:
            return None
        made: dict[str, Any] = {"args": tuple(file.redis.args), "cpus": tuple(file.redis.cpus or ())}
        if file.redis.data is not None:
            try:
                folder = volumes.find(Volume(file.redis.data, volumes.DATA), self.folder)
                volumes.check(folder, [other for program in programs for other in program.folders], (), None)
            except InputError as error:
                raise self.wrong(error.problem, "redis", "data") from None
            made |= {"folder": folder, "append": file.redis.append or "everysec"}
        return Redis(**file.redis.model_dump() | made)

    def _programs(self, tables: list[ProgramTable]) -> tuple[Program, ...]:
        programs: list[Program] = []
        for number, table in enumerate(tables):
            files = {} if table.elf is None else self._own(table, ("program", number, "elf"))
            lists = {name: tuple(getattr(table, name) or ())
                     for name in ("args", "env", "files", "ports", "cables", "cpus", "volume")}
            first = {"cpu": table.cpus[0]} if table.cpus else {}
            tree = self._tree(table, number)
            folders = self._folders(table, number, programs, tree)
            program = Program(**dict(table) | lists | first | files | {"tree": tree, "folders": folders})
            self._check_form(program, number)
            for other in programs:
                if program.elf and other.program == program.program and other.elf != program.elf:
                    problem = f"'{program.program}' is the name of {other.elf}, too; 'name' gives this one another"
                    raise self.wrong(problem, "program", number, "elf")
            programs.append(program)
        return tuple(programs)

    def _own(self, table: ProgramTable, key: tuple[str | int, ...]) -> dict[str, Any]:
        """A program's file, checked, and the name of its module."""
        assert table.elf is not None
        path = self._file(Path(table.elf), *key).resolve()
        name = table.name or path.stem
        if not is_program_name(name):
            raise self.wrong(f"'{name}' cannot be a program's name; 'name' gives it one", *key)
        if name in modules.RESERVED:
            raise self.wrong(f"'{name}' is the name of a program that the build makes; 'name' gives this one another",
                             *key)
        try:
            content = foreign.read(path, foreign.PROGRAM)
        except InputError as error:
            raise self.wrong(str(error), *key) from None
        try:
            elf.check(name, str(path), content)
        except InputError as error:
            raise self.wrong(error.problem, *key) from None
        return {"program": name, "elf": path}

    def _check_form(self, program: Program, number: int) -> None:
        """Refuses several cores, or processes, for an executable that is linked for one."""
        if program.elf and program.processes > 1 and not elf.may_fork(program.elf.read_bytes()):
            raise self.wrong(f"{program.elf} is linked for one process; `skerry cc --processes` links it for several",
                             "program", number, "processes")
        if program.elf and program.several and not elf.spans_cores(program.elf.read_bytes()):
            raise self.wrong(f"{program.elf} is linked for one core; `skerry cc --cores` links it for several",
                             "program", number, program.several)

    def _tree(self, table: ProgramTable, number: int) -> FileTree | None:
        """Reads the program's `files` from the host; None without any."""
        key = ("program", number, "files")
        try:
            tree = file_tree.read((mapped, self.folder / mapped.host)
                                  for mapped in table.files) if table.files else None
        except InputError as error:
            raise self.wrong(error.problem, *key, *error.at) from None
        if tree and tree.is_file(table.cwd):
            raise self.wrong(f"'{table.cwd}' is a file", "program", number, "cwd")
        return tree

    def _folders(self, table: ProgramTable, number: int, before: list[Program],
                 tree: FileTree | None) -> tuple[Folder, ...]:
        """Finds the folders of the host that the program's `volume` name."""
        others = [folder for program in before for folder in program.folders]
        found: list[Folder] = []
        for index, volume in enumerate(table.volume):
            try:
                folder = volumes.find(volume, self.folder)
                volumes.check(folder, [*others, *found], found, tree)
                volumes.check_number(len(found), len(others) + len(found))
            except InputError as error:
                raise self.wrong(error.problem, "program", number, "volume", index) from None
            found.append(folder)
        return tuple(found)

    def _layout(self, clusters: Clusters) -> str:
        """A layout's name, or the path of a map that is there."""
        if is_layout_name(clusters.layout):
            return clusters.layout
        path = Path(clusters.layout)
        if path.suffix not in (".dts", ".dtb"):
            size = re.fullmatch(r"size\W*([1-9]\d*)", clusters.layout.strip(), re.ASCII | re.IGNORECASE)
            near = f"size={size[1]}" if size else problems.nearest(clusters.layout, WORDS)
            at = ("clusters", "layout")
            raise InputError(title(at), at=at, place=self.places.place(at), found=problems.show(clusters.layout),
                             expected=f"one of {NAMES}", nearest=near and f"'{near}'")  # fmt: skip
        return str(self._file(path, "clusters", "layout"))

    def _file(self, path: Path, *key: str | int) -> Path:
        """Beside the deployment file, or where the command was called."""
        problem = "no such file"
        for candidate in (self.folder / path, path):
            try:
                if stat.S_ISREG(candidate.stat().st_mode):
                    return candidate
                problem = "is not a file"
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:  # ValueError: a character of 0
                problem = (getattr(error, "strerror", None) or "is not a file's name").lower()
        text = str(self.folder / path)
        shown = text if text.isprintable() and len(text) < 200 else problems.show(str(path))
        raise self.wrong(f"{shown}: {problem}", *key)

    def _check_map_alone(self, file: File) -> None:
        for name in ("redis", "ycsb", "metrics", "program", "network", "shutdown"):
            if name in file.model_fields_set:
                place = self.places.place((name,))
                raise InputError("", at=(name,), place=place,
                                 problem=f"'{name}' contradicts the layout, a cluster map that says what runs")
        for name in ("lock", "statistics", "granularity"):
            if name in file.clusters.model_fields_set:
                raise self.wrong("contradicts the layout, a cluster map that says it", "clusters", name)

    def _shape_of_map(self, layout: str) -> Shape | Topology:
        try:
            return machine_of(read_file(Path(layout)))
        except InputError as error:
            raise self.wrong(str(error), "clusters", "layout") from None

    def _shape(self, machine: Machine) -> Shape | Topology:
        if machine.topology:
            source = machine.topology
            if source != LIVE and not is_uri(source):
                source = str(self._file(Path(source), "machine", "topology"))
            try:
                return like(read_machine(source, machine.smt is not False, GIB), machine.memory)
            except InputError as error:
                if error.at == ("memory",):
                    raise self.wrong(error.problem, "machine", "memory") from None
                raise self.wrong(str(error), "machine", "topology") from None
        of_node = machine.cores * machine.threads // machine.numa_nodes
        return Shape(
            sockets=machine.sockets,
            cores=machine.cores,
            memory=machine.memory or default_memory(of_node),
            caches=machine.l3_caches,
            nodes=machine.numa_nodes,
            threads=machine.threads,
        )


def _name_of(source: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", Path(source).stem).lstrip("._-")
    return name if is_name(name) else "deployment"
