# SPDX-License-Identifier: BSD-2-Clause
"""The map as people like to see it, and as JSON."""

from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from topology.clustermap import Cluster, ClusterMap
from topology.units import format_size


def _cores(cluster_map: ClusterMap, cluster: Cluster) -> list[Text]:
    lines = []
    for place in cluster.cpus:
        cpu = cluster_map.cpus[place]
        apps = ", ".join(a.name for a in cluster_map.applications if a.cpu == place)
        lines.append(Text(f"cpu {place:<3} APIC {cpu.apic:<4} node {cpu.node:<3} {apps}".rstrip()))
    return lines


def draw(cluster_map: ClusterMap) -> Group:
    """A box for each cluster, a line for each channel."""
    parts: list[Any] = []
    for cluster in cluster_map.clusters:
        lines = _cores(cluster_map, cluster)
        lines += [Text(f"memory   {r}  {format_size(r.size)}", style="dim") for r in cluster.memory]
        title = f"cluster {cluster.number}  kernel {cluster.kernel}" + ("  devices" if cluster.devices else "")
        parts.append(Panel(Group(*lines), title=title, title_align="left", expand=False, padding=(0, 1)))
    for channel in cluster_map.channels:
        a, b = channel.ends
        parts.append(
            Text(f" channel {channel.number}: cluster {a} <--> cluster {b}   {format_size(channel.memory.size)}")
        )
    return Group(*parts)


def to_json(cluster_map: ClusterMap) -> dict[str, Any]:
    m = cluster_map
    return {
        "machine": vars(m.shape) if m.shape else None,
        "cpus": [{"cpu": i, "apic": c.apic, "node": c.node} for i, c in enumerate(m.cpus)],
        "memory": [{"base": r.base, "size": r.size, "node": r.node} for r in m.memory],
        "distances": [{"from": a, "to": b, "distance": d} for (a, b), d in sorted(m.distances.items())],
        "clusters": [
            {
                "cluster": c.number,
                "kernel": c.kernel,
                "root": c.root,
                "cpus": c.cpus,
                "memory": [{"base": r.base, "size": r.size} for r in c.memory],
                "modules": c.modules,
                "devices": c.devices,
            }
            for c in m.clusters
        ],
        "channels": [
            {
                "channel": c.number,
                "ends": list(c.ends),
                "memory": {"base": c.memory.base, "size": c.memory.size},
            }
            for c in m.channels
        ],
        "network": vars(m.network) if m.network else None,
        "applications": [
            {
                "application": a.name,
                "program": a.program,
                "cpu": a.cpu,
                "heap": a.heap,
                "role": a.role,
                "ipv4": a.ipv4,
                "mac": a.mac.hex(":") if a.mac else None,
                "args": a.args,
                "await": a.awaits,
                "barrier": a.barrier,
            }
            for a in m.applications
        ],
        "shutdown": m.shutdown,
    }
