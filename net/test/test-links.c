/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that wait for room, of links that share the places for them. */
#include <string.h>
#include <sys/mman.h>
#include "../lwip/link.h"
#include "test.h"

enum { PLACES = 8192, LENGTH = 60 };

static char bytes[LENGTH];
static struct pbuf frame = { .payload = bytes, .len = LENGTH, .tot_len = LENGTH, .ref = 1 };
static unsigned references = 1; /* `ref` has 8 bits */

void mem_free(void *block) { (void)block; }
void pbuf_ref(struct pbuf *p) { references += p == &frame; }
u8_t pbuf_free(struct pbuf *p)
{
	CHECK(p == &frame && references > 1);
	references--;
	return 0;
}

static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* Until no more may wait; the number of those that do. */
static unsigned fill(struct link *link)
{
	while (link_send(link, &frame) == ERR_OK)
		bytes[0]++;
	return link->waiting;
}

static void take(struct port_end *end, unsigned count)
{
	uint32_t length;

	for (unsigned i = 0; i < count; i++) {
		const char *got = port_peek(end, &length);

		CHECK(got && length == LENGTH);
		port_release(end);
	}
}

int main(void)
{
	static struct sent_slot slots[2][CABLE_SLOTS];
	static struct bell own, of_far;
	struct link a, b, to_switch;
	void *memory = shared(CABLE_SIZE);
	struct port_end far;
	uint32_t length;

	links_start(&own);
	link_start(&a, cable_open(memory, PORT_TO_SWITCH, 2), &of_far, slots[0]);
	link_start(&b, cable_open(shared(CABLE_SIZE), PORT_TO_SWITCH, 2), &of_far, slots[1]);
	link_start(&to_switch, port_open(shared(PORT_SIZE), PORT_TO_SWITCH, 2), NULL, NULL);
	/* no peer is there; the first comer keeps half for others */
	CHECK(fill(&a) == PLACES / 2 && a.published == CABLE_SLOTS);
	CHECK(fill(&b) == PLACES / 4);
	CHECK(fill(&to_switch) == PLACES / 4);
	CHECK(references == 1 + PLACES);

	/* the far end comes: what was in the ring before its first life is there, what waits follows in order */
	far = cable_open(memory, PORT_FROM_SWITCH, 4);
	for (unsigned i = 0; i < 3; i++) {
		port_poll(&far);
		port_poll(&a.port);
	}
	CHECK(a.port.up && far.up);
	take(&far, CABLE_SLOTS);
	CHECK(!port_peek(&far, &length));
	link_arm(&a);
	CHECK(a.waiting == PLACES / 2 - CABLE_SLOTS);
	take(&far, CABLE_SLOTS);
	CHECK(ring_room_wanted(&far.receive)); /* it asked to be woken by room */

	link_drop(&a);
	CHECK(!a.waiting && references == 1 + PLACES / 2);
	CHECK(link_send(&a, &frame) == ERR_OK && !a.waiting); /* there is room again */
	CHECK(fill(&to_switch) == PLACES / 4 + PLACES / 2);   /* the switch may have all that is left */
	link_drop(&b);
	link_drop(&to_switch);
	CHECK(references == 1);
	return 0;
}
