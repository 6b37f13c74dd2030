/* SPDX-License-Identifier: BSD-2-Clause */
#include "phase.h"
#include <stdio.h>
#include <skerry/require.h>

enum { NO_MARK = 65536 }; /* marks are 16 bits */

static unsigned from = NO_MARK, to = NO_MARK;
static bool priced = true, changes;
static plugin_id self;
static plugin_vcpu_fn when_init;
static plugin_translate_fn when_translate;

bool phase_take(const char *text)
{
	int end = 0;
	unsigned first, last = NO_MARK;
	if (sscanf(text, "%u%n-%u%n", &first, &end, &last, &end) < 1 || text[end] || first >= NO_MARK ||
	    last > NO_MARK || first == last)
		return false;
	from = first;
	to = last;
	priced = false;
	return true;
}

static void set_callbacks(plugin_id id)
{
	qemu_plugin_register_vcpu_init_cb(id, when_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, when_translate);
}

void phase_install(plugin_id id, plugin_vcpu_fn init, plugin_translate_fn translate)
{
	self = id;
	when_init = init;
	when_translate = translate;
	set_callbacks(id);
}

bool phase_priced(void) { return priced; }

/* No core executes, and nothing is translated. */
static void change_phase(plugin_id id)
{
	require(changes && id == self);
	priced = !priced;
	changes = false;
	set_callbacks(id);
}

bool phase_mark(unsigned number)
{
	if (changes || number != (priced ? to : from))
		return false;
	changes = true;
	qemu_plugin_reset(self, change_phase);
	return true;
}
