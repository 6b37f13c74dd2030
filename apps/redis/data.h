/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of an instance that outlive its process: in a volume, a folder of the host. */
#pragma once

/* Returns whether a path lies in a volume, and not in the program's own memory. False where there is nothing. */
int is_in_volume(const char *path);

/* Returns whether the working directory does: where Redis has its log and what it saves. */
int keeps_data(void);

/* Has whoever waits for the instance wait until its data are loaded: Redis listens before. When settings are read. */
void data_begin(void);
