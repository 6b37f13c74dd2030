/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <skerry/console.h>
#include <skerry/format.h>
#include "root.h"

void (*manager_before_panic)(void);

_Noreturn void manager_panic(const char *format, ...)
{
	static char buffer[512];
	struct text t = TEXT(buffer);
	va_list arguments;
	text_format(&t, "%c[manager %u] fatal: ", CONSOLE_MANAGER, ROOT->cluster);
	va_start(arguments, format);
	text_vformat(&t, format, arguments);
	va_end(arguments);
	text_format(&t, "\n");
	if (manager_before_panic)
		manager_before_panic();
	for (size_t i = 0; i < t.length; i++)
		debug_put(ROOT_SLOT_CONTROL, buffer[i]);
	for (;;)
		tcb_suspend(ROOT_SLOT_TCB);
}
