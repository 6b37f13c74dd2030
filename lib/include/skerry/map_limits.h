/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of the cluster map (docs/cluster-map.md): for the library that checks maps, the loader, managers and the
 * host's tool. */
#pragma once

#include <skerry/boot.h>

enum {
	MAP_MAX_SIZE = 1024 * 1024, /* of the devicetree, in bytes */
	MAP_MAX_CPUS = 1024,       /* of all machines */
	MAP_MAX_CHANNELS = 256,
	MAP_MAX_APPLICATIONS = 2048,
	MAP_MAX_AWAITED = 128,     /* by one application */
	MAP_MAX_MODULES = 31,      /* of a cluster; one more is the map itself */
	MAP_MAX_ARGUMENTS = 64,    /* of a program, its name among them */
	MAP_MAX_VARIABLES = 64,    /* of a program's environment */
	MAP_ARGUMENT_PAGES = 4,    /* for these and what else a program finds on its stack */
	MAP_RESTART_LIMIT = 5,     /* restarts of a program in 60 s, where its node says nothing */
	MAP_RESTART_LIMIT_MAX = 16,
	MAP_RESTART_DELAY = 100,   /* ms, where its node says nothing */
	MAP_RESTART_DELAY_MAX = 5000,
	/* ms of a cluster's silence after which it counts as lost, where its map says nothing */
	MAP_PATIENCE = 100,
	MAP_PATIENCE_EMULATED = 3000, /* the same, in QEMU's emulator */
	MAP_PATIENCE_MIN = 100,    /* ten times the shortest beat */
	MAP_PATIENCE_MAX = 60000,
	MAP_MAX_USER = 0x7fffffff, /* a user's or a group's number */
	MAP_PCI_DEVICES = 32,      /* of a bus, for channels between machines */
	/* 2 MiB, of a channel between machines, at its end: the doorbell areas, half for each side, side 0's first */
	MAP_KERNELS_PART = 0x200000,
	MAP_MTU_MIN = 576,         /* what every IPv4 host takes */
	MAP_MTU_MAX = 1500,        /* Ethernet */
	MAP_NODE_NAME = 64,        /* bytes of a node's name, with the NUL */
};
_Static_assert(MAP_MAX_MODULES == BOOT_MAX_MODULES - 1, "beside the map");
