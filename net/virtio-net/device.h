/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing up a virtio network device of the modern kind (specification 1.0, sections 3.1, 4.1 and 5.1). */
#pragma once

#include <skerry/process.h>
#include "virtqueue.h"

enum { VIRTIO_NET_HEADER = 12 }; /* bytes in front of every frame, all zero here: no offloads */

struct virtio_net {
	struct virtqueue receive;
	struct virtqueue transmit;
};

/*
 * Reset the device, agree on features, lay both queues into the DMA memory
 * (as large as fits, up to VIRTQUEUE_MAX) and start it. Null, or what is wrong.
 */
const char *virtio_net_start(struct virtio_net *net, const struct process_info *info);
