/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <skerry/format.h>
#include "own-line.h"
#include "root.h"

void (*manager_before_panic)(void);

_Noreturn void manager_panic(const char *format, ...)
{
	static char buffer[512];
	struct text t = own_line_begin(buffer, sizeof(buffer));
	va_list arguments;
	text_format(&t, "[manager %u] fatal: ", ROOT->cluster);
	va_start(arguments, format);
	text_vformat(&t, format, arguments);
	va_end(arguments);
	own_line_end(&t);
	if (manager_before_panic)
		manager_before_panic();
	for (size_t i = 0; i < t.length; i++)
		debug_put(ROOT_SLOT_CONTROL, buffer[i]);
	for (;;)
		tcb_suspend(ROOT_SLOT_TCB);
}
