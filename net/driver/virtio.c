/* SPDX-License-Identifier: BSD-2-Clause */
#include "virtio.h"
#include "pci.h"
#include <skerry/stubs.h>

struct virtio_configuration {
	uint32_t device_feature_select;
	uint32_t device_feature;
	uint32_t driver_feature_select;
	uint32_t driver_feature;
	uint16_t msix_config;
	uint16_t queue_count;
	uint8_t status;
	uint8_t generation;
	uint16_t queue_select;
	uint16_t queue_size;
	uint16_t queue_msix;
	uint16_t queue_enable;
	uint16_t queue_notify_offset;
	uint32_t queue_descriptors[2]; /* 64-bit fields are written by halves */
	uint32_t queue_available[2];
	uint32_t queue_used[2];
};
_Static_assert(sizeof(struct virtio_configuration) == 56, "section 4.1.4.3");

enum {
	STATUS_ACKNOWLEDGE = 1,
	STATUS_DRIVER = 2,
	STATUS_DRIVER_OK = 4,
	STATUS_FEATURES_OK = 8,

	CAPABILITY_TYPE = 3, /* offsets in a vendor capability */
	CAPABILITY_BAR = 4,
	CAPABILITY_OFFSET = 8,
	CAPABILITY_LENGTH = 12,
	CAPABILITY_NOTIFY_MULTIPLIER = 16,
	CAPABILITY_SIZE = 16,
	CAPABILITY_NOTIFY_SIZE = 20,
	TYPE_COMMON = 1,
	TYPE_NOTIFY = 2,
	TYPE_DEVICE = 4,

	NO_VECTOR = 0xffff,
	CAPABILITIES_MAX = (PCI_CONFIGURATION - PCI_HEADER) / 4, /* as many as there is room for behind the header */
};

/* The registers of this type; `*where` is their capability's offset. */
static volatile void *find_region(const struct process_device *device, unsigned type, uint32_t *length,
				  unsigned *where)
{
	const unsigned size = type == TYPE_NOTIFY ? CAPABILITY_NOTIFY_SIZE : CAPABILITY_SIZE;
	unsigned at = 0;

	/* a device whose capabilities point at each other has no more than this all the same */
	for (unsigned seen = 0;
	     seen < CAPABILITIES_MAX && (at = pci_capability(device, PCI_CAPABILITY_VENDOR, size, at)); seen++) {
		volatile void *region;

		if (pci_read(device, at + CAPABILITY_TYPE, 1) != type)
			continue;
		*length = pci_read(device, at + CAPABILITY_LENGTH, 4);
		region = pci_bar(device, pci_read(device, at + CAPABILITY_BAR, 1),
				 pci_read(device, at + CAPABILITY_OFFSET, 4), *length);
		if (region) {
			*where = at;
			return region;
		}
	}
	return 0;
}

const char *virtio_reset(struct virtio *virtio, const struct process_info *info)
{
	const struct process_device *device = &info->device;
	uint32_t common_size = 0;
	unsigned where = 0;

	*virtio = (struct virtio){ 0 };
	pci_enable(device, info->tsc_hz);
	if (pci_interrupt(device))
		return "the device has no MSI-X table that is mapped";
	virtio->common = find_region(device, TYPE_COMMON, &common_size, &where);
	virtio->notify = find_region(device, TYPE_NOTIFY, &virtio->notify_size, &where);
	if (!virtio->common || common_size < sizeof(*virtio->common) || !virtio->notify)
		return "the device has no modern virtio registers that are mapped";
	virtio->multiplier = pci_read(device, where + CAPABILITY_NOTIFY_MULTIPLIER, 4);
	virtio->common->status = 0;
	while (virtio->common->status) /* the reset is done when it reads 0 */
		thread_yield();
	pci_enable_dma(device);
	virtio->common->status = STATUS_ACKNOWLEDGE;
	virtio->common->status |= STATUS_DRIVER;
	return 0;
}

const char *virtio_offered(const struct virtio *virtio, uint64_t *offered)
{
	*offered = 0;
	for (uint32_t half = 0; half < 2; half++) {
		virtio->common->device_feature_select = half;
		*offered |= (uint64_t)virtio->common->device_feature << 32 * half;
	}
	return virtio_has(*offered, VIRTIO_VERSION_1) ? 0 : "the device is older than virtio 1.0";
}

const char *virtio_accept(const struct virtio *virtio, uint64_t accepted)
{
	accepted |= 1ull << VIRTIO_VERSION_1;
	for (uint32_t half = 0; half < 2; half++) {
		virtio->common->driver_feature_select = half;
		virtio->common->driver_feature = (uint32_t)(accepted >> 32 * half);
	}
	virtio->common->status |= STATUS_FEATURES_OK;
	return virtio->common->status & STATUS_FEATURES_OK ? 0 : "the device refuses the features it offered";
}

static void write_64(volatile uint32_t *field, uint64_t value)
{
	field[0] = (uint32_t)value;
	field[1] = (uint32_t)(value >> 32);
}

static uint16_t largest_power(uint16_t most)
{
	uint16_t size = VIRTQUEUE_MAX;

	while (size > most)
		size /= 2;
	return size;
}

uint16_t virtio_queue_most(const struct virtio *virtio, uint16_t number)
{
	virtio->common->queue_select = number;
	return largest_power(virtio->common->queue_size);
}

void virtio_no_changes(const struct virtio *virtio) { virtio->common->msix_config = NO_VECTOR; }

const char *virtio_announce(const struct virtio *virtio, struct virtqueue *queue, uint16_t number)
{
	volatile struct virtio_configuration *common = virtio->common;
	uint64_t offset;

	common->queue_select = number;
	common->queue_size = queue->size;
	common->queue_msix = 0;
	if (common->queue_msix == NO_VECTOR)
		return "the device takes no interrupt vector";
	offset = (uint64_t)common->queue_notify_offset * virtio->multiplier;
	if (offset + sizeof(uint16_t) > virtio->notify_size)
		return "the device's notification area is too small";
	queue->number = number;
	queue->doorbell = (volatile uint16_t *)((volatile char *)virtio->notify + offset);
	write_64(common->queue_descriptors, queue->paddr);
	write_64(common->queue_available, virtqueue_available_paddr(queue));
	write_64(common->queue_used, virtqueue_used_paddr(queue));
	common->queue_enable = 1;
	return 0;
}

void virtio_go(const struct virtio *virtio) { virtio->common->status |= STATUS_DRIVER_OK; }

const volatile void *virtio_own(const struct process_device *device, uint32_t *size)
{
	unsigned where;

	return find_region(device, TYPE_DEVICE, size, &where);
}
