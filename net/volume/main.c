/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The volume server: a process that gives one program a folder of the host. It
 * drives a virtio device of kind 9P (Virtual I/O Device specification 1.2,
 * section 5.12, whose one queue has requests and their answers) and serves a file
 * port (skerry/file_port.h), one request at a time.
 */
#include <skerry/file_port.h>
#include "../driver/virtio.h"
#include "../program/program.h"
#include "serve.h"

enum {
	FEATURE_MOUNT_TAG = 0,
	QUEUE_SIZE = VIRTQUEUE_MIN,
	REQUEST_AT = 0x10000, /* in the memory for DMA, behind the queue */
	REPLY_AT = REQUEST_AT + P9_MESSAGE,
	TAG_MOST = PROCESS_NAME - 1,
};
_Static_assert(P9_MESSAGE % 4096 == 0, "whole pages");

struct server {
	struct volume volume;
	struct virtio virtio;
	struct virtqueue queue;
	uint64_t dma_paddr;
	struct file_port *port;
	uint64_t served; /* number of the last request */
};

/* Asks the device, and sleeps until it has answered. */
static uint32_t exchange(struct p9_session *session, uint32_t size)
{
	struct server *server = session->context;
	struct virtqueue *queue = &server->queue;
	uint32_t length;
	uint16_t id;

	virtqueue_exchange(queue, server->dma_paddr + REQUEST_AT, size, server->dma_paddr + REPLY_AT, P9_MESSAGE);
	virtqueue_kick(queue);
	while (!virtqueue_peek(queue, &id, &length)) {
		virtqueue_arm(queue);
		if (!virtqueue_peek(queue, &id, &length))
			program_wait();
	}
	virtqueue_disarm(queue);
	virtqueue_take(queue);
	return id == 0 && length <= P9_MESSAGE ? length : 0;
}

/* The device's tag is this server's name: it is the folder that the deployment means. */
static bool has_name(const struct process_info *info)
{
	uint32_t size = 0;
	const volatile uint8_t *own = virtio_own(&info->device, &size);
	const uint32_t length = own && size >= 2 ? own[0] | (uint32_t)own[1] << 8 : 0;

	if (!length || length > TAG_MOST || length > size - 2)
		return false;
	for (uint32_t i = 0; i < length; i++)
		if (own[2 + i] != (uint8_t)info->name[i])
			return false;
	return !info->name[length];
}

static const char *start_device(struct server *server, const struct process_info *info)
{
	uint64_t offered;
	const char *wrong = virtio_reset(&server->virtio, info);

	if (!wrong)
		wrong = virtio_offered(&server->virtio, &offered);
	if (!wrong)
		wrong = virtio_accept(&server->virtio,
		                      offered & (1ull << FEATURE_MOUNT_TAG | 1ull << VIRTIO_EVENT_INDEX));
	if (wrong)
		return wrong;
	if (!has_name(info))
		return "the device has another folder than this one's";
	if (virtio_queue_most(&server->virtio, 0) < QUEUE_SIZE || virtqueue_bytes(QUEUE_SIZE) > REQUEST_AT ||
	    info->device.dma_size < REPLY_AT + P9_MESSAGE)
		return "the device's queue is too short, or there is too little memory";
	virtqueue_init(&server->queue, (void *)PROCESS_DMA_VADDR, info->device.dma_paddr, QUEUE_SIZE, false);
	server->queue.event_index = virtio_has(offered, VIRTIO_EVENT_INDEX);
	virtio_no_changes(&server->virtio);
	wrong = virtio_announce(&server->virtio, &server->queue, 0);
	if (!wrong)
		virtio_go(&server->virtio);
	return wrong;
}

/* Serves the request that waits, if one does: it is read once, and its answer's number stored last. */
static void serve_port(struct server *server)
{
	struct file_port *port = server->port;
	const uint64_t asked = file_port_asked(port);
	struct file_request request;
	struct file_answer answer;

	if (asked == server->served)
		return;
	const bool healthy = !server->volume.failed;
	__builtin_memcpy(&request, &port->request, sizeof(request));
	volume_serve(&server->volume, &request, file_port_data(port), &answer);
	__builtin_memcpy(&port->answer, &answer, sizeof(answer));
	server->served = asked;
	file_port_answer(port, asked);
	notification_signal(PROCESS_SLOT_PEER);
	if (healthy && server->volume.failed)
		program_say("the host could not store what was written, or the folder has gone: changes end here", 0);
}

_Noreturn void program_main(const struct process_info *info)
{
	static struct server server;
	const char *wrong;

	if (!info->device.present || !info->volume_count)
		program_fail("no device or no port to a program", 0);
	server.port = (struct file_port *)PROCESS_VOLUMES_VADDR;
	server.dma_paddr = info->device.dma_paddr;
	wrong = start_device(&server, info);
	if (wrong)
		program_fail(wrong, 0);
	server.volume.session = (struct p9_session){ .request = (uint8_t *)PROCESS_DMA_VADDR + REQUEST_AT,
	                                             .reply = (const uint8_t *)PROCESS_DMA_VADDR + REPLY_AT,
	                                             .exchange = exchange, .context = &server };
	const int error = volume_start(&server.volume);
	if (error)
		program_fail("the host does not give the folder: error", (uint64_t)-error);
	for (;;) {
		serve_port(&server);
		if (file_port_asked(server.port) == server.served)
			program_wait();
	}
}
