/* SPDX-License-Identifier: BSD-2-Clause */
#include "../driver/pci.h"
#include "../program/program.h"
#include "device.h"

enum {
	PAUSE = 100,            /* microseconds between two looks at a register */
	MASTER_TIMEOUT = 1000, /* looks: PCI Express lets a completion take 50 ms */
	RESET_TIMEOUT = 1000,
	RESET_TIME = 5000,      /* microseconds in which the card must be left alone; section 4.6.3.2 asks for 1000 */
};

/* Waits until these bits of a register are as expected. Returns false on a timeout. */
static bool register_settles(const struct e1000e *e, uint32_t offset, uint32_t bits, uint32_t expected,
                             unsigned timeout)
{
	while ((register_read(e, offset) & bits) != expected) {
		if (!timeout--)
			return false;
		register_pause(e, PAUSE);
	}
	return true;
}

/* Whatever the firmware, or this driver before, has left running ends here. */
static const char *device_reset(const struct e1000e *e)
{
	register_write(e, REGISTER_IMC, (uint32_t)CAUSES_ALL);
	register_write(e, REGISTER_RCTL, 0);
	register_write(e, REGISTER_TCTL, 0);
	register_write(e, REGISTER_CTRL, register_read(e, REGISTER_CTRL) | CTRL_MASTER_DISABLE);
	/* a reset in the middle of a transfer can hang the bus; past its timeout there is no better choice (section
	 * 3.1.3.10) */
	register_settles(e, REGISTER_STATUS, STATUS_MASTER_ENABLED, 0, MASTER_TIMEOUT);
	register_write(e, REGISTER_CTRL, register_read(e, REGISTER_CTRL) | CTRL_RESET);
	register_pause(e, RESET_TIME);
	if (register_read(e, REGISTER_STATUS) == REGISTER_GONE)
		return "the card does not answer";
	if (!register_settles(e, REGISTER_CTRL, CTRL_RESET, 0, RESET_TIMEOUT) ||
	    !register_settles(e, REGISTER_EEPROM, EEPROM_READ, EEPROM_READ, RESET_TIMEOUT))
		return "the card does not end its reset";
	register_write(e, REGISTER_IMC, (uint32_t)CAUSES_ALL);
	register_write(e, REGISTER_ICR, (uint32_t)CAUSES_ALL);
	return 0;
}

/* Descriptors and buffers of a queue, at `offset` of the DMA memory. */
static void lay_out(struct e1000e *e, struct e1000e_queue *queue, uint64_t offset)
{
	require(offset % 4096 == 0 && offset < E1000E_MEMORY);
	uint64_t paddr = e->info->device.dma_paddr + offset + E1000E_SLOTS * sizeof(struct e1000e_descriptor);

	*queue = (struct e1000e_queue){
		.descriptor = (void *)(PROCESS_DMA_VADDR + offset),
		.buffers = (uint8_t *)(PROCESS_DMA_VADDR + offset + E1000E_SLOTS * sizeof(struct e1000e_descriptor)),
	};
	for (uint32_t i = 0; i < E1000E_SLOTS; i++)
		*e1000e_slot(queue, i) = (struct e1000e_descriptor){ .address = paddr + i * E1000E_BUFFER };
}

static void start_receive(struct e1000e *e)
{
	uint64_t paddr = e->info->device.dma_paddr;

	lay_out(e, &e->receive, 0);
	e->in_part = false;
	register_write(e, REGISTER_RXCSUM, 0);
	register_write(e, REGISTER_RFCTL, 0);
	register_write(e, REGISTER_MRQC, 0);
	register_write(e, REGISTER_RDTR, 0);
	register_write(e, REGISTER_RADV, 0);
	register_write(e, REGISTER_RXDCTL, DCTL_WRITE_BACK_EACH);
	register_write(e, REGISTER_RDBAL, (uint32_t)paddr);
	register_write(e, REGISTER_RDBAH, (uint32_t)(paddr >> 32));
	register_write(e, REGISTER_RDLEN, E1000E_SLOTS * sizeof(struct e1000e_descriptor));
	register_write(e, REGISTER_RDH, 0);
	register_write(e, REGISTER_RDT, 0);
	register_write(e, REGISTER_RCTL,
		       RCTL_ENABLE | RCTL_UNICAST_ALL | RCTL_MULTICAST_ALL | RCTL_BROADCAST | RCTL_STRIP_CRC);
	e->receive.given = E1000E_SLOTS - 1;
	e1000e_tell_receive(e);
}

