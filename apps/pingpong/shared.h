/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame that the measured threads share with the main thread: where the assembly (threads.S) finds what. */
#pragma once

#define SHARED_STAMP_A   0  /* low half of the TSC before a system call */
#define SHARED_STAMP_B   4  /* the same of the other direction */
#define SHARED_ROUNDS    8  /* to do */
#define SHARED_DONE      16 /* after them: RAX and RDI of the system call that says so */
#define SHARED_INDEX     32 /* rounds of yield_switch so far, of both threads together */
#define SHARED_PREPARE   40 /* wait, poll: RAX and RDI of the system call before each round */
#define SHARED_ERRORS    56 /* of all system calls that were measured, or-ed */
#define SHARED_LOG_A     0x1000   /* 32-bit differences */
#define SHARED_LOG_B     0x100000
#define SHARED_CAPACITY  0x3fc00 /* entries of a log */

/* `scale`: each core's own part of the frame (struct block in scale.h). */
#define SCALE_BLOCK     0x8000
#define SCALE_ROUNDS    0     /* round trips so far */
#define SCALE_SIGNAL_AT 8     /* so many done: signal, by RAX and RDI of ... */
#define SCALE_SIGNAL    16
#define SCALE_DRAWN     32    /* delays so far, together */
#define SCALE_ERRORS    40    /* of the system calls, or-ed */
#define SCALE_SERVER_DRAWN  64 /* the same of the server */
#define SCALE_SERVER_ERRORS 72
#define SCALE_DELAYS        0x1000 /* 32-bit, each the mean of 1 of SCALE_COUNT equal parts */
#define SCALE_SERVER_DELAYS 0x2000
#define SCALE_COUNT     128
#define SCALE_UNIT      16    /* instructions of one turn of the waiting loop */
