# SPDX-License-Identifier: BSD-2-Clause
"""The cluster map as devicetree source, and source as blobs: dtc compiles; lib/cluster-map reads (reader.py)."""

import re
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from topology import demand, foreign
from topology.errors import InputError
from topology.limits import MAX_SIZE, RESTART_DELAY, RESTART_LIMIT
from topology.machines.machine import Board
from topology.maps.clustermap import (
    COARSE,
    COMPATIBLE,
    NEVER,
    Application,
    Channel,
    Cluster,
    ClusterMap,
    Network,
    Range,
)

FDT_MAGIC = 0xD00DFEED

# Where dtc's lexer begins what is no plain character: a directive, a path, a comment, a string, a character constant.
_MARK = re.compile(
    r"/(?:dts-v1|plugin|memreserve|bits|delete-node|delete-property|omit-if-no-ref)/|&\{/[\w,.+*#?@/-]*\}|&\{|//?incbin/|//?include/|//|/\*|[\"']",
    re.ASCII,
)
_STRING = re.compile(r'"(?:[^"\\]|\\[^\n])*"')
_NO_MAP_HAS = {
    '"': "a string without an end", "/*": "a comment without an end", "'": "a character constant, which no map has",
    "&{": "a path that begins with no /",
}  # fmt: skip


def check_source(text: str, source: str = "cluster map") -> None:
    """Refuses what makes dtc read other files; strings and comments may say it. What could make dtc take text for
    something else than this does is refused, too."""
    at = 0
    while match := _MARK.search(text, at):
        mark, at = match[0], match.end()
        if mark == '"' and (string := _STRING.match(text, match.start())):
            at = string.end()
        elif mark in ("/*", "//") and (end := text.find("*/" if mark == "/*" else "\n", at)) >= 0:
            at = end + (2 if mark == "/*" else 1)
        elif mark == "//":  # the last line
            return
        elif mark in _NO_MAP_HAS or "/in" in mark and mark[0] == "/":
            problem = _NO_MAP_HAS.get(mark, f"{mark} reads another file, and a map is one file")
            raise InputError(source, f"line {text.count(chr(10), 0, match.start()) + 1}: {problem}")


def compile_dts(text: str, source: str = "cluster map") -> bytes:
    """Devicetree source to blob. What dtc refuses is bad input; its first error is the line."""
    check_source(text, source)
    try:
        done = foreign.run([demand.program("dtc", "build"), "-I", "dts", "-O", "dtb", "-o", "-", "-"], text, source)
    except FileNotFoundError:
        raise InputError("dtc", "not found; install device-tree-compiler") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        errors = [line for line in lines if re.search(r"\bERROR\b|\b[Ee]rror:", line)] or lines or ["dtc failed"]
        raise InputError(source, re.sub(r"^(<std\w+>: )?ERROR ", "", errors[0]).replace("<stdin>:", "line "))
    if len(done.stdout) > MAX_SIZE:
        raise InputError(source, f"{len(done.stdout)} bytes are more than {MAX_SIZE}")
    return done.stdout


def load(path: Path) -> bytes:
    """A map file, source or blob, as a blob."""
    content = foreign.read(path, foreign.MAP)
    if content[:4] == struct.pack(">I", FDT_MAGIC):
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError(str(path), "is neither devicetree source nor a devicetree blob") from None
    return compile_dts(text, str(path))


def cells64(*values: int) -> str:
    return " ".join(f"{value >> 32:#x} {value & 0xFFFFFFFF:#x}" for value in values)


def strings(values: Iterable[str]) -> str:
    return ", ".join('"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"' for v in values)


def ranges(values: Iterable[Range]) -> str:
    return ", ".join(f"<{cells64(r.base, r.size)}>" for r in values)


def phandles(cpus: Iterable[int]) -> str:
    return "<" + " ".join(f"&cpu{i}" for i in cpus) + ">"


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text if text else "")

    def open(self, name: str) -> None:
        self.line(f"{name} {{")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("};")

    def strings(self, name: str, values: Sequence[str]) -> None:
        """A property, unless there is no value."""
        if values:
            self.line(f"{name} = {strings(values)};")

    def optional(self, name: str, value: str | None) -> None:
        """A property of one value, unless it is empty."""
        self.strings(name, [value] if value else [])

    def flag(self, name: str, is_set: bool) -> None:
        if is_set:
            self.line(f"{name};")

    def numbered(self, name: str, numbers: int = 1) -> None:
        """Opens a node whose children are told apart by a number, or by several."""
        self.open(name)
        self.line(f"#address-cells = <{numbers}>;")
        self.line("#size-cells = <0>;")


def _restarts(out: _Writer, what: Cluster | Application) -> None:
    if what.restart_limit != RESTART_LIMIT:
        out.line(f"restart-limit = <{what.restart_limit}>;")
    if what.restart_delay != RESTART_DELAY:
        out.line(f"restart-delay = <{what.restart_delay}>;")


def _cluster(out: _Writer, cluster: Cluster) -> None:
    out.open(cluster.name)
    out.line(f"reg = <{cluster.number}>;")
    out.strings("kernel", [cluster.kernel])
    out.strings("root", [cluster.root])
    out.line(f"cpus = {phandles(cluster.cpus)};")
    out.line(f"memory = {ranges(cluster.memory)};")
    out.strings("modules", cluster.modules)
    out.flag("devices", cluster.devices)
    out.flag("restart", cluster.restart)
    _restarts(out, cluster)
    out.flag("spare-cores", cluster.spare_cores)
    out.flag("homed", cluster.homed)
    if cluster.granularity != COARSE:
        out.strings("granularity", [cluster.granularity])
    out.close()


