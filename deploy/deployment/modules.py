# SPDX-License-Identifier: BSD-2-Clause
"""Multiboot modules: their names in the map, and the files that the build makes of them."""

from collections.abc import Mapping
from pathlib import Path

from deploy.base import elf
from deploy.base.paths import BUILD
from deploy.deployment import engines
from deploy.deployment.file_tree import FileTree
from topology import drivers, regimes
from topology.errors import InputError
from topology.maps.check import images_of
from topology.maps.clustermap import ClusterMap

LOADER = Path("cluster-manager/loader/loader.elf")
KERNELS = Path("cluster-kernel")
REGIMES = regimes.names()
VARIANTS = ("", "+stat", "+debug")  # of each regime's kernel: plain, counting, counting and with assertions
MODELLED_RTM = "rtm+model"  # rtm with transactions that a modelled machine executes; of no use elsewhere
PROGRAMS = {
    "root": Path("cluster-manager/root/root.elf"),
    "switch": Path("net/switch"),
    **{name: Path("net") / name for name in drivers.every()},
    "stack": Path("net/stack.elf"),
    "volume": Path("net/volume"),
    **{path.name: path for engine in engines.ENGINES.values() for path in engine.images},
    "ycsb": Path("apps/ycsb/ycsb.elf"),
    "metrics": Path("apps/metrics/metrics.elf"),
    "posixtest": Path("apps/libc/posixtest.elf"),
    "ktest": Path("apps/ktest/ktest.elf"),
    "pingpong": Path("apps/pingpong/pingpong.elf"),
    "pingpong-many": Path("apps/pingpong/pingpong-many.elf"),
    "stress": Path("apps/stress/stress.elf"),
    "wakeups": Path("apps/wakeups/wakeups.elf"),
    "entries": Path("apps/entries/entries.elf"),
    "shards": Path("apps/shards/shards.elf"),
    "crash": Path("tests/programs/crash.elf"),
    "hostile": Path("tests/programs/hostile.elf"),
    "sleep": Path("tests/programs/sleep.elf"),
    "touch": Path("tests/programs/touch.elf"),
    "guard": Path("tests/programs/guard.elf"),
}
# Programs that the build makes a second time, with assertions (lib/include/skerry/require.h): where every kernel is a
# debug image, these and the loader are, too.
DEBUG = "+debug"
DEBUGGED = {"root", "switch", *drivers.every(), "stack", "volume", "posixtest", "ycsb"}

RESERVED = {"map", "loader", *PROGRAMS, *(f"kernel-{regime}{stat}" for regime in REGIMES for stat in VARIANTS)}
Own = Mapping[str, Path | FileTree]  # modules that no build makes: their names, and the user's executables and files
NOT_OWN: Own = {}


def is_debug(cluster_map: ClusterMap) -> bool:
    """Whether every kernel is a debug image."""
    return all(cluster.kernel.endswith(DEBUG) for cluster in cluster_map.clusters)


def _variant(path: Path, debug: bool) -> Path:
    return path.with_name(f"{path.stem}{DEBUG}{path.suffix}") if debug else path


def module_path(name: str, build: Path = BUILD, debug: bool = False) -> Path:
    if name.startswith("kernel-"):
        regime = name.removeprefix("kernel-")
        if regime != MODELLED_RTM and regime not in (f"{name}{variant}" for name in REGIMES for variant in VARIANTS):
            raise InputError(name, f"no such kernel; the lock regimes are {', '.join(REGIMES)}")
        return build / KERNELS / f"{name}.elf"
    if name in PROGRAMS:
        return build / _variant(PROGRAMS[name], debug and name in DEBUGGED)
    raise InputError(name, f"no such module; there are kernel-..., {', '.join(PROGRAMS)}")


def _check_elf(name: str, path: Path) -> None:
    try:
        data = path.read_bytes()
    except OSError:
        raise InputError(name, f"its image {path} is missing; ./skerry build makes it") from None
    elf.check(name, str(path), data)


def check_names(cluster_map: ClusterMap, own: Own = NOT_OWN) -> None:
    """Refuses modules that no build makes, before there is one."""
    for cluster in cluster_map.clusters:
        for name in (f"kernel-{cluster.kernel}", cluster.root, *cluster.modules):
            try:
                if name == f"kernel-{MODELLED_RTM}":
                    raise InputError(name,
                                     "a modelled machine puts it in the place of kernel rtm; nothing else executes its "
                                     "transactions")
                own.get(name) or module_path(name)
            except InputError as error:
                of = "kernel" if name.startswith("kernel-") else "modules"
                raise InputError(cluster.name, str(error), at=(cluster.name, of)) from None
        if cluster.root not in PROGRAMS:
            raise InputError(cluster.name, f"root {cluster.root} is not a program")


def collect(cluster_map: ClusterMap, build: Path = BUILD, own: Own = NOT_OWN) -> dict[str, Path]:
    """Images of every module that the map needs and that has one; an unknown or missing one is refused with its user's
    name."""
    users: dict[str, str] = {}
    debug = is_debug(cluster_map)
    for cluster in cluster_map.clusters:
        for name in (f"kernel-{cluster.kernel}", cluster.root, *cluster.modules):
            users.setdefault(name, cluster.name)
    files = {}
    for name in images_of(cluster_map):
        module = own.get(name)
        if isinstance(module, FileTree):
            continue
        try:
            files[name] = module or module_path(name, build, debug)
            _check_elf(name, files[name])
        except InputError as error:
            raise InputError(users[name], str(error)) from None
    return files


def are_built(cluster_map: ClusterMap, build: Path = BUILD, own: Own = NOT_OWN) -> bool:
    """The loader and all that the map needs, though it may be old."""
    debug = is_debug(cluster_map)
    needed = [own.get(name) or module_path(name, build, debug) for name in images_of(cluster_map)]
    return all(path.exists() for path in (loader_path(build, debug), *needed) if isinstance(path, Path))


def loader_path(build: Path = BUILD, debug: bool = False) -> Path:
    return build / _variant(LOADER, debug)


def loader(build: Path = BUILD, debug: bool = False) -> Path:
    path = loader_path(build, debug)
    if not path.exists():
        raise InputError("loader", f"its image {path} is missing; ./skerry build makes it")
    return path
