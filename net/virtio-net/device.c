/* SPDX-License-Identifier: BSD-2-Clause */
#include "../driver/virtio.h"
#include "device.h"

enum {
	FEATURE_SUMS = 0,
	FEATURE_RECEIVES_SUMMED = 1,
	FEATURE_SEGMENTS = 11, /* VIRTIO_NET_F_HOST_TSO4 */
	QUEUE_RECEIVE = 0,
	QUEUE_TRANSMIT = 1,
};

/*
 * Takes, where offered, EVENT_IDX and what saves checksums and frames. Without a
 * control queue the device stays promiscuous, as the stacks' many addresses need it.
 */
static const char *agree_features(const struct virtio *virtio, uint64_t *agreed)
{
	uint64_t offered, accepted;
	const char *wrong = virtio_offered(virtio, &offered);

	if (wrong)
		return wrong;
	accepted = offered &
	           (1ull << VIRTIO_EVENT_INDEX | 1ull << FEATURE_SUMS | 1ull << FEATURE_RECEIVES_SUMMED);
	if (virtio_has(accepted, FEATURE_SUMS)) /* segments need sums: section 5.1.3.1 */
		accepted |= offered & 1ull << FEATURE_SEGMENTS;
	*agreed = accepted;
	return virtio_accept(virtio, accepted);
}

static const char *lay_out(const struct virtio *virtio, const struct process_device *device, struct virtio_net *net)
{
	uint16_t receive = virtio_queue_most(virtio, QUEUE_RECEIVE);
	uint16_t transmit = virtio_queue_most(virtio, QUEUE_TRANSMIT);
	uint8_t *memory = (uint8_t *)PROCESS_DMA_VADDR;

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
	struct virtio virtio;
	uint64_t agreed;
	const char *wrong = virtio_reset(&virtio, info);

	if (!wrong)
		wrong = agree_features(&virtio, &agreed);
	if (!wrong)
		wrong = lay_out(&virtio, &info->device, net);
	if (wrong)
		return wrong;
	net->receive.event_index = net->transmit.queue.event_index = virtio_has(agreed, VIRTIO_EVENT_INDEX);
	net->receives_summed = virtio_has(agreed, FEATURE_RECEIVES_SUMMED);
	net->transmit.sums = virtio_has(agreed, FEATURE_SUMS);
	net->transmit.segments = virtio_has(agreed, FEATURE_SEGMENTS);
	virtio_no_changes(&virtio);
	wrong = virtio_announce(&virtio, &net->receive, QUEUE_RECEIVE);
	if (!wrong)
		wrong = virtio_announce(&virtio, &net->transmit.queue, QUEUE_TRANSMIT);
	if (wrong)
		return wrong;
	virtio_go(&virtio);
	return 0;
}
