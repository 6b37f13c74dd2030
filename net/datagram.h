/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/posix.h>

/* A UDP socket that can send and receive nothing, of a program without lwIP of its own; 0 or a negative errno. */
int datagram_create(struct file **out);
