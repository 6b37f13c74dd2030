# SPDX-License-Identifier: BSD-2-Clause
"""Maps a function to its component by its source file, and a component to its group."""

from __future__ import annotations

import re

from deploy.profile.linux_folders import IDLE, IN, MODULES, NET
from deploy.profile.programs import UNKNOWN, Function
from topology import drivers

# A part of the source file's path, and the component that it tells; the first that fits.
_BY_SOURCE = (
    ("/cluster-kernel/", "kernel"),
    ("/cluster-manager/loader/", "loader"),
    ("/cluster-manager/", "manager"),
    ("/net/switch/", "switch"),
    *((f"/net/{name}/", name) for name in drivers.every()),
    ("/net/", "sockets"),
    ("/third-party/lwip/", "lwIP"),
    ("/libc/posix/malloc.c", "malloc"),
    ("/libc/posix/allocate.c", "malloc"),
    ("/libc/posix/", "POSIX layer"),
    ("/libc/string/", "strings"),
    ("/musl/src/string/", "strings"),
    ("/musl/", "musl"),
    ("/deps/hiredis/", "hiredis"),
    # The Linux guest's: its kernel's folders, the allocator of its Redis, its C library.
    (f"{IN}{NET}", "Linux network"),
    (f"{IN}{MODULES}", "network card"),
    (f"{IN}{IDLE}", "idle"),
    (f"{IN}arch", "Linux arch, entry"),
    (f"{IN}entry", "Linux arch, entry"),
    *((f"{IN}{folder}", f"Linux {folder}") for folder in ("kernel", "mm", "fs", "lib")),
    (IN, "Linux, other"),
    ("/jemalloc/", "malloc"),
    ("./malloc/", "malloc"),
    ("./string/", "strings"),
    ("/sysdeps/x86_64/multiarch/", "strings"),
    ("/glibc/", "glibc"),
)
# Where the source says nothing else: the program's own.
_BY_PROGRAM = {"redis-server": "Redis", "ycsb": "client", "root": "manager", "vdso": "vDSO"}
_LIBRARY = re.compile(r"\.so\b")

APPLICATION, LIBC, NETWORK, KERNEL = "application", "libc", "network", "kernel"
GROUPS = (APPLICATION, LIBC, NETWORK, KERNEL)  # that every profile has
SPLIT = "instructions_per_op_by"  # the metric that has them
_GROUP = {
    "kernel": KERNEL, "manager": KERNEL, "loader": KERNEL,
    "switch": NETWORK, **{name: NETWORK for name in drivers.every()}, "sockets": NETWORK, "lwIP": NETWORK,
    "POSIX layer": LIBC, "malloc": LIBC, "strings": LIBC, "musl": LIBC, "glibc": LIBC, "vDSO": LIBC,
    "Linux network": NETWORK, "network card": NETWORK, "idle": IDLE,
}  # fmt: skip


def component(program: str, function: Function) -> str:
    """`program`: the name of the image that has the function."""
    if program.startswith("kernel-"):
        return "kernel"
    source = function.source
    if program in drivers.every() and "/net/driver/" in source:  # common parts of all drivers
        return program
    for part, name in _BY_SOURCE:
        if source != UNKNOWN and part in source:
            return name
    return _BY_PROGRAM.get(program, "glibc" if _LIBRARY.search(program) else program)


def group(component: str) -> str:
    """Kernels with their managers, the network, the C library, Linux with nothing to do; all else is an application."""
    return _GROUP.get(component, KERNEL if component.startswith("Linux") else APPLICATION)
