# SPDX-License-Identifier: BSD-2-Clause
"""Multiboot modules: their names in the map, and the files that the build makes of them."""

from pathlib import Path

from deploy.paths import BUILD
from topology.check import images_of
from topology.clustermap import ClusterMap
from topology.errors import InputError

LOADER = Path("cluster-manager/loader/loader.elf")
KERNELS = Path("cluster-kernel")
REGIMES = ("clh", "fine", "rtm", "mcs", "ticket", "none")  # each also as REGIME+stat, which counts
PROGRAMS = {
    "root": Path("cluster-manager/root/root.elf"),
    "switch": Path("net/switch"),
    "virtio-net": Path("net/virtio-net"),
    "stack": Path("net/stack.elf"),
    "redis-server": Path("apps/redis/redis-server"),
    "ycsb": Path("apps/ycsb/ycsb.elf"),
    "metrics": Path("apps/metrics/metrics.elf"),
    "posixtest": Path("apps/libc/posixtest.elf"),
    "ktest": Path("apps/ktest/ktest.elf"),
    "pingpong": Path("apps/pingpong/pingpong.elf"),
    "stress": Path("apps/stress/stress.elf"),
    "crash": Path("tests/programs/crash.elf"),
}

_ELF64_X86_64 = b"\x7fELF\x02\x01"


def module_path(name: str, build: Path = BUILD) -> Path:
    if name.startswith("kernel-"):
        regime = name.removeprefix("kernel-").removesuffix("+stat")
        if regime not in REGIMES:
            raise InputError(name, f"no such kernel; the lock regimes are {', '.join(REGIMES)}")
        return build / KERNELS / f"{name}.elf"
    if name in PROGRAMS:
        return build / PROGRAMS[name]
    raise InputError(name, f"no such module; there are kernel-..., {', '.join(PROGRAMS)}")


def _check_elf(name: str, path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(20)
    except OSError:
        raise InputError(name, f"its image {path} is missing; ./skerry build makes it") from None
    if header[:6] != _ELF64_X86_64 or header[18:20] != b"\x3e\x00":
        raise InputError(name, f"{path} is not an ELF64 file for x86-64")


def check_names(cluster_map: ClusterMap) -> None:
    """Refuses modules that no build makes, before there is one."""
    for cluster in cluster_map.clusters:
        for name in (f"kernel-{cluster.kernel}", cluster.root, *cluster.modules):
            try:
                module_path(name)
            except InputError as error:
                raise InputError(cluster.name, str(error)) from None
        if cluster.root not in PROGRAMS:
            raise InputError(cluster.name, f"root {cluster.root} is not a program")


def collect(cluster_map: ClusterMap, build: Path = BUILD) -> dict[str, Path]:
    """Files of every module that the map needs; an unknown or missing one is refused with its user's name."""
    users: dict[str, str] = {}
    for cluster in cluster_map.clusters:
        for name in (f"kernel-{cluster.kernel}", cluster.root, *cluster.modules):
            users.setdefault(name, cluster.name)
    found = {}
    for name in images_of(cluster_map):
        try:
            found[name] = module_path(name, build)
            _check_elf(name, found[name])
        except InputError as error:
            raise InputError(users[name], str(error)) from None
    return found


def loader(build: Path = BUILD) -> Path:
    path = build / LOADER
    if not path.exists():
        raise InputError("loader", f"its image {path} is missing; ./skerry build makes it")
    return path
