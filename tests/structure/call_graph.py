# SPDX-License-Identifier: BSD-2-Clause
"""Calls between sources, from the symbols of objects: definitions and references, as the linker sees them."""

import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from tests.structure import tree

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
