/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "layer.h"

/*
 * The far end of a server's cable: frames that lie, in a client's name, then every word of the cable's head and
 * buffers, while the server reads them.
 */
void hostile_cable(struct network *network, void *cable, unsigned server, unsigned client);
