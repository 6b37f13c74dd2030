/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing up a virtio network device of the modern kind (specification 1.0, sections 3.1, 4.1 and 5.1). */
#pragma once

#include <skerry/process.h>
#include "outgoing.h"
#include "virtqueue.h"

struct virtio_net {
	struct virtqueue receive;
	struct outgoing transmit;
	bool receives_summed; /* the device says which frames it answers for */
};

/*
 * Reset the device, agree on features, lay both queues into the DMA memory
 * (as large as fits, up to VIRTQUEUE_MAX) and start it. Null, or what is wrong.
 * Frames of up to 64 KiB (VIRTIO_NET_F_GUEST_TSO4) are not taken: a port
 * carries frames of one packet, so they would be cut up here again.
 */
const char *virtio_net_start(struct virtio_net *net, const struct process_info *info);
