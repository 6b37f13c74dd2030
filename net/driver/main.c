/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network driver: a process that carries frames between the switch's
 * uplink port and a card, one copy each way. Checksums, which are skipped inside
 * the machine, are checked here and made behind card_send().
 *
 * Neither way loses frames for want of room: what the card received stays in
 * its queue until the switch has room, and the port is read only as fast as
 * the card sends.
 */
#include CARD_HEADER
#include "../copy.h"
#include "../port_end.h"
#include "../program/program.h"
#include "checksum.h"

enum { BATCH = 64 };

struct driver {
	struct card card;
	struct port_end port;
	struct bell *bell;
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

/* Frames from the card to the port. */
static bool driver_receive(struct driver *driver, bool arm)
{
	unsigned frames = 0;
	struct card_frame frame = { 0 };

	while (frames < BATCH && card_peek(&driver->card, &frame)) {
		if (frame.size < ETHERNET_HEADER || frame.size > PORT_FRAME_MAX ||
		    !checksum_verify(frame.data, frame.size, frame.summed)) {
			if (!driver->bad++)
				program_say("dropped a frame with a wrong checksum or length of", frame.size);
		} else {
			void *buffer = room_in_port(driver, arm);

			if (!buffer)
				break;
			copy_bytes(buffer, frame.data, frame.size);
			port_publish(&driver->port, frame.size);
		}
		card_release(&driver->card, &frame);
		frames++;
	}
	card_refill(&driver->card);
	if (frames && port_rings(&driver->port))
		notification_signal(PROCESS_SLOT_PEER);
	return frames != 0;
}

/* Frames from the port to the card. */
static bool driver_transmit(struct driver *driver, bool arm)
{
	unsigned frames = 0;
	uint32_t length;
	const void *frame;

	while (frames < BATCH && (frame = port_peek(&driver->port, &length))) {
		if (!card_has_room(&driver->card, arm))
			break;
		if (length) {
			uint8_t *buffer = card_reserve(&driver->card);

			copy_bytes(buffer, frame, length);
			card_send(&driver->card, buffer, length);
		}
		port_release(&driver->port);
		frames++;
	}
	card_flush(&driver->card);
	if (frames && ring_room_wanted(&driver->port.receive))
		notification_signal(PROCESS_SLOT_PEER);
	return frames != 0;
}

static bool driver_pass(struct driver *driver, bool arm)
{
	if (port_poll(&driver->port))
		notification_signal(PROCESS_SLOT_PEER);
	bool received = driver_receive(driver, arm);

	return driver_transmit(driver, arm) || received;
}

/* A pass that leaves the driver ready to sleep, if it moved nothing. */
static bool last_pass(struct driver *driver)
{
	card_arm(&driver->card);
	bell_arm(driver->bell);
	port_arm(&driver->port);
	return driver_pass(driver, true);
}

_Noreturn void program_main(const struct process_info *info)
{
	static struct driver driver;
	const char *wrong;

	if (!info->device.present || !info->network.present)
		program_fail("no device or no port to the switch", 0);
	driver.port = port_open((void *)PROCESS_PORT_VADDR, PORT_TO_SWITCH, info->life);
	if (!info->network.remote)
		driver.port.bell = bell_at(PROCESS_BELL_PORT);
	driver.bell = bell_at(PROCESS_BELL_OWN);
	notification_signal(PROCESS_SLOT_PEER);
	wrong = card_start(&driver.card, info);
	if (wrong)
		program_fail(wrong, 0);
	card_disarm(&driver.card);
	for (;;) {
		while (driver_pass(&driver, false))
			;
		if (!last_pass(&driver))
			program_wait();
		bell_awake(driver.bell);
		card_disarm(&driver.card);
	}
}
