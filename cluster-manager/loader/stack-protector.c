/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader.h"

_Noreturn void __stack_chk_fail(void); /* of libfdt, as Debian compiles it */
_Noreturn void __stack_chk_fail(void)
{
	panic("stack overrun while reading the map");
}
