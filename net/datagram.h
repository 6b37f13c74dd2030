/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/posix.h>

/* A UDP socket that can send and receive nothing; 0 or a negative errno. */
int datagram_create(struct file **out);
