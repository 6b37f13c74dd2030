/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks that begin and end the priced phase. QEMU is played here. */
#include "phase.h"
#include "test-common.h"

static unsigned resets, inits, translates;
static plugin_simple_fn pending;

void qemu_plugin_reset(plugin_id id, plugin_simple_fn call)
{
	EXPECT(id, 7);
	resets++;
	pending = call;
}
void qemu_plugin_register_vcpu_init_cb(plugin_id id, plugin_vcpu_fn call)
{
	EXPECT(id, 7);
	inits += call != NULL;
}
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, plugin_translate_fn call)
{
	EXPECT(id, 7);
	translates += call != NULL;
}

static void init(plugin_id id, unsigned vcpu) { (void)id, (void)vcpu; }
static void translate(plugin_id id, struct qemu_plugin_tb *block) { (void)id, (void)block; }

static void refusals(void)
{
	static const char *const wrong[] = { "", "-", "-2", "x", "1-", "1x", "1-2x", "1-1", "70000", "1-70000" };
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (phase_take(wrong[i])) {
			fprintf(stderr, "\"%s\" is taken\n", wrong[i]);
			exit(1);
		}
}

int main(void)
{
	refusals();
	EXPECT(phase_priced(), 1); /* unless somebody says otherwise */
	phase_install(7, init, translate);
	EXPECT(phase_mark(1), 0);
	EXPECT(phase_take("0"), 1);
	EXPECT(phase_take("1-2"), 1);
	EXPECT(phase_priced(), 0);
	EXPECT(phase_mark(2), 0);
	EXPECT(phase_mark(0), 0);
	EXPECT(phase_mark(1), 1);
	EXPECT(phase_mark(1), 0); /* QEMU has not come to it yet */
	EXPECT(phase_priced(), 0);
	EXPECT(resets, 1);
	EXPECT(translates, 1);
	pending(7);
	EXPECT(phase_priced(), 1);
	EXPECT(inits, 2); /* QEMU had forgotten them */
	EXPECT(translates, 2);
	EXPECT(phase_mark(1), 0);
	EXPECT(phase_mark(2), 1);
	pending(7);
	EXPECT(phase_priced(), 0);
	EXPECT(resets, 2);
	EXPECT(phase_mark(1), 1); /* another load */
	return 0;
}
