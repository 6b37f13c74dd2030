/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/process.h>
#include "map.h"
#include "process.h"

/* Collects the untypeds of the devices' memory. */
void device_init(void);

/* Finds the driver's device and gives it: registers, interrupt, memory for DMA, configuration ports. */
int device_attach(const struct application *a, struct process *p, struct process_device *device);
