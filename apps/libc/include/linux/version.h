/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs ask which Linux they are built for: the one whose system calls we answer. */
#pragma once

#define LINUX_VERSION_CODE 0x060100
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
