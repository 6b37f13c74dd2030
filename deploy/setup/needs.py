# SPDX-License-Identifier: BSD-2-Clause
"""Parts of set-up and build that a command needs, so that no more is installed and built for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deploy.base.paths import BUILD
from deploy.deployment import modules
from deploy.deployment.engines import ENGINES, REDIS
from topology.maps.check import images_of
from topology.maps.clustermap import ClusterMap

CHECKER = "lib/cluster-map/cluster-map.so"  # topology/maps/reader.py
LISTEN = "deploy/listen-backlog.so"         # deploy/machine/qemu.py
WRAPPER = "apps/libc/skerry-cc"             # which Meson writes; what it links:
NAMES, LAYER = "apps/libc/syscall-names.h", "net/skerry-layer.o"
LIBRARIES = (NAMES, LAYER, "net/skerry-layer-internal.o", "apps/libc/skerry-layer-alone.o",
             "apps/libc/skerry-for-linux.o", "net/skerry-layer-cores.o", "apps/libc/skerry-layer-alone-cores.o",
             "apps/libc/skerry-layer-alone-processes.o")
LINUX = ("deploy/load/linux_guest/linux-guest-init", "apps/ycsb/ycsb-linux")
# The interface for plugins that versions of QEMU have, from .. before; each has its plugins in the build folder.
INTERFACES = {1: ((7, 2), (9, 0)), 4: ((9, 2), (99, 0))}
BOOT = ("qemu", "image", "topology")
BOOT_GROUPS = frozenset(BOOT)


@dataclass(frozen=True)
class Needs:
    """`targets` are ninja's, in the build folder; None: all. `groups` are packages.toml's beside [build], and Python's
    of requirements-GROUP.txt."""

    targets: frozenset[str] | None = frozenset()
    groups: frozenset[str] = frozenset()

    @property
    def servers(self) -> frozenset[str]:
        """Returns the names of the servers that are among the targets: some have sources that nothing else needs."""
        made = {str(path): engine.name for engine in ENGINES.values() for path in (*engine.images, engine.linux)}
        return frozenset(made[name] for name in self.targets or () if name in made)

    def __or__(self, other: Needs) -> Needs:
        all_targets = self.targets is None or other.targets is None
        targets = None if all_targets else (self.targets or frozenset()) | (other.targets or frozenset())
        return Needs(targets, self.groups | other.groups)

    def covers(self, other: Needs) -> bool:
        has = self.targets is None or other.targets is not None and other.targets <= self.targets
        return has and other.groups <= self.groups


def _of(targets: Iterable[str], *groups: str) -> Needs:
    return Needs(frozenset(targets), frozenset(groups))


def target(name: str, debug: bool = False) -> str:
    """Ninja's, of a module."""
    return str(modules.module_path(name, debug=debug).relative_to(BUILD))


def images(names: Iterable[str], own: modules.Own = modules.NOT_OWN, debug: bool = False) -> Needs:
    """Modules of these names, and what boots them."""
    made = [*(target(name, debug) for name in names if name not in own),
            str(modules.loader_path(BUILD, debug).relative_to(BUILD))]
    return _of([*made, CHECKER, LISTEN], *BOOT)


def of_map(cluster_map: ClusterMap, own: modules.Own = modules.NOT_OWN) -> Needs:
    return images(images_of(cluster_map), own, modules.is_debug(cluster_map))


def kernels(locks: Iterable[str], *programs: str, statistics: bool = False, transactions: bool = False) -> Needs:
    """Kernels of these regimes, and those that count, or the one whose transactions the emulator executes; programs."""
    names = [*programs]
    for lock in locks:
        name, _, stat = lock.partition("+")
        names += [f"kernel-{lock}"] + ([f"kernel-{name}+stat"] if statistics and not stat else [])
        names += [f"kernel-{modules.MODELLED_RTM}"] if transactions and name == "rtm" else []
    return images(dict.fromkeys(names))


def beside_linux(server: str) -> Needs:
    """Returns the Linux guest's programs, with this server of `[redis]`."""
    return _of((*LINUX, str(ENGINES[server].linux)))


def plugin(*names: str) -> Needs:
    """Returns the plugins of these names, for each version of the emulator's interface."""
    return _of(f"emulator/{name}-{number}.so" for name in names for number in INTERFACES)


def of_targets(*names: str) -> Needs:
    """Returns programs by their paths in the build folder."""
    return _of(names)


def native(*names: str) -> Needs:
    """Programs of this machine, with a kernel in them or without."""
    return _of(f"cluster-kernel/bench/{name}" for name in names)


def natively(locks: Iterable[str]) -> Needs:
    return native("bench-cores", *(f"kernel-bench-{lock}{stat}" for lock in locks for stat in ("", "+stat"))) | PLOTS


def clocks(modelled: object) -> Needs:
    """Returns the plugin for a modelled machine's prices, or for cores in lockstep, and what draws the result."""
    return (MODELLED if modelled else plugin("lockstep")) | PLOTS


NOTHING = Needs()
EVERYTHING = (
    Needs(None, frozenset((*BOOT, "virsh", "libvirt", "plots", "science", "dask", "test", "outside", "tap", "fuzz",
                           "sqlite")))
)
NAMES_OF_TESTS = _of((CHECKER,))  # a configured build, which has the components' tests
FUZZ = _of((CHECKER,), "fuzz")  # its own programs are made after it (deploy/tools/fuzz/target.py)
COMPILER = _of(LIBRARIES)
CPLUSPLUS = COMPILER | _of((), "c++")
EXAMPLES = {"sqlite": COMPILER | _of((), "sqlite")}  # of examples/: those that need more than the compiler
MODELLED = _of(("emulator/modelled.so", "emulator/modelled-preload.so"))
BESIDE_LINUX = beside_linux(REDIS.name)
REDIS_OF_HOST = _of((str(REDIS.linux),))  # a process of this host's
OUTSIDE = _of((), "outside")
TAP = _of((), "tap")
PLOTS = _of((), "plots")
DOCS = _of((), "docs", "test") | PLOTS  # "test" has libclang, which reads the headers for a page
DEPLOY = _of((), "libvirt")
PROOFS = _of((), "proofs")  # which no command installs: --theorems of prove names them
PRICES = native("bench-prices", "bench-cores")
