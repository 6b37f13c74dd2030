# SPDX-License-Identifier: BSD-2-Clause
"""The map as people like to see it, and as JSON."""

from itertools import groupby
from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from topology.foreign import format_spans
from topology.machines.machine import Core, Machine
from topology.maps.clustermap import Cluster, ClusterMap
from topology.maps.shares import distant
from topology.units import format_size


def _places(cluster_map: ClusterMap, cluster: Cluster, machine: Machine | None) -> list[Text]:
    """Cores that share socket, cache and node in one line, unless programs run on them."""
    cores = {core.apic: core for core in machine.cores} if machine else {}
    lines: list[Text] = []
    for where, places in groupby(cluster.cpus, lambda i: _where(cluster_map, i, cores)):
        group = list(places)
        apps = {i: ", ".join(a.name for a in cluster_map.applications if i in a.cores) for i in group}
        for run in [[i] for i in group] if any(apps.values()) else [group]:
            apics = format_spans(cluster_map.cpus[i].apic for i in run)
            text = f"cpu {format_spans(run):<7} APIC {apics:<7} {where} {apps[run[0]]}"
            lines.append(Text(text.rstrip()))
    return lines


def _where(cluster_map: ClusterMap, place: int, cores: dict[int, Core]) -> str:
    cpu = cluster_map.cpus[place]
    core = cores.get(cpu.apic)
    if core is None:
        return f"node {cpu.node:<3}"
    cache = "no L3" if core.l3 is None else f"L3 {core.l3}"
    return f"socket {core.socket:<3} node {cpu.node:<3} {cache:<6} {core.kind}".rstrip()


def _notes(cluster_map: ClusterMap, machine: Machine | None) -> list[str]:
    return [*(machine.notes if machine else ()), *distant(cluster_map)]


def _machine(machine: Machine) -> list[Text]:
    physical = len({core.physical for core in machine.cores})
    caches = len({core.l3 for core in machine.cores} - {None})
    parts = [f"{len(machine.sockets)} socket", f"{len({c.node for c in machine.cores})} node"]
    parts += [f"{caches} L3 cache", f"{physical} core"]
    parts += [f"{len(machine.cores)} thread"] if machine.has_smt else []
    counted = [part + "s" * (not part.startswith("1 ")) for part in parts]
    counted.append(format_size(sum(r.size for r in machine.memory)))
    return [Text(f"{machine.name}: {', '.join(counted)}")]


def draw(cluster_map: ClusterMap, machine: Machine | None = None) -> Group:
    """A box for each cluster, a line for each channel."""
    nodes = {(r.base, r.end): r.node for r in cluster_map.memory}
    parts: list[Any] = _machine(machine) if machine else []
    parts += [Text(f"note: {note}", style="dim") for note in _notes(cluster_map, machine)]
    for cluster in cluster_map.clusters:
        lines = _places(cluster_map, cluster, machine)
        for r in cluster.memory:
            of = {node for (base, end), node in nodes.items() if base < r.end and r.base < end}
            where = f"{r}  {format_size(r.size)}"
            lines.append(Text(f"memory   {where:<36} node {format_spans(of)}", style="dim"))
        title = f"cluster {cluster.number}  kernel {cluster.kernel}" + ("  devices" if cluster.devices else "")
        parts.append(Panel(Group(*lines), title=title, title_align="left", expand=False, padding=(0, 1)))
    for channel in cluster_map.channels:
        a, b = channel.ends
        parts.append(
            Text(f" channel {channel.number}: cluster {a} <--> cluster {b}   {format_size(channel.memory.size)}")
        )
    return Group(*parts)


def _cpus(cluster_map: ClusterMap, machine: Machine | None) -> list[dict[str, Any]]:
    cores = {core.apic: core for core in machine.cores} if machine else {}
    entries: list[dict[str, Any]] = []
    for i, cpu in enumerate(cluster_map.cpus):
        entry: dict[str, Any] = {"cpu": i, "apic": cpu.apic, "node": cpu.node}
        if core := cores.get(cpu.apic):
            entry |= {"socket": core.socket, "l3": core.l3, "core": core.physical}
            entry |= {"kind": core.kind} if core.kind else {}
        entries.append(entry)
    return entries


def to_json(cluster_map: ClusterMap, machine: Machine | None = None) -> dict[str, Any]:
    m = cluster_map
    return {
        "machine": vars(m.shape) if m.shape else None,
        "notes": _notes(m, machine),
        "cpus": _cpus(m, machine),
        "memory": [{"base": r.base, "size": r.size, "node": r.node} for r in m.memory],
        "distances": [{"from": a, "to": b, "distance": d} for (a, b), d in sorted(m.distances.items())],
        "clusters": [
            {"cluster": c.number, "kernel": c.kernel, "root": c.root, "cpus": c.cpus,
             "memory": [{"base": r.base, "size": r.size} for r in c.memory],
             "modules": c.modules, "devices": c.devices}
            for c in m.clusters
        ],
        "channels": [
            {"channel": c.number, "ends": list(c.ends), "memory": {"base": c.memory.base, "size": c.memory.size}}
            for c in m.channels
        ],
        "network": vars(m.network) if m.network else None,
        "applications": [
            {"application": a.name, "program": a.program, "cpu": a.cpu, "cores": a.cores, "heap": a.heap,
             "role": a.role, "ipv4": a.ipv4, "mac": a.mac.hex(":") if a.mac else None, "args": a.args,
             "await": a.awaits, "cables": a.cables, "stack": a.stack, "barrier": a.barrier}
            for a in m.applications
        ],
        "shutdown": m.shutdown,
        "patience": m.failure_timeout,
    }
