/* SPDX-License-Identifier: BSD-2-Clause */
#include "e1000e-model.h"
#include "test.h"
#include "../driver/pci.h"
#include "../program/program.h"
#include <string.h>
#include <sys/mman.h>

enum { CONFIG_BAR_0 = PCI_BAR, POWER = 0x40, MSIX = 0x50, BAR_0 = 0xfebc0000u, D3 = 3, PADDR = 0x40000000 };

struct model model;
struct process_info model_info;
static _Alignas(4096) uint8_t config[4096];
static _Alignas(4096) uint32_t registers[REGISTERS_SIZE / 4], msix[1024];

uint8_t *model_config(void) { return config; }
uint32_t *model_msix(void) { return msix; }

void model_init(bool asleep)
{
	static void *memory;
	struct process_device *d = &model_info.device;

	if (memory)
		munmap(memory, E1000E_MEMORY);
	memory = mmap((void *)PROCESS_DMA_VADDR, E1000E_MEMORY, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(memory == (void *)PROCESS_DMA_VADDR);
	memset(&model, 0, sizeof(model));
	memset(&model_info, 0, sizeof(model_info));
	memset(config, 0, sizeof(config));
	memset(msix, 0xff, sizeof(msix));
	model.link = true;
	config[PCI_STATUS] = PCI_STATUS_CAPABILITIES;
	config[PCI_CAPABILITIES] = POWER;
	config[POWER] = PCI_CAPABILITY_POWER;
	config[POWER + 1] = MSIX;
	config[POWER + 4] = asleep ? D3 : 0;
	config[PCI_COMMAND] = PCI_COMMAND_MASTER; /* as its former driver has left it */
	config[MSIX] = PCI_CAPABILITY_MSIX;
	config[MSIX + 4] = 3; /* the table is in BAR 3 */
	memcpy(config + CONFIG_BAR_0, &(uint32_t){ BAR_0 }, 4);
	*d = (struct process_device){ .present = 1, .config_vaddr = (uint64_t)(uintptr_t)config,
				      .dma_paddr = PADDR, .dma_size = E1000E_MEMORY,
				      .msi_address = 0x1fee00000, .msi_data = 0x41 };
	d->bar_vaddr[0] = (uint64_t)(uintptr_t)registers;
	d->bar_size[0] = sizeof(registers);
	d->bar_vaddr[3] = (uint64_t)(uintptr_t)msix;
	d->bar_size[3] = sizeof(msix);
}

/* --- interrupts --- */

static void interrupt(void)
{
	const uint32_t reported = CAUSE_RECEIVE | CAUSE_TRANSMIT | CAUSE_OTHER;
	uint32_t *causes = &model.reg[REGISTER_ICR / 4], firing;

	if (*causes & CAUSE_LINK)
		*causes |= CAUSE_OTHER;
	firing = *causes & model.mask & reported;
	if (!firing)
		return;
	model.interrupts++;
	firing &= model.reg[REGISTER_EIAC / 4];
	*causes &= ~firing;
	model.mask &= ~firing;
}

static void cause(uint32_t bits)
{
	model.reg[REGISTER_ICR / 4] |= bits;
	interrupt();
}

/* --- queues --- */

/* Returns the memory at a physical address, which must be within the driver's memory. */
static void *at(uint64_t paddr, uint64_t size)
{
	CHECK(paddr >= PADDR && size <= E1000E_MEMORY && paddr - PADDR <= E1000E_MEMORY - size);
	return (void *)(PROCESS_DMA_VADDR + paddr - PADDR);
}

static struct e1000e_descriptor *descriptor(uint32_t base, uint32_t length, uint32_t index)
{
	uint64_t paddr = (uint64_t)model.reg[base / 4 + 1] << 32 | model.reg[base / 4];

	CHECK(index < model.reg[length / 4] / 16 && paddr % 16 == 0 && model.reg[length / 4] % 128 == 0);
	return at(paddr + 16 * index, 16);
}

bool model_receive(const uint8_t *data, uint32_t size, uint64_t status)
{
	uint32_t *head = &model.reg[REGISTER_RDH / 4];
	struct e1000e_descriptor *d;

	if (!(model.reg[REGISTER_RCTL / 4] & RCTL_ENABLE) || !model.link || *head == model.reg[REGISTER_RDT / 4]) {
		model.missed++;
		return false;
	}
	d = descriptor(REGISTER_RDBAL, REGISTER_RDLEN, *head);
	memcpy(at(d->address, size), data, size);
	d->word = size | status;
	*head = (*head + 1) % E1000E_SLOTS;
	cause(CAUSE_RECEIVE);
	return true;
}

void model_send(void)
{
	uint32_t *head = &model.reg[REGISTER_TDH / 4];

	while (model.reg[REGISTER_TCTL / 4] & TCTL_ENABLE && *head != model.reg[REGISTER_TDT / 4]) {
		struct e1000e_descriptor *d = descriptor(REGISTER_TDBAL, REGISTER_TDLEN, *head);
		uint32_t size = d->word & 0xffff;

		CHECK((d->word & ~0xffffull) == E1000E_SEND && size >= E1000E_SHORTEST && size <= PORT_FRAME_MAX);
		memcpy(model.frame, at(d->address, size), size);
		model.frame_size = size;
		model.sent++;
		d->word |= E1000E_DONE;
		*head = (*head + 1) % E1000E_SLOTS;
		cause(CAUSE_TRANSMIT);
	}
}

void model_scribble(struct e1000e *e)
{
	for (int i = 0; i < 40; i++) {
		struct e1000e_queue *queue = rand() % 2 ? &e->receive : &e->transmit;
		struct e1000e_descriptor *d = &queue->descriptor[rand() % E1000E_SLOTS];

		d->word = (uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^ (uint64_t)rand();
		if (rand() % 4 == 0)
			d->address = (uint64_t)rand() << 32 | (uint32_t)rand();
	}
}

/* --- registers --- */

void model_reset(void)
{
	memset(model.reg, 0, sizeof(model.reg));
	model.mask = 0;
	model.resets++;
}

void model_set_link(bool up)
{
	model.link = up;
	cause(CAUSE_LINK);
}

static void written(uint32_t offset, uint32_t value)
{
	uint32_t *reg = &model.reg[offset / 4];

	switch (offset) {
	case REGISTER_ICR: *reg &= ~value; break;
	case REGISTER_IMS: model.mask |= value; break;
	case REGISTER_IMC: model.mask &= ~value; break;
	case REGISTER_CTRL:
		if (value & CTRL_RESET) {
			/* its queues are somebody else's */
			CHECK(model.resets || !(config[PCI_COMMAND] & PCI_COMMAND_MASTER));
			model_reset();
		}
		*reg = value & ~(uint32_t)(model.stuck ? 0 : CTRL_RESET);
		break;
	case REGISTER_RDT:
	case REGISTER_TDT:
		CHECK(value < E1000E_SLOTS);
		*reg = value;
		model.tails++;
		break;
	default: *reg = value;
	}
	if (!model.hold && !model.hostile)
		model_send();
	interrupt();
}

void model_arrive(unsigned count)
{
	unsigned some = count < model.posted_count ? count : model.posted_count;

	for (unsigned i = 0; i < some; i++)
		written(model.posted[i].offset, model.posted[i].value);
	model.posted_count -= some;
	memmove(model.posted, model.posted + some, model.posted_count * sizeof(model.posted[0]));
}

uint32_t register_read(const struct e1000e *e, uint32_t offset)
{
	CHECK(e->registers == registers && offset % 4 == 0 && offset < REGISTERS_SIZE);
	CHECK(!(config[POWER + 4] & D3));
	model_arrive(MODEL_POSTED);
	if (model.gone)
		return REGISTER_GONE;
	if (model.hostile)
		return (uint32_t)rand() << 8 ^ (uint32_t)rand();
	switch (offset) {
	case REGISTER_STATUS:
		return (model.link ? STATUS_LINK_UP : 0) |
		       (model.reg[REGISTER_CTRL / 4] & CTRL_MASTER_DISABLE ? 0 : STATUS_MASTER_ENABLED);
	case REGISTER_EEPROM: return model.unread ? 0 : EEPROM_READ;
	case REGISTER_IMS: return model.mask;
	default: return model.reg[offset / 4];
	}
}

void register_write(const struct e1000e *e, uint32_t offset, uint32_t value)
{
	CHECK(e->registers == registers && offset % 4 == 0 && offset < REGISTERS_SIZE);
	if (model.posted_count == MODEL_POSTED)
		model_arrive(1);
	model.posted[model.posted_count].offset = offset;
	model.posted[model.posted_count++].value = value;
	if (!model.late)
		model_arrive(MODEL_POSTED);
}

void register_pause(const struct e1000e *e, uint32_t microseconds) { (void)e, (void)microseconds; }

/* --- the program --- */

void program_say(const char *text, uint64_t number)
{
	(void)number;
	model.said++;
	model.last_said = text;
}

_Noreturn void program_fail(const char *text, uint64_t number)
{
	program_say(text, number);
	CHECK(model.failure);
	longjmp(*model.failure, 1);
}
