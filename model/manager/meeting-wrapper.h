/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of skerry/meeting.h: that file as it ships, or with a mistake planted. */
#pragma once

#include MEETING_HEADER