static void start_transmit(struct e1000e *e)
{
	uint64_t offset = E1000E_MEMORY / 2, paddr = e->info->device.dma_paddr + offset;

	lay_out(e, &e->transmit, offset);
	register_write(e, REGISTER_TIDV, 0);
	register_write(e, REGISTER_TXDCTL, DCTL_WRITE_BACK_EACH | TXDCTL_COUNT);
	register_write(e, REGISTER_TDBAL, (uint32_t)paddr);
	register_write(e, REGISTER_TDBAH, (uint32_t)(paddr >> 32));
	register_write(e, REGISTER_TDLEN, E1000E_SLOTS * sizeof(struct e1000e_descriptor));
	register_write(e, REGISTER_TDH, 0);
	register_write(e, REGISTER_TDT, 0);
	register_write(e, REGISTER_TIPG, TIPG_COPPER);
	register_write(e, REGISTER_TCTL, TCTL_ENABLE | TCTL_PAD | TCTL_RETRIES | TCTL_DISTANCE);
}

/* All causes through MSI-X entry 0; each interrupt clears and masks its cause, so that the next one must be asked
 * for. */
static void start_interrupts(const struct e1000e *e)
{
	register_write(e, REGISTER_CTRL_EXT,
		       register_read(e, REGISTER_CTRL_EXT) | CTRL_EXT_DRIVER_LOADED | CTRL_EXT_PENDING_CLEAR);
	register_write(e, REGISTER_IVAR,
		       IVAR_ENTRY_0 << IVAR_RECEIVE_SHIFT | IVAR_ENTRY_0 << IVAR_TRANSMIT_SHIFT |
		       IVAR_ENTRY_0 << IVAR_OTHER_SHIFT);
	register_write(e, REGISTER_EIAC, CAUSE_RECEIVE | CAUSE_TRANSMIT | CAUSE_OTHER);
	register_write(e, REGISTER_EITR, E1000E_INTERVAL);
}

const char *e1000e_start(struct e1000e *e, const struct process_info *info)
{
	const struct process_device *device = &info->device;
	const char *wrong;
	uint32_t control;

	e->info = info;
	if (device->dma_size < E1000E_MEMORY)
		return "too little memory for queues";
	pci_enable(device, info->tsc_hz);
	e->registers = pci_bar(device, 0, 0, REGISTERS_SIZE);
	if (!e->registers)
		return "the card's registers are not mapped";
	wrong = device_reset(e);
	if (wrong)
		return wrong;
	pci_enable_dma(device);
	if (pci_interrupt(device))
		return "the card has no MSI-X table that is mapped";
	control = register_read(e, REGISTER_CTRL) & ~(uint32_t)(CTRL_MASTER_DISABLE | CTRL_FORCE_SPEED |
	                                                        CTRL_FORCE_DUPLEX);
	register_write(e, REGISTER_CTRL, control | CTRL_SET_LINK_UP);
	start_interrupts(e);
	start_transmit(e);
	start_receive(e);
	e->link = true; /* the first look says it if it is not */
	return 0;
}

void e1000e_tell_receive(struct e1000e *e)
{
	require(e->receive.given - e->receive.taken < E1000E_SLOTS);
	register_write(e, REGISTER_RDT, e->receive.given % E1000E_SLOTS);
	e->receive.announced = e->receive.given;
}

void e1000e_tell_transmit(struct e1000e *e)
{
	require(e->transmit.given - e->transmit.taken < E1000E_SLOTS);
	register_write(e, REGISTER_TDT, e->transmit.given % E1000E_SLOTS);
	e->transmit.announced = e->transmit.given;
}

/* A reset changes the link, and is seen by that. What the queues held is lost, as on a cable. */
static void link_changed(struct e1000e *e, uint32_t status)
{
	const char *wrong;

	if (status == REGISTER_GONE)
		program_fail("the card does not answer any more", 0);
	e->link = status & STATUS_LINK_UP;
	program_say(e->link ? "the link is up" : "the link is down; frames that leave are dropped", 0);
	if (register_read(e, REGISTER_RCTL) & RCTL_ENABLE)
		return;
	program_say("the card was reset, and is started again", 0);
	wrong = e1000e_start(e, e->info);
	if (wrong)
		program_fail(wrong, 0);
	e->link = status & STATUS_LINK_UP;
}

void e1000e_arm(struct e1000e *e)
{
	const uint32_t causes = CAUSE_RECEIVE | CAUSE_OTHER | CAUSE_LINK;
	uint32_t status;

	register_write(e, REGISTER_ICR, (uint32_t)CAUSES_ALL);
	register_write(e, REGISTER_IMS, causes);
	/*
	 * Writes are posted. The read waits until both have reached the card, and
	 * its answer comes behind all descriptors that the card had written before:
	 * a frame whose cause was cleared is seen by card_peek() from here on, and
	 * a later one interrupts. Without it that wake-up can be lost.
	 */
	status = register_read(e, REGISTER_STATUS);
	if (e->link == !!(status & STATUS_LINK_UP) && status != REGISTER_GONE)
		return;
	link_changed(e, status);
	register_write(e, REGISTER_IMS, causes);
}

void e1000e_arm_room(struct e1000e *e) { register_write(e, REGISTER_IMS, CAUSE_TRANSMIT); }
