/* SPDX-License-Identifier: BSD-2-Clause */
/* A host that gives a folder by 9P2000.L, in memory, for tests of the volume server; it can lie. */
#pragma once

#include "../../volume/serve.h"
#include "../test.h"

enum { FOLDER_NODES = 32, FOLDER_FIDS = 512, FOLDER_DATA = 4096 };

struct folder {
	struct folder_node {
		char name[FILE_NAME_MOST + 1]; /* empty: not in use, but for node 0, the folder */
		unsigned parent;
		uint32_t mode;
		uint32_t size;
		char data[FOLDER_DATA];
	} node[FOLDER_NODES];
	int fid[FOLDER_FIDS]; /* node + 1; 0: free */
	bool opened[FOLDER_FIDS];
	int fail_type, fail_with;  /* requests of this type are answered with this errno */
	bool removed;              /* the folder has gone: nothing can be made in it */
	unsigned asked[256];       /* requests by type */
	/* Changes an honest answer before the client sees it: returns its new size. Null: it stays. */
	uint32_t (*lie)(struct folder *, uint8_t *reply, uint32_t size);
	uint64_t drawn;            /* state of random numbers */
	uint8_t *request, *reply;  /* P9_MESSAGE bytes each */
};

/* A volume over a new folder; starts it. */
void folder_start(struct folder *, struct volume *);
void folder_free(struct folder *);
unsigned folder_add(struct folder *, unsigned parent, const char *name, uint32_t mode);
uint64_t folder_draw(struct folder *, uint64_t below);
