/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"
#include "harness.h"

struct hosted *pair[2];
static struct hosted *saved;

void be(unsigned which)
{
	saved = saved ? saved : machine;
	machine = pair[which];
}

void be_oneself(void)
{
	machine = saved;
	saved = 0;
}

void pair_end(void)
{
	for (unsigned i = 0; i < 2; i++)
		hosted_destroy(pair[i]);
}
