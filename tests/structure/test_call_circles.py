# SPDX-License-Identifier: BSD-2-Clause
"""Circles of calls between files: none that is new, and none that grows; in the managers none, and calls go down.

Files that call each other in a circle can only be read, tested and replaced together. Where some remain, BOUNDS has
their sizes; a change that makes one smaller lowers its bound. Calls come from the symbols of objects: definitions and
references, as the linker sees them.
"""

import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from deploy.deployment import modules
from tests.structure import tree
from tests.structure.test_includes import MANAGER, MANAGER_LAYERS

Symbols = dict[str, tuple[set[str], set[str]]]  # by source: names that it defines, names that it needs
Graph = dict[str, dict[str, list[str]]]  # by source: the sources that it uses, with the names


def symbols_of(objects: Mapping[str, Path]) -> Symbols:
    """Reads objects, by source. gcc-nm reads those for link-time optimisation, too."""
    symbols: Symbols = {}
    for source, item in objects.items():
        listed = subprocess.run(["gcc-nm", str(item)], check=True, capture_output=True, text=True).stdout
        rows = [line.split()[-2:] for line in listed.splitlines()]
        symbols[source] = {name for kind, name in rows if kind in "TDBRCVW"}, {name for kind, name in rows
                                                                               if kind == "U"}
    return symbols


@cache
def _sources() -> dict[Path, Path]:
    """The sources of objects, both relative to BUILD and ROOT, without those of others."""
    sources = {}
    for entry, _ in tree.compiled():
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        if source.is_relative_to(ROOT) and not source.is_relative_to(THIRD_PARTY):
            sources[Path(entry["output"])] = source.relative_to(ROOT)
    return sources


def objects_in(folder: str) -> dict[str, Path]:
    """The objects of our sources that the build keeps in this folder of BUILD, by source."""
    return {str(source): BUILD / item for item, source in _sources().items() if item.parent == Path(folder)}


def calls(symbols: Symbols) -> Graph:
    home = {name: source for source, (defined, _) in symbols.items() for name in defined}
    graph: Graph = {source: {} for source in symbols}
    for source, (_, needed) in symbols.items():
        for name in sorted(needed & home.keys()):
            if home[name] != source:
                graph[source].setdefault(home[name], []).append(name)
    return graph


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of at least two sources, the largest first (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(source: str) -> None:
        index[source] = low[source] = len(index)
        stack.append(source)
        for other in graph[source]:
            if other not in index:
                visit(other)
                low[source] = min(low[source], low[other])
            elif other in stack:
                low[source] = min(low[source], index[other])
        if low[source] == index[source]:
            at = stack.index(source)
            components.append(sorted(stack[at:]))
            del stack[at:]

    for source in graph:
        if source not in index:
            visit(source)
    return sorted((each for each in components if len(each) > 1), key=lambda each: (-len(each), each))


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


# ---- The manager's layers: calls go down, as includes do (test_includes.py) ----

LAYERS = [Path(layer).name for layer in MANAGER_LAYERS]


@cache
def symbols_of_manager() -> Symbols:
    """Returns the symbols of the manager as it is linked, by "folder/file.c"; start.S and main.c are in no folder."""
    objects: dict[str, Path] = {}
    for item in sorted(modules.module_path("root").with_suffix(".elf.p").glob("*.o")):
        source = next((f"{layer}/{name}" for layer in LAYERS
                       if (name := item.stem.removeprefix(f"{layer}_")) != item.stem), item.stem)
        assert (ROOT / MANAGER / source).is_file(), source
        objects[source] = item
    return symbols_of(objects)


def level(source: str) -> int:
    folder = Path(source).parent.name
    return LAYERS.index(folder) if folder else len(LAYERS)


def upward(of: Symbols) -> list[str]:
    return [f"{user} uses {', '.join(names)} of {other}, which is above it"
            for user, others in calls(of).items() for other, names in others.items()
            if level(other) > level(user)]  # fmt: skip


def test_calls() -> None:
    """no file uses a name of a layer above its own"""
    assert not upward(symbols_of_manager()), "\n".join(upward(symbols_of_manager()))


def test_circles_of_manager() -> None:
    """no files of the manager use each other in a circle"""
    assert not circles(calls(symbols_of_manager()))


def test_all_layers_were_read() -> None:
    """all folders have sources, and some calls are seen"""
    assert {level(source) for source in symbols_of_manager()} == set(range(len(LAYERS) + 1))
    assert "mailbox_put" in calls(symbols_of_manager())["run/report.c"]["base/mailbox.c"]


@pytest.mark.parametrize(("needs", "wrong", "circle"), [
    ({"run/a.c": "b", "caps/b.c": ""}, 0, 0),
    ({"run/a.c": "", "caps/b.c": "a"}, 1, 0),
    ({"run/a.c": "b", "run/b.c": "c", "run/c.c": "a", "run/d.c": "a"}, 0, 3),
    ({"main.c": "a", "run/a.c": "b", "caps/b.c": "main"}, 1, 3),
])  # fmt: skip
def test_mistakes(needs: dict[str, str], wrong: int, circle: int) -> None:
    """a call upward and a circle are seen"""
    made = {source: ({Path(source).stem}, set(needed.split())) for source, needed in needs.items()}
    assert (len(upward(made)), sum(map(len, circles(calls(made))))) == (wrong, circle)
