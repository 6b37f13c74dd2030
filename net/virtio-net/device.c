/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"
#include "../driver/pci.h"
#include <skerry/stubs.h>

struct common_configuration {
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
_Static_assert(sizeof(struct common_configuration) == 56, "section 4.1.4.3");

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

	FEATURE_SUMS = 0,
	FEATURE_RECEIVES_SUMMED = 1,
	FEATURE_SEGMENTS = 11, /* VIRTIO_NET_F_HOST_TSO4 */
	FEATURE_EVENT_INDEX = 29,
	FEATURE_VERSION_1 = 32,
	QUEUE_RECEIVE = 0,
	QUEUE_TRANSMIT = 1,
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

static bool has_feature(uint64_t features, unsigned bit) { return features >> bit & 1; }

/*
 * Takes VERSION_1 and, where offered, EVENT_IDX and what saves checksums and
 * frames. Without a control queue the device stays promiscuous, as the stacks'
 * many addresses need it.
 */
static const char *agree_features(volatile struct common_configuration *common, uint64_t *agreed)
{
	uint64_t offered = 0, accepted = 1ull << FEATURE_VERSION_1;

	for (uint32_t half = 0; half < 2; half++) {
		common->device_feature_select = half;
		offered |= (uint64_t)common->device_feature << 32 * half;
	}
	if (!(offered & accepted))
		return "the device is older than virtio 1.0";
	accepted |= offered & (1ull << FEATURE_EVENT_INDEX | 1ull << FEATURE_SUMS | 1ull << FEATURE_RECEIVES_SUMMED);
	if (has_feature(accepted, FEATURE_SUMS)) /* segments need sums: section 5.1.3.1 */
		accepted |= offered & 1ull << FEATURE_SEGMENTS;
	*agreed = accepted;
	for (uint32_t half = 0; half < 2; half++) {
		common->driver_feature_select = half;
		common->driver_feature = (uint32_t)(accepted >> 32 * half);
	}
	common->status |= STATUS_FEATURES_OK;
	return common->status & STATUS_FEATURES_OK ? 0 : "the device refuses the features it offered";
}

static void write_64(volatile uint32_t *field, uint64_t value)
{
	field[0] = (uint32_t)value;
	field[1] = (uint32_t)(value >> 32);
}

/* Announces to the device a queue whose memory is laid out. */
static const char *queue_announce(volatile struct common_configuration *common, struct virtqueue *queue,
                                  uint16_t number,
			  volatile void *notify, uint32_t notify_size, uint32_t multiplier)
{
	uint64_t offset;

	common->queue_select = number;
	common->queue_size = queue->size;
	common->queue_msix = 0;
	if (common->queue_msix == NO_VECTOR)
		return "the device takes no interrupt vector";
	offset = (uint64_t)common->queue_notify_offset * multiplier;
	if (offset + sizeof(uint16_t) > notify_size)
		return "the device's notification area is too small";
	queue->number = number;
	queue->doorbell = (volatile uint16_t *)((volatile char *)notify + offset);
	write_64(common->queue_descriptors, queue->paddr);
	write_64(common->queue_available, virtqueue_available_paddr(queue));
	write_64(common->queue_used, virtqueue_used_paddr(queue));
	common->queue_enable = 1;
	return 0;
}

static uint16_t largest_power(uint16_t most)
{
	uint16_t size = VIRTQUEUE_MAX;

	while (size > most)
		size /= 2;
	return size;
}

static const char *lay_out(volatile struct common_configuration *common, const struct process_device *device,
			   struct virtio_net *net)
{
	uint16_t receive, transmit;
	uint8_t *memory = (uint8_t *)PROCESS_DMA_VADDR;

	common->queue_select = QUEUE_RECEIVE;
	receive = largest_power(common->queue_size);
	common->queue_select = QUEUE_TRANSMIT;
	transmit = largest_power(common->queue_size);
	while (receive >= VIRTQUEUE_MIN && transmit >= VIRTQUEUE_MIN &&
	       virtqueue_bytes(receive) + virtqueue_bytes(transmit) > device->dma_size) {
		receive /= 2;
		transmit /= 2;
	}
	if (receive < VIRTQUEUE_MIN || transmit < VIRTQUEUE_MIN)
		return "too little memory for queues, or the device's are too short";
	virtqueue_init(&net->receive, memory, device->dma_paddr, receive, true);
	memory += virtqueue_bytes(receive);
	virtqueue_init(&net->transmit.queue, memory, device->dma_paddr + virtqueue_bytes(receive), transmit, false);
	return 0;
}

const char *virtio_net_start(struct virtio_net *net, const struct process_info *info)
{
	const struct process_device *device = &info->device;
	uint32_t common_size = 0, notify_size = 0, multiplier;
	unsigned where = 0;
	volatile struct common_configuration *common;
	volatile void *notify;
	const char *wrong;
	uint64_t agreed;

	pci_enable(device, info->tsc_hz);
	if (pci_interrupt(device))
		return "the device has no MSI-X table that is mapped";
	common = find_region(device, TYPE_COMMON, &common_size, &where);
	notify = find_region(device, TYPE_NOTIFY, &notify_size, &where);
	if (!common || common_size < sizeof(*common) || !notify)
		return "the device has no modern virtio registers that are mapped";
	multiplier = pci_read(device, where + CAPABILITY_NOTIFY_MULTIPLIER, 4);

	common->status = 0;
	while (common->status) /* the reset is done when it reads 0 */
		thread_yield();
	pci_enable_dma(device);
	common->status = STATUS_ACKNOWLEDGE;
	common->status |= STATUS_DRIVER;
	wrong = agree_features(common, &agreed);
	if (!wrong)
		wrong = lay_out(common, device, net);
	if (wrong)
		return wrong;
	net->receive.event_index = net->transmit.queue.event_index = has_feature(agreed, FEATURE_EVENT_INDEX);
	net->receives_summed = has_feature(agreed, FEATURE_RECEIVES_SUMMED);
	net->transmit.sums = has_feature(agreed, FEATURE_SUMS);
	net->transmit.segments = has_feature(agreed, FEATURE_SEGMENTS);
	common->msix_config = NO_VECTOR;
	wrong = queue_announce(common, &net->receive, QUEUE_RECEIVE, notify, notify_size, multiplier);
	if (!wrong)
		wrong = queue_announce(common, &net->transmit.queue, QUEUE_TRANSMIT, notify, notify_size, multiplier);
	if (wrong)
		return wrong;
	common->status |= STATUS_DRIVER_OK;
	return 0;
}
