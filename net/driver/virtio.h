/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtio device on PCI, of the modern kind: its registers, reset, features and
 * queues (Virtual I/O Device specification 1.0, sections 3.1 and 4.1). The
 * functions that return text return null, or what is wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>
#include "../virtio-net/device.h"

enum {
	VIRTIO_EVENT_INDEX = 29, /* feature bits of all kinds of devices */
	VIRTIO_VERSION_1 = 32,
};

struct virtio {
	volatile struct virtio_configuration *common;
	volatile void *notify;
	uint32_t notify_size, multiplier;
};

/* Finds the registers, routes the interrupt, resets the device and lets it use memory. */
const char *virtio_reset(struct virtio *, const struct process_info *);
/* Reads the features that the device offers, a bit for each; refuses one without VERSION_1. */
const char *virtio_offered(const struct virtio *, uint64_t *offered);
/* Accepts some of these; VERSION_1 is always among them. */
const char *virtio_accept(const struct virtio *, uint64_t accepted);
static inline bool virtio_has(uint64_t features, unsigned bit) { return features >> bit & 1; }

/* The most buffers that a queue of this number can have, a power of two up to VIRTQUEUE_MAX; 0: there is none. */
uint16_t virtio_queue_most(const struct virtio *, uint16_t number);
/* No interrupts for changes of the configuration. Called before the queues are announced. */
void virtio_no_changes(const struct virtio *);
/* Announces to the device a queue whose memory is laid out. */
const char *virtio_announce(const struct virtio *, struct virtqueue *, uint16_t number);
/* The device works from here on. */
void virtio_go(const struct virtio *);
/* The registers of this kind of device, or null; `*size` bytes. */
const volatile void *virtio_own(const struct process_device *, uint32_t *size);
