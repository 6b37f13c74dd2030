# SPDX-License-Identifier: BSD-2-Clause
"""What the loader and the kernels can hold; tests/unit/topology/test_limits.py compares these with the C headers."""

# cluster-kernel/include/skerry/boot.h
MAX_CPUS = 60  # of a cluster
MAX_CLUSTERS = 64
MAX_RANGES = 32  # of a cluster's memory
MAX_CHANNELS = 64  # that end in a cluster
NAME_SIZE = 32

# cluster-manager/loader/map.h
MAX_MAP_CPUS = 1024
MAX_MODULES = 31  # of a cluster; the map is one more
MAX_APPLICATIONS = 512

# cluster-manager/root/stack.c
MAX_ARGUMENTS = 64  # of a program, its name among them
ARGUMENT_PAGES = 4  # for these and what else a program finds on its stack

# cluster-manager/lib/include/skerry/channel.h and net/port.h
CHANNEL_PORTS = 0x200000
PORT_SIZE = 0x120000

# docs/cluster-map.md, of channels between machines
CHANNEL_KERNELS = 0x200000  # the end of each: the two kernels' doorbells
SHARED_MINIMUM = 0x400000
