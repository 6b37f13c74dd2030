# SPDX-License-Identifier: BSD-2-Clause
"""Linux beside Skerry: the same machine, Redis version, client program and load, on Debian's cloud kernel.

The guest is made of Debian packages (kernel, Redis and its libraries) and two static programs of this repository
(init.c here, apps/ycsb); it has no disk. `python3 -m deploy.load.linux_guest --help` runs one measurement.
"""

from deploy.load.linux_guest.guest import build_guest
from deploy.load.linux_guest.machine import LinuxRun, Options
from deploy.load.linux_guest.result import measure

__all__ = ["LinuxRun", "Options", "build_guest", "measure"]
