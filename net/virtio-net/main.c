/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtio network driver: a process that carries frames between the
 * switch's uplink port and the device, one copy each way, and makes and checks
 * the checksums that are skipped inside the machine.
 *
 * Neither way loses frames for want of room: what the device received stays in
 * its queue until the switch has room, and the port is read only as fast as
 * the device sends.
 */
#include "../copy.h"
#include "../port_end.h"
#include "../program/program.h"
#include "checksum.h"
#include "device.h"

enum { BATCH = 64 };

struct driver {
	struct virtio_net net;
	struct port_end port;
	uint16_t idle[VIRTQUEUE_MAX]; /* transmit buffers that the device does not hold */
	unsigned idle_count;
	uint64_t bad;     /* received frames with wrong checksums or lengths */
};

/* Room for a frame in the port. Where there is none and `arm` says so, asks to be woken by it. */
static void *room_in_port(struct driver *driver, bool arm)
{
	void *buffer = port_reserve(&driver->port);

	if (buffer || !arm)
		return buffer;
	ring_arm_room(&driver->port.transmit);
	return port_reserve(&driver->port);
}

/* Frames from the device to the port. */
static bool receive(struct driver *driver, bool arm)
{
	struct virtqueue *queue = &driver->net.receive;
	unsigned frames = 0;
	uint32_t length;
	uint16_t id;

	while (frames < BATCH && virtqueue_peek(queue, &id, &length)) {
		const uint8_t *frame = virtqueue_buffer(queue, id) + VIRTIO_NET_HEADER;
		uint32_t size = length - VIRTIO_NET_HEADER;

		if (length < VIRTIO_NET_HEADER + ETHERNET_HEADER || size > PORT_FRAME_MAX ||
		    !checksum_verify(frame, size)) {
			if (!driver->bad++)
				program_say("dropped a frame with a wrong checksum or length of", size);
		} else {
			void *buffer = room_in_port(driver, arm);

			if (!buffer)
				break;
			copy_bytes(buffer, frame, size);
			port_publish(&driver->port, size);
		}
		virtqueue_take(queue);
		virtqueue_post(queue, id, VIRTQUEUE_BUFFER);
		frames++;
	}
	virtqueue_kick(queue);
	if (frames && ring_wanted(&driver->port.transmit))
		notification_signal(PROCESS_SLOT_PEER);
	return frames != 0;
}

static void reclaim(struct driver *driver)
{
	struct virtqueue *queue = &driver->net.transmit;
	uint32_t length;
	uint16_t id;

	while (driver->idle_count < queue->size && virtqueue_peek(queue, &id, &length)) {
		virtqueue_take(queue);
		driver->idle[driver->idle_count++] = id;
	}
}

/* Is there an idle transmit buffer? Where there is none and `arm` says so, asks for an interrupt by one. */
static bool room_in_device(struct driver *driver, bool arm)
{
	if (!driver->idle_count)
		reclaim(driver);
	if (!driver->idle_count && arm) {
		virtqueue_arm(&driver->net.transmit);
		reclaim(driver);
	}
	return driver->idle_count != 0;
}

/* Frames from the port to the device. */
static bool transmit(struct driver *driver, bool arm)
{
	struct virtqueue *queue = &driver->net.transmit;
	unsigned frames = 0;
	uint32_t length;
	const void *frame;

	while (frames < BATCH && (frame = port_peek(&driver->port, &length))) {
		if (!room_in_device(driver, arm))
			break;
		if (length) {
			uint16_t id = driver->idle[--driver->idle_count];
			uint8_t *buffer = virtqueue_buffer(queue, id);

			copy_bytes(buffer + VIRTIO_NET_HEADER, frame, length);
			checksum_make(buffer + VIRTIO_NET_HEADER, length);
			virtqueue_post(queue, id, VIRTIO_NET_HEADER + length);
		}
		port_release(&driver->port);
		frames++;
	}
	virtqueue_kick(queue);
	if (frames && ring_room_wanted(&driver->port.receive))
		notification_signal(PROCESS_SLOT_PEER);
	return frames != 0;
}

static bool pass(struct driver *driver, bool arm)
{
	bool received = receive(driver, arm);

	return transmit(driver, arm) || received;
}

/* A pass that leaves the driver ready to sleep, if it moved nothing. */
static bool last_pass(struct driver *driver)
{
	virtqueue_arm(&driver->net.receive);
	ring_arm(&driver->port.receive);
	return pass(driver, true);
}

_Noreturn void program_main(const struct process_info *info)
{
	static struct driver driver;
	const char *wrong;

	if (!info->device.present || !info->network.present)
		program_fail("no device or no port to the switch", 0);
	driver.port = port_end((void *)PROCESS_PORT_VADDR, PORT_TO_SWITCH);
	wrong = virtio_net_start(&driver.net, &info->device);
	if (wrong)
		program_fail(wrong, 0);
	virtqueue_disarm(&driver.net.receive);
	virtqueue_disarm(&driver.net.transmit);
	for (uint16_t i = 0; i < driver.net.transmit.size; i++)
		driver.idle[driver.idle_count++] = i;
	for (uint16_t i = 0; i < driver.net.receive.size; i++)
		virtqueue_post(&driver.net.receive, i, VIRTQUEUE_BUFFER);
	virtqueue_kick(&driver.net.receive);
	for (;;) {
		while (pass(&driver, false))
			;
		if (!last_pass(&driver))
			program_wait();
		virtqueue_disarm(&driver.net.receive);
		virtqueue_disarm(&driver.net.transmit);
	}
}
