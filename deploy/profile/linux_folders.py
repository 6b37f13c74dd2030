# SPDX-License-Identifier: BSD-2-Clause
"""Maps a function of Linux's kernel to the folder of its source.

The kernel names no sources, but it is linked folder by folder, in an order that its makefiles fix: a function is from
the folder whose well-known function stands before it. Some others of a folder stand before that one: they count for the
folder in front, but for those of `net`, whose first and last are known. Modules are the network card's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from deploy.base.errors import Failure

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
