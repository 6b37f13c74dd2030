/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of enum skerry_syscall, for assembly. */
#pragma once

#define TASK_SYS_CALL       1
#define TASK_SYS_RECV       4
#define TASK_SYS_REPLY_RECV 7
#define TASK_SYS_SIGNAL     8
#define TASK_SYS_WAIT       9
