/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of Linux that programs are built for: the one with the system calls that the layer has. */
#pragma once

#define LINUX_VERSION_CODE 0x060100
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
