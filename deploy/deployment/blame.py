# SPDX-License-Identifier: BSD-2-Clause
"""Maps an error of planning to the line of the deployment file that it is about."""

from collections.abc import Iterator
from dataclasses import replace

from deploy.deployment.model import Deployment
from deploy.deployment.places import Places, title
from topology.errors import InputError, KeyPath
from topology.maps.clustermap import ClusterMap

LAYOUT, LOCK, MACHINE = ("clusters", "layout"), ("clusters", "lock"), ("machine",)
# Parameters of what plans, which are options of the command line, too, and the keys that say them.
PARAMETERS: dict[str, KeyPath] = {
    "layout": LAYOUT,
    "switch": ("network", "switch"),
    **{name: ("machine", name) for name in ("sockets", "cores", "memory")},
}
ALONE = (LAYOUT, PARAMETERS["switch"])  # keys that an option stands for: without them it is the option's fault
INSTEAD: dict[str, KeyPath] = {"clusters": MACHINE, "network": ("redis",)}  # where the file says nothing of the table


def traced(error: InputError, cluster_map: ClusterMap) -> InputError:
    """Returns the error with the key of the deployment that the map's node comes from, if it is about such a node."""
    node, *rest = error.at or (error.culprit,)
    of_node: dict[str | int, KeyPath] = {app.name: (*app.origin, *rest) for app in cluster_map.applications}
    of_node |= {cluster.name: LOCK if rest == ["kernel"] else LOCK[:1] for cluster in cluster_map.clusters}
    return replace(error, at=of_node[node], of_node=True) if node in of_node else error


def blamed(error: InputError, deployment: Deployment) -> InputError:
    """Returns the error with file and line, where a file says what is refused; unchanged where the command line
    does."""
    places = deployment.places
    if places is None:
        return error
    first = (error.at or (error.culprit,))[0]
    option = error.at[:1] == (first,) and len(error.at) == 1 and first in PARAMETERS
    path = PARAMETERS[str(first)] if option else error.at or (error.culprit,)
    if path == LAYOUT and deployment.layout == Deployment.layout and MACHINE in places.lines:
        return _at(error, places, MACHINE, f"layout {deployment.layout}: {error.problem}")
    problem = f"{error.culprit}: {error.problem}" if error.of_node else error.problem
    if path == LOCK and LOCK not in places.lines:  # the default is never refused
        return replace(error, culprit="--lock", problem=problem)
    for candidate in [path] if path in ALONE else _candidates(path):
        if candidate in places.lines:
            return _at(error, places, candidate, problem)
    return error if option else replace(error, place=places.place(()))


def _candidates(path: KeyPath) -> Iterator[KeyPath]:
    """The key and what is around it, the closest first."""
    for length in range(len(path), 0, -1):
        yield path[:length]
    if path[0] in INSTEAD:
        yield INSTEAD[str(path[0])]


def _at(error: InputError, places: Places, path: KeyPath, problem: str) -> InputError:
    return replace(error, culprit=title(path), problem=problem, at=path, place=places.place(path))
