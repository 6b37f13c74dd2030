# SPDX-License-Identifier: BSD-2-Clause
"""Circles of calls between files: none that is new, and none that grows.

Files that call each other in a circle can only be read, tested and replaced together. test_manager.py allows none in
the managers. Elsewhere some remain, with these sizes. A change that makes one smaller lowers its bound here.
"""

from collections.abc import Mapping

import pytest

from tests.structure.call_graph import Graph, calls, circles, objects_in, symbols_of

# Programs, and parts of them, by the folder of BUILD with their objects; sizes of their circles, the largest first.
BOUNDS: dict[str, tuple[str, tuple[int, ...]]] = {
    # the resident part, which loads clusters anew; memory and console
    "loader": ("cluster-manager/loader/loader.elf.p", (6, 2)),
    "cluster map": ("lib/cluster-map/cluster-map.so.p", ()),
    "POSIX layer": ("apps/libc/libskerry-posix.a.p", (26, 2)),  # threads, signals, events and memory; files and sockets
    # lwIP's data path, in and out; the sockets of a stack process. Calls that lwIP itself makes, of its hooks, are not
    # seen here.
    "sockets": ("net/libskerry-net.a.p", (5, 3)),
}


def graph_of(program: str) -> Graph:
    return calls(symbols_of(objects_in(BOUNDS[program][0])))


def excess(graph: Graph, bounds: tuple[int, ...]) -> list[str]:
    """A line for each circle that is larger than its bound, with the calls that it consists of."""
    lines = []
    for number, circle in enumerate(circles(graph)):
        bound = bounds[number] if number < len(bounds) else 0
        if len(circle) <= bound:
            continue
        lines.append(f"expected a circle of at most {bound} files, found {len(circle)}: {', '.join(circle)}; open it "
                     f"at one of:")
        lines += [f"  {user} -> {other}: {', '.join(graph[user][other])}" for user in circle
                  for other in sorted(graph[user]) if other in circle]
    return lines


@pytest.mark.parametrize("program", BOUNDS)
def test_bounds(program: str) -> None:
    """no circle of calls between files is new or has grown"""
    lines = excess(graph_of(program), BOUNDS[program][1])
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize(("program", "user", "other", "name"), [
    ("loader", "cluster-manager/loader/boot.S", "cluster-manager/loader/main.c", "loader_main"),
    ("cluster map", "lib/cluster-map/read.c", "lib/cluster-map/read_cluster.c", "read_clusters"),
    ("POSIX layer", "apps/libc/posix/dispatch.c", "apps/libc/posix/lock.c", "layer_lock"),
    ("sockets", "net/lwip/net.c", "net/lwip/connections.c", "connections_start"),
])  # fmt: skip
def test_something_was_read(program: str, user: str, other: str, name: str) -> None:
    """calls of C and of assembly are seen, in objects for link-time optimisation, too"""
    assert name in graph_of(program)[user][other]


@pytest.mark.parametrize(("uses", "sizes"), [
    ({"a": ["b"], "b": []}, []),
    ({"a": ["b"], "b": ["a"]}, [2]),
    ({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"], "e": ["f"], "f": ["e", "a"]}, [3, 2]),
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, []),
    ({"a": ["b"], "b": ["c", "a"], "c": ["b", "d"], "d": ["d"]}, [3]),
])  # fmt: skip
def test_components(uses: Mapping[str, list[str]], sizes: list[int]) -> None:
    """each strongly connected component is seen once"""
    assert [len(circle) for circle in circles(uses)] == sizes


def test_excess() -> None:
    """a circle that grows and one that is new are named with their calls"""
    graph: Graph = {"a": {"b": ["f"]}, "b": {"c": ["g"]}, "c": {"a": ["h"]}, "d": {"e": ["i"]}, "e": {"d": ["j"]}}
    assert not excess(graph, (3, 2))
    assert "  a -> b: f" in excess(graph, (2, 2)) and len(excess(graph, (2, 2))) == 4
    assert "  d -> e: i" in excess(graph, (3,))