def _application(out: _Writer, app: Application) -> None:
    out.open(app.name)
    out.line(f"reg = <{app.number}>;")
    out.strings("program", [app.program])
    out.line(f"cpu = <&cpu{app.cpu}>;")
    out.line(f"heap = <{cells64(app.heap)}>;")
    out.optional("role", app.role)
    if app.pci_ids:
        out.line("pci-id = " + ", ".join(f"<{vendor:#06x} {device:#06x}>" for vendor, device in app.pci_ids) + ";")
    out.optional("ipv4", app.ipv4)
    if app.mac:
        out.line(f"mac = [{app.mac.hex(' ')}];")
    out.strings("await", app.awaits)
    out.strings("cables", app.cables)
    out.optional("stack", app.stack)
    out.optional("switch", app.switch)
    out.flag("barrier", app.barrier)
    if app.restart != NEVER:
        out.strings("restart", [app.restart])
    _restarts(out, app)
    out.flag("statistics", app.statistics)
    out.strings("args", app.args)
    out.strings("env", app.env)
    out.optional("cwd", app.cwd)
    out.optional("files", app.files)
    if app.storage:
        out.line(f"storage = <{cells64(app.storage)}>;")
    if app.user != (0, 0):
        out.line(f"user = <{app.user[0]} {app.user[1]}>;")
    if app.threads is not None:
        out.line(f"threads = <{app.threads}>;")
    out.close()


def _machine(out: _Writer, cluster_map: ClusterMap) -> None:
    shape = cluster_map.shape
    if isinstance(shape, Board):
        out.open("machine")
        out.line(f"sockets = <{shape.sockets}>;")
        out.line(f"l3-caches-per-socket = <{shape.caches}>;")
        out.line(f"cores-per-l3-cache = <{shape.cores}>;")
        out.line(f"threads-per-core = <{shape.threads}>;")
        out.close()
    elif shape:
        out.open("machine")
        out.line(f"sockets = <{shape.sockets}>;")
        out.line(f"cores-per-socket = <{shape.cores}>;")
        out.line(f"memory-per-node = <{cells64(shape.memory)}>;")
        optional = (("l3-caches-per-socket", shape.caches), ("nodes-per-socket", shape.nodes))
        for name, count in (*optional, ("threads-per-core", shape.threads)):
            if count != 1:
                out.line(f"{name} = <{count}>;")
        out.close()


def _cpus_and_memory(out: _Writer, cluster_map: ClusterMap) -> None:
    several = cluster_map.machines > 1
    out.numbered("cpus", 2 if several else 1)
    for i, cpu in enumerate(cluster_map.cpus):
        reg = f"{cpu.machine} {cpu.apic}" if several else f"{cpu.apic}"
        name = f"cpu{i}: {cluster_map.cpu_name(i)}"
        out.line(f'{name} {{ device_type = "cpu"; reg = <{reg}>; numa-node-id = <{cpu.node}>; }};')
    out.close()
    for r in cluster_map.memory:
        out.line(f'memory@{r.base:x} {{ device_type = "memory"; '
                 f"reg = <{cells64(r.base, r.size)}>; numa-node-id = <{r.node}>; }};")
    if cluster_map.distances:
        out.open("distance-map")
        out.line('compatible = "numa-distance-map-v1";')
        matrix = (f"<{a} {b} {d}>" for (a, b), d in sorted(cluster_map.distances.items()))
        out.line("distance-matrix = " + ", ".join(matrix) + ";")
        out.close()


def _channel(out: _Writer, channel: Channel) -> None:
    out.open(channel.name)
    out.line(f"reg = <{channel.number}>;")
    out.line(f"ends = <{channel.ends[0]} {channel.ends[1]}>;")
    if channel.ivshmem:
        out.line(f"ivshmem = <{channel.ivshmem[0]:#x} {channel.ivshmem[1]:#x}>;")
        out.line(f"size = <{cells64(channel.memory.size)}>;")
    else:
        out.line(f"memory = {ranges([channel.memory])};")
    out.close()


def _network(out: _Writer, net: Network) -> None:
    out.open("network")
    out.line(f'netmask = "{net.netmask}";')
    out.line(f'gateway = "{net.gateway}";')
    out.line(f"mtu = <{net.mtu}>;")
    out.close()


def write_dts(cluster_map: ClusterMap, comment: str = "") -> str:
    """The map's text; compiling and reading it gives an equal map."""
    out = _Writer()
    out.line("/dts-v1/;")
    if comment:
        out.line(f"/* {comment} */")
    out.open("/")
    out.line(f'compatible = "{COMPATIBLE}";')
    out.line("#address-cells = <2>;")
    out.line("#size-cells = <2>;")

    _machine(out, cluster_map)
    _cpus_and_memory(out, cluster_map)

    out.numbered("clusters")
    for cluster in cluster_map.clusters:
        _cluster(out, cluster)
    out.close()

    if cluster_map.channels:
        out.numbered("channels")
        for channel in cluster_map.channels:
            _channel(out, channel)
        out.close()
    if cluster_map.network:
        _network(out, cluster_map.network)

    out.numbered("applications")
    for app in cluster_map.applications:
        _application(out, app)
    out.close()

    if cluster_map.shutdown or cluster_map.failure_timeout:
        out.open("run")
        out.optional("shutdown", cluster_map.shutdown)
        if cluster_map.failure_timeout:
            out.line(f"patience = <{cluster_map.failure_timeout}>;")
        out.close()
    out.close()
    return "\n".join(out.lines) + "\n"
