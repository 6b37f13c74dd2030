# SPDX-License-Identifier: BSD-2-Clause
"""Maps a function to its component by its source file, and a component to its group."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from deploy.base.errors import Failure
from deploy.deployment import engines
from deploy.profile.programs import UNKNOWN, Function
from topology import drivers

IN = "linux:"  # in front of each folder
NET, MODULES, IDLE = "net", "modules", "idle"
_NET_FIRST, _NET_BEHIND = "devm_register_netdev", "pcibios_align_resource"
# In the order of addresses. What is not there has no folder of its own.
_FIRST = (
    ("_stext", "arch"), ("nr_processes", "kernel"), ("filemap_check_errors", "mm"), ("do_truncate", "fs"),
    ("cap_capable", "security"), ("crypto_mod_get", "crypto"), ("I_BDEV", "block"), ("lockref_get", "lib"),
    ("pci_bus_read_config_byte", "drivers"), (_NET_FIRST, NET), (_NET_BEHIND, "arch"), ("argv_free", "lib"),
    ("clear_page_rep", "arch"), ("do_syscall_64", "entry"), ("__sched_text_start", "kernel"),
    ("__entry_text_start", "entry"), ("__softirqentry_text_start", "kernel"),
)  # fmt: skip
# In several folders: the driver of the loopback interface; the loop of an idle core.
_LOOPBACK = ("loopback_",)
_IDLE = (
    "do_idle", "cpu_startup_entry", "default_idle", "native_safe_halt", "arch_cpu_idle", "call_cpuidle", "cpuidle_",
    "menu_", "poll_idle", "tick_nohz_", "__tick_nohz", "can_stop_idle_tick", "ct_idle_", "hrtimer_next_event_without",
    "hrtimer_get_next_event", "get_next_timer_interrupt", "__get_next_timer_interrupt", "sched_clock_idle_",
    "quiet_vmstat", "rcu_needs_cpu",
)  # fmt: skip


class Folders:
    """The source folders of one kernel, by the addresses of its functions."""

    def __init__(self, addresses: Mapping[str, int]) -> None:
        for name in (_NET_FIRST, _NET_BEHIND):
            if name not in addresses:
                raise Failure(f"the Linux guest's symbols: no {name}, which bounds the network's functions")
        starts = [(addresses[name], folder) for name, folder in _FIRST if name in addresses]
        if starts != sorted(starts):
            raise Failure("the Linux guest's symbols: its kernel is linked in another order")
        self._starts, self._folders = [start for start, _ in starts], [folder for _, folder in starts]

    def source(self, address: int, name: str, module: str | None) -> str:
        """The folder, with IN in front."""
        if module:
            return f"{IN}{MODULES}"
        if name.startswith(_IDLE):
            return f"{IN}{IDLE}"
        if name.startswith(_LOOPBACK):
            return f"{IN}{NET}"
        index = bisect_right(self._starts, address)
        return f"{IN}{self._folders[index - 1] if index else 'arch'}"


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
_SERVERS = {name: engine.title for name, engine in engines.PROGRAMS.items()}
# Where the source says nothing else: the program's own.
_BY_PROGRAM = {**_SERVERS, "ycsb": "client", "root": "manager", "vdso": "vDSO"}
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
