# SPDX-License-Identifier: BSD-2-Clause
"""What an instance of a Redis Cluster says of itself and of the others: CLUSTER NODES, INFO."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from topology.errors import InputError

SLOTS = 16384


@dataclass(frozen=True)
class Endpoint:
    """An instance that is wanted: a copy of a shard, `number` 0 its master when all is whole."""

    name: str
    reached: tuple[str, int]  # host and port for this process
    address: tuple[str, int]  # IPv4 address and port for the other instances
    shard: int
    number: int


@dataclass(frozen=True)
class Node:
    """A line of CLUSTER NODES."""

    id: str
    address: tuple[str, int]  # ("", 0): unknown
    flags: frozenset[str]
    master: str = ""  # id; empty: it is a master
    epoch: int = 0
    linked: bool = True
    slots: frozenset[int] = frozenset()
    is_moving: bool = False  # slots are being moved from or to it

    @property
    def is_master(self) -> bool:
        return "master" in self.flags


@dataclass(frozen=True)
class View:
    """One instance's, at one moment."""

    myself: Node
    nodes: Mapping[str, Node] = field(default_factory=dict)  # by id, itself and those in a handshake included
    is_ok: bool = True         # cluster_state
    is_synchronised: bool = False  # a replica: with its master, at this moment
    has_data: bool = False     # it holds keys, or was synchronised with the master it has
    offset: int = 0            # bytes of its master's stream that it has

    @property
    def known(self) -> dict[str, Node]:
        """The nodes but those of which only the address is known yet."""
        return {id: node for id, node in self.nodes.items() if "handshake" not in node.flags}


def ranges(slots: frozenset[int] | set[int]) -> list[tuple[int, int]]:
    """Returns slots as ranges, first and last."""
    found: list[tuple[int, int]] = []
    for slot in sorted(slots):
        if found and found[-1][1] == slot - 1:
            found[-1] = found[-1][0], slot
        else:
            found.append((slot, slot))
    return found


_ADDRESS = re.compile(r"(\d+\.\d+\.\d+\.\d+)?:(\d{1,5})(@\d{1,5})?(,[^ ]*)?", re.ASCII)
_SLOTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


def parse_nodes(text: str, source: str) -> dict[str, Node]:
    """Reads an answer to CLUSTER NODES. Raises InputError, with `source`, for what is none."""
    nodes = {}
    for line in text.splitlines():
        node = _node(line)
        if node is None:
            raise InputError(source, f"answers CLUSTER NODES with {line[:100]!r}")
        nodes[node.id] = node
    if sum("myself" in node.flags for node in nodes.values()) != 1:
        raise InputError(source, "answers CLUSTER NODES without a line of itself")
    return nodes


def _node(line: str) -> Node | None:
    words = line.split(" ")
    if len(words) < 8 or not re.fullmatch(r"[0-9a-f]{40}", words[0]) or not (place := _ADDRESS.fullmatch(words[1])):
        return None
    if not re.fullmatch(r"-|[0-9a-f]{40}", words[3]) or not words[6].isdecimal():
        return None
    slots: set[int] = set()
    moving = False
    for word in filter(None, words[8:]):
        if word.startswith("["):
            moving = True
            continue
        if not (match := _SLOTS.fullmatch(word)) or int(match[2] or match[1]) >= SLOTS:
            return None
        slots.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    address = (place[1], int(place[2])) if place[1] and int(place[2]) else ("", 0)
    return Node(words[0], address, frozenset(words[2].split(",")), words[3].strip("-"), int(words[6]),
                words[7] == "connected", frozenset(slots), moving)


def fields(text: str) -> dict[str, str]:
    """Reads an answer to INFO or CLUSTER INFO: a field a line."""
    return {name: value for name, colon, value in (line.partition(":") for line in text.splitlines()) if colon}


def view_of(source: str, nodes: str, cluster: str, info: str, synchronised: Mapping[str, str] | None = None) -> View:
    """Returns the view of the instance that answers so to CLUSTER NODES, CLUSTER INFO and INFO. `synchronised`: the
    last master with which each replica was seen to be so, by their ids. Raises InputError for what is no answer."""
    known = parse_nodes(nodes, source)
    myself = next(node for node in known.values() if "myself" in node.flags)
    said = fields(info)
    up = said.get("role") == "slave" and said.get("master_link_status") == "up"
    offset = said.get("slave_repl_offset", "0")
    keys = said.get("db0", "")
    return View(myself, known, fields(cluster).get("cluster_state") == "ok", up,
                up or keys.startswith("keys=") or bool(myself.master)
                and (synchronised or {}).get(myself.id) == myself.master,
                int(offset) if re.fullmatch(r"-?\d{1,18}", offset, re.ASCII) else 0)
