/* SPDX-License-Identifier: BSD-2-Clause */
#include "io_port.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include LOCKING_HEADER

/*@ assigns \nothing; ensures bits: \result == badge % 65536; */
static uint64_t first_port(uint64_t badge) { return badge & 0xffff; }
/*@ assigns \nothing; ensures bits: \result == badge / 65536 % 65536; */
static uint64_t last_port(uint64_t badge) { return badge >> 16 & 0xffff; }

/* Returns whether an access of `size` bytes touches none but the ports `first` to `last`. */
/*@ requires first <= last <= 65535 && 1 <= size <= 4;
  @ assigns \nothing;
  @ ensures \result <==> first <= port && port + size - 1 <= last; */
static bool ports_hold(uint64_t first, uint64_t last, uint64_t port, uint64_t size)
{
	return !(port < first || port > last || size - 1 > last - port);
}
uint64_t io_port_narrow(struct cap *cap, uint64_t badge)
{
	kernel_assert(cap->type == OBJECT_IO_PORT && first_port(cap->badge) <= last_port(cap->badge));
	if (badge >> 32 || first_port(badge) > last_port(badge))
		return SKERRY_BAD_ARGUMENT;
	if (first_port(badge) < first_port(cap->badge) || last_port(badge) > last_port(cap->badge))
		return SKERRY_NO_RIGHTS;
	cap->badge = badge;
	return SKERRY_OK;
}

uint64_t invoke_io_port(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	kernel_assert(slot->cap.type == OBJECT_IO_PORT);
	struct thread *thread = current(cpu);
	uint64_t label = message_label(info);
	if (label != IO_PORT_IN && label != IO_PORT_OUT)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < (label == IO_PORT_IN ? 2u : 3u))
		return SKERRY_TRUNCATED;
	if (!(slot->cap.rights & (label == IO_PORT_IN ? RIGHT_READ : RIGHT_WRITE)))
		return SKERRY_NO_RIGHTS;
	uint64_t port = message_word(thread, 0), size = message_word(thread, 1);
	if (size != 1 && size != 2 && size != 4)
		return SKERRY_BAD_ARGUMENT;
	if (!ports_hold(first_port(slot->cap.badge), last_port(slot->cap.badge), port, size))
		return SKERRY_NO_RIGHTS;
	kernel_assert(port + size - 1 <= 0xffff);
	kernel_irrevocable(cpu);
	if (label == IO_PORT_IN)
		message_set_word(thread, 0, arch_port_in(port, size));
	else
		arch_port_out(port, size, message_word(thread, 2));
	return SKERRY_OK;
}
