/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack: a process that runs lwIP for one program beside it, as in the papers. It is a program over the POSIX layer
 * with one thread, which lives inside the layer: the layer's lock has no other thread to keep out.
 */
#include <stdio.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "serve.h"

int main(void)
{
	const struct process_info *info = process_info();

	if (!info->sockets || !info->network.present) {
		fprintf(stderr, "no program names this stack as its own, or it has no network\n");
		return 1;
	}
	serve_start();
	for (;;) {
		while (serve_pass())
			;
		if (serve_prepare_sleep())
			notification_wait(PROCESS_SLOT_WAKE, net_deadline(), 0);
	}
}
