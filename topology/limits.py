# SPDX-License-Identifier: BSD-2-Clause
"""Limits of a map that this tool makes, from the C headers. C code checks whether a map keeps to them: reader.py."""

from topology.headers import KERNEL, LIBRARY, constant

BOOT, MAP, PROCESS = KERNEL / "boot.h", LIBRARY / "map_limits.h", LIBRARY / "process.h"

MAX_CPUS = constant(BOOT, "BOOT_MAX_CPUS")  # of a cluster
MAX_CLUSTERS = constant(BOOT, "BOOT_MAX_CLUSTERS")
NAME_SIZE = constant(BOOT, "BOOT_NAME_SIZE")

MAX_SIZE = constant(MAP, "MAP_MAX_SIZE")  # of a map, in bytes
CHANNEL_KERNELS = constant(MAP, "MAP_KERNELS_PART")  # the end of a channel between machines: the two kernels' doorbells
MTU_RANGE = range(constant(MAP, "MAP_MTU_MIN"), constant(MAP, "MAP_MTU_MAX") + 1)

MAX_USER = constant(MAP, "MAP_MAX_USER")  # a user's or a group's number

RESTART_LIMIT = constant(MAP, "MAP_RESTART_LIMIT")  # of a program's starts after its ends in 60 s
MAX_RESTART_LIMIT = constant(MAP, "MAP_RESTART_LIMIT_MAX")
RESTART_DELAY = constant(MAP, "MAP_RESTART_DELAY")  # ms
MAX_RESTART_DELAY = constant(MAP, "MAP_RESTART_DELAY_MAX")

MIN_PATIENCE = constant(MAP, "MAP_PATIENCE_MIN")  # ms
MAX_PATIENCE = constant(MAP, "MAP_PATIENCE_MAX")
EMULATED_PATIENCE = constant(MAP, "MAP_PATIENCE_EMULATED")

MAX_CORES = constant(PROCESS, "PROCESS_CORES")  # of a program
MAX_THREADS = constant(PROCESS, "PROCESS_THREADS")  # of a program
MAX_PROCESSES = constant(PROCESS, "PROCESS_MEMBERS")  # of a program
MAX_PORTS = constant(PROCESS, "PROCESS_MAX_PORTS")  # network ports of a map

CHANNEL_PORTS = constant(LIBRARY / "channel.h", "CHANNEL_PORTS")
PORT_SIZE = constant(LIBRARY / "port.h", "PORT_SIZE")
