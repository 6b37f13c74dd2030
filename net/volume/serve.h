/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A volume: the requests of one program (skerry/file_port.h), as 9P's. A handle's
 * fid is its number + FID_HANDLES.
 *
 * A write or a sync that the host could not carry out is not forgotten: from then
 * on whatever would change the volume, and each sync, is answered with -EIO. For
 * the host may have lost the data of writes that it has acknowledged, and says so
 * only once (Rebello et al., "Can Applications Recover from fsync Failures?",
 * USENIX ATC 2020). The same holds when the folder itself has gone. A full disk
 * that a write meets is told as -ENOSPC, and is over when there is room again.
 */
#pragma once

#include "client.h"

enum { FID_FIRST_WALK = 1, FID_SECOND_WALK = 2, FID_HANDLES = 16 };

struct volume {
	struct p9_session session;
	uint64_t life;      /* of the program; 0: none has said HELLO */
	uint32_t uid, gid;  /* the folder's: files that are created have them, too */
	bool failed;
	uint8_t open[FILE_HANDLES]; /* FILE_READS, FILE_WRITES and FILE_DIRECTORY; 0: free */
	char path[FILE_PATH_MOST], second[FILE_PATH_MOST];
};

/* Attaches to the folder. `session` has all but what p9_version() sets. 0 or a negative errno. */
int volume_start(struct volume *);

/* Serves a request that has been copied from the port; data is copied from and to `data`, FILE_PORT_MOST bytes. */
void volume_serve(struct volume *, const struct file_request *, char *data, struct file_answer *);
