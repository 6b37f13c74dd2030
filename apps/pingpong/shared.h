/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by assembly and C: the frame of the measured threads and the main thread, and the watching thread. */
#pragma once

/* The frame that the measured threads share with the main thread: where the assembly (threads.S) finds what. */

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

#define THREAD_BUFFERS   0x401000 /* IPC buffers in the threads' address spaces, a page each */

/* `scale`: each core's own part of the frame (struct block). */
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
#define SCALE_NEXT      0     /* of a lock that programs share: the next ticket, */
#define SCALE_SERVING   4     /* the one that has the lock */
#define SCALE_UNIT      16    /* instructions of one turn of the waiting loop */

/* `caches`: what a thread is told to do with the lines of the chain (struct agent in caches.c). */
#define CACHES_AGENT    64  /* bytes: a line each */
#define CACHES_START    0   /* address of the first page */
#define CACHES_WRITES   8   /* pages of it in which lines are written, 32 bits */
#define CACHES_READS    12  /* then 1: the empty interval is timed, 2: the first lines are read, 32 bits */
#define CACHES_CYCLES   16  /* what that took */
#define CACHES_ERRORS   24  /* of the system calls, or-ed */
#define CACHES_DONE     32  /* RAX and RDI of the system call that reports the end */
#define CACHES_ITSELF   48  /* a word with its own address */
#define CACHES_LINES    63  /* of each page; the last line is read only so that the TLB has the page */
#define CACHES_TIMED    4   /* pages in which lines are read */

/* `unmap`: what a worker counts (struct worker in unmap.c), and its messages. */
#define UNMAP_WORKERS    0x10000 /* in the shared frame, a page each */
#define UNMAP_ROUNDS     0   /* protections taken and given back */
#define UNMAP_ERRORS     8   /* of the system calls, or-ed */
#define UNMAP_CAPS       960 /* struct ipc_buffer: its first capability */
#define UNMAP_READ       1   /* RIGHT_READ */
#define UNMAP_READ_WRITE 3

/* Shared by the watching thread (watch.S) and the main thread: offsets of struct watch. */

#define WATCH_ACTIVE  0
#define WATCH_DELAY   8
#define WATCH_LONGEST 16
#define WATCH_WAKES   24
#define WATCH_BEFORE  32
