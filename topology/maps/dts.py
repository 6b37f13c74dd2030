# SPDX-License-Identifier: BSD-2-Clause
"""The cluster map as devicetree source, and source as blobs: dtc compiles; lib/cluster-map reads (reader.py)."""

import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from topology import demand, foreign
from topology.errors import InputError
from topology.limits import MAX_SIZE, RESTART_DELAY, RESTART_LIMIT
from topology.machines.machine import Board, Shape
from topology.maps.clustermap import (
    COARSE,
    COMPATIBLE,
    NEVER,
    SPREAD,
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
    r"/(?:dts-v1|plugin|memreserve|bits|delete-node|delete-property|omit-if-no-ref)/"
    r"|&\{/[\w,.+*#?@/-]*\}|&\{|//?incbin/|//?include/|//|/\*|[\"']",
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


Properties = Mapping[str, str | bool]


def cell(value: object) -> str:
    return f"<{value}>"


def text(value: str | None) -> str:
    """Returns a property's one string; nothing for an empty one."""
    return strings([value]) if value else ""


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

    def node(self, name: str, properties: Properties) -> None:
        """Writes a node of properties: those that are True without a value, those that are nothing not at all."""
        self.open(name)
        for key, value in properties.items():
            if value:
                self.line(f"{key};" if value is True else f"{key} = {value};")
        self.close()

    def numbered(self, name: str, children: Iterable[tuple[str, Properties]]) -> None:
        """Writes a node whose children are told apart by a number."""
        self.open(name)
        self.line("#address-cells = <1>;")
        self.line("#size-cells = <0>;")
        for child, properties in children:
            self.node(child, properties)
        self.close()


def _restarts(what: Cluster | Application) -> Properties:
    return {"restart-limit": what.restart_limit != RESTART_LIMIT and cell(what.restart_limit),
            "restart-delay": what.restart_delay != RESTART_DELAY and cell(what.restart_delay)}


def _cluster(cluster: Cluster) -> Properties:
    return {
        "reg": cell(cluster.number), "kernel": strings([cluster.kernel]), "root": strings([cluster.root]),
        "cpus": phandles(cluster.cpus), "memory": ranges(cluster.memory), "modules": strings(cluster.modules),
        "devices": cluster.devices, "restart": cluster.restart, **_restarts(cluster),
        "spare-cores": cluster.spare_cores, "homed": cluster.homed,
        "granularity": cluster.granularity != COARSE and strings([cluster.granularity]),
    }


def _application(app: Application) -> Properties:
    return {
        "reg": cell(app.number), "program": strings([app.program]), "cpu": phandles(app.cores),
        "placement": app.placement != SPREAD and strings([app.placement]),
        "heap": cell(cells64(app.heap)), "role": text(app.role),
        "pci-id": ", ".join(cell(f"{vendor:#06x} {device:#06x}") for vendor, device in app.pci_ids),
        "ipv4": text(app.ipv4), "mac": f"[{app.mac.hex(' ')}]" if app.mac else "", "await": strings(app.awaits),
        "cables": strings(app.cables), "volumes": strings(app.volumes), "mount": text(app.mount),
        "stack": text(app.stack), "switch": text(app.switch), "barrier": app.barrier,
        "restart": app.restart != NEVER and strings([app.restart]), **_restarts(app), "statistics": app.statistics,
        "args": strings(app.args), "env": strings(app.env), "cwd": text(app.cwd), "files": text(app.files),
        "storage": bool(app.storage) and cell(cells64(app.storage)),
        "user": app.user != (0, 0) and cell(f"{app.user[0]} {app.user[1]}"),
        "threads": app.threads is not None and cell(app.threads),
        "processes": app.processes != 1 and cell(app.processes),
    }


def _machine(shape: Board | Shape) -> Properties:
    if isinstance(shape, Board):
        return {"sockets": cell(shape.sockets), "l3-caches-per-socket": cell(shape.caches),
                "cores-per-l3-cache": cell(shape.cores), "threads-per-core": cell(shape.threads)}
    optional = {"l3-caches-per-socket": shape.caches, "nodes-per-socket": shape.nodes,
                "threads-per-core": shape.threads}
    return {"sockets": cell(shape.sockets), "cores-per-socket": cell(shape.cores),
            "memory-per-node": cell(cells64(shape.memory)),
            **{name: count != 1 and cell(count) for name, count in optional.items()}}


def _cpus_and_memory(out: _Writer, cluster_map: ClusterMap) -> None:
    several = cluster_map.machines > 1
    out.open("cpus")
    out.line(f"#address-cells = <{2 if several else 1}>;")
    out.line("#size-cells = <0>;")
    for i, cpu in enumerate(cluster_map.cpus):
        reg = f"{cpu.machine} {cpu.apic}" if several else f"{cpu.apic}"
        name = f"cpu{i}: {cluster_map.cpu_name(i)}"
        out.line(f'{name} {{ device_type = "cpu"; reg = <{reg}>; numa-node-id = <{cpu.node}>; }};')
    out.close()
    for r in cluster_map.memory:
        out.line(f'memory@{r.base:x} {{ device_type = "memory"; '
                 f"reg = <{cells64(r.base, r.size)}>; numa-node-id = <{r.node}>; }};")
    if cluster_map.distances:
        matrix = (cell(f"{a} {b} {d}") for (a, b), d in sorted(cluster_map.distances.items()))
        out.node("distance-map", {"compatible": strings(["numa-distance-map-v1"]),
                                  "distance-matrix": ", ".join(matrix)})


def _channel(channel: Channel) -> Properties:
    ends = {"reg": cell(channel.number), "ends": cell(f"{channel.ends[0]} {channel.ends[1]}")}
    if channel.ivshmem:
        return {**ends, "ivshmem": cell(f"{channel.ivshmem[0]:#x} {channel.ivshmem[1]:#x}"),
                "size": cell(cells64(channel.memory.size))}
    return {**ends, "memory": ranges([channel.memory])}


def _network(net: Network) -> Properties:
    return {"netmask": strings([net.netmask]), "gateway": strings([net.gateway]), "mtu": cell(net.mtu)}


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

    if cluster_map.shape:
        out.node("machine", _machine(cluster_map.shape))
    _cpus_and_memory(out, cluster_map)
    out.numbered("clusters", ((one.name, _cluster(one)) for one in cluster_map.clusters))
    if cluster_map.channels:
        out.numbered("channels", ((one.name, _channel(one)) for one in cluster_map.channels))
    if cluster_map.network:
        out.node("network", _network(cluster_map.network))
    out.numbered("applications", ((one.name, _application(one)) for one in cluster_map.applications))
    if cluster_map.shutdown or cluster_map.failure_timeout:
        timeout = cluster_map.failure_timeout
        out.node("run", {"shutdown": text(cluster_map.shutdown), "patience": bool(timeout) and cell(timeout)})
    out.close()
    return "\n".join(out.lines) + "\n"
