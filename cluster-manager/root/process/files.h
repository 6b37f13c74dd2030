/* SPDX-License-Identifier: BSD-2-Clause */
/* The initial file system of a program: the module with its files, and the names of the deployment. */
#pragma once

#include "grant.h"
#include "map.h"

/* Maps both, read-only, and describes them in `info`. 0 or an error. */
int files_attach(const struct map_application *a, const struct process *p, struct process_info *info);
