/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's requirements of its compiler and platform. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "../../../copy.h"

void *net_allocate(size_t size);
void *net_allocate_zeroed(size_t count, size_t size);
void net_free(void *block);
uint32_t net_random(void);
_Noreturn void net_assertion(const char *text, const char *file, int line);

#ifndef BYTE_ORDER
#define BYTE_ORDER LITTLE_ENDIAN
#endif
#define LWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS /* programs have libc's */
#define lwip_htons(x) __builtin_bswap16(x)
#define lwip_htonl(x) __builtin_bswap32(x)
#define LWIP_RAND() net_random()
#define MEMCPY(to, from, size) copy_bytes(to, from, size)

#define LWIP_PLATFORM_DIAG(arguments) ((void)0)
#define LWIP_PLATFORM_ASSERT(text) net_assertion(text, __FILE__, __LINE__)
#ifndef NET_ASSERTIONS /* host tests have them */
#define LWIP_NOASSERT 1
#endif
