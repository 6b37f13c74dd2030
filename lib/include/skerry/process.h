/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a cluster-manager starts a program, and what a program may ask of it.
 *
 * A program is a static ELF64 executable. Its first thread starts at the ELF
 * entry with the System V stack layout (argc, argv, envp, auxv); the auxiliary
 * vector holds the usual AT_PHDR, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_ENTRY,
 * AT_RANDOM, and AT_SKERRY with the address of struct process_info (read-only
 * page). Priority PROCESS_PRIORITY, on the first core that its application node names; its threads may be put on all
 * of these (TCB_SCHEDULE by the authority of PROCESS_SLOT_TCB).
 *
 * Its memory below the program's own segments is nothing, above:
 *
 *     PROCESS_HEAP_VADDR    heap_size bytes, zero and writable. libc's mmap and brk are served from here
 *                           without a system call. All of it is reserved; 2 MiB of it are mapped when first touched.
 *     PROCESS_PORT_VADDR    the network port (skerry/port.h), if it has one
 *     PROCESS_VOLUMES_VADDR the file ports of its volumes (skerry/file_port.h), FILE_PORT_SIZE each, if it has any
 *     PROCESS_FAMILY_VADDR  what the processes of its family share (skerry/family_area.h), if it may be several
 *     PROCESS_CABLES_VADDR  its cables (skerry/port.h), one after another, CABLE_SIZE each, if it has any
 *     PROCESS_SOCKETS_VADDR the socket port (skerry/socket_port.h), if it or its stack has one
 *     PROCESS_FILES_VADDR   its files (skerry/file_tree.h), read-only, if it has any
 *     PROCESS_INFO_VADDR    struct process_info, read-only
 *     PROCESS_HOSTS_VADDR   /etc/hosts of the deployment, read-only, if it has a network
 *     PROCESS_IPC_VADDR     a frame of IPC buffers for its first PROCESS_IPC_BUFFERS threads; the first
 *                           thread has the first
 *     PROCESS_BELLS_VADDR   bell words (skerry/bell.h), one in each page, of a program with network ports
 *     PROCESS_TOUCHED_VADDR struct process_touched, read-only
 *     PROCESS_STACK_TOP     PROCESS_STACK_SIZE bytes below it, reserved, and mapped when first touched,
 *                           PROCESS_STACK_STEP at a time; a guard page below
 */
#pragma once

#include <stdint.h>

#define AT_SKERRY 0x534b52 /* auxiliary vector: struct process_info */
#define AT_SKERRY_BIRTH 0x534b53 /* of a program that another one has executed: what that one has left it */

#define PROCESS_HEAP_VADDR 0x0000000100000000ull
#define PROCESS_PORT_VADDR 0x0000600000000000ull
#define PROCESS_PORTS_VADDR 0x0000610000000000ull /* a switch: all its ports, one after another, PORT_SIZE each */
#define PROCESS_SOCKETS_VADDR 0x0000620000000000ull
#define PROCESS_FILES_VADDR 0x0000630000000000ull
#define PROCESS_CABLES_VADDR 0x0000640000000000ull /* a stack: all its cables, one after another, CABLE_SIZE each */
#define PROCESS_VOLUMES_VADDR 0x0000650000000000ull /* a volume server: the file port of its program */
#define PROCESS_FAMILY_VADDR 0x0000660000000000ull
#define PROCESS_INFO_VADDR 0x0000700000000000ull
#define PROCESS_HOSTS_VADDR 0x0000700000001000ull
#define PROCESS_IPC_VADDR  0x0000700000100000ull
#define PROCESS_BELLS_VADDR 0x0000700000180000ull
#define PROCESS_TOUCHED_VADDR 0x0000700000200000ull /* up to 510 MiB */
#define PROCESS_DEVICE_VADDR 0x0000710000000000ull /* a driver: its device's BARs, see process_info.device */
#define PROCESS_DMA_VADDR  0x0000720000000000ull /* a driver: memory whose physical address it knows */
#define PROCESS_STACK_TOP  0x00007f0000000000ull
#define PROCESS_STACK_SIZE 0x100000ull
#define PROCESS_STACK_STEP 0x8000ull
#define PROCESS_EXEC_STACK 0x42000ull /* bytes that MANAGER_EXEC puts there, at most */
#define PROCESS_HEAP_STEP 0x200000ull

enum { PROCESS_PRIORITY = 100, PROCESS_NAME = 32, PROCESS_IPC_BUFFERS = 4, PROCESS_THREADS = 64,
       PROCESS_CORES = 64 /* of a program, at most */, PROCESS_MEMBERS = 16 /* processes of a family, at most */ };

/* Slots of a process's CNode (radix PROCESS_CNODE_BITS). Absent ones are empty. */
enum {
	PROCESS_CNODE_BITS = 8,
	PROCESS_SLOT_TCB = 1,
	PROCESS_SLOT_CNODE,
	PROCESS_SLOT_VSPACE,
	PROCESS_SLOT_MANAGER,  /* endpoint, badged; WRITE */
	PROCESS_SLOT_UNTYPED,  /* process_info.untyped_bits: threads, notifications of its own */
	PROCESS_SLOT_WAKE,     /* notification: network port has frames or room, or a driver's interrupt */
	PROCESS_SLOT_PEER,     /* notification or doorbell: signal to wake the other end of the port; a volume
	                        * server: its program's */
	PROCESS_SLOT_IRQ,      /* a driver: its interrupt */
	PROCESS_SLOT_SPARE,    /* nothing */
	PROCESS_SLOT_IPC_FRAME,/* the frame of IPC buffers at PROCESS_IPC_VADDR */
	PROCESS_SLOT_REPLY,    /* a reply object */
	PROCESS_SLOT_FAULT,    /* fault endpoint, badged; for TCB_CONFIGURE of the process's own threads */
	PROCESS_SLOT_SOCKETS,  /* notification: signal to wake the other end of the socket port */
	PROCESS_SLOT_FREE = 16,/* from here on empty up to the next ones that it has, the process's own */
	PROCESS_SLOT_PORT_WAKE = 128, /* a switch only: port i's far end is woken through slot 128+i */
	PROCESS_SLOT_VOLUME_TURN = 200, /* a family: notification: volume i's port is free, or a process has ended */
	PROCESS_SLOT_MEMBER_WAKE = 208, /* a family: PROCESS_SLOT_WAKE of the process at place i is 208+i; WRITE */
	PROCESS_SLOT_VOLUME_ANSWER = 224, /* notification: volume i has answered; READ */
	PROCESS_SLOT_VOLUME_WAKE = 232, /* the server of volume i is woken through slot 232+i */
	PROCESS_SLOT_CABLE_WAKE = 240, /* a program with cables: cable i's far end is woken through slot 240+i */
};

struct process_network {
	uint32_t present; /* there is a port */
	uint32_t ipv4;    /* network byte order, as are netmask and gateway; 0 for a NIC driver */
	uint32_t netmask;
	uint32_t gateway;
	uint8_t mac[6];
	uint16_t mtu;
	uint32_t remote;  /* 1: the port's far end is in another cluster */
};

/*
 * The mapped steps of the stack and of the heap, from the lowest address on: a bit for each step. A bit that is set
 * stays set. A step of the heap in which pages have several rights (MANAGER_PROTECT) is split: part of it is mapped, by
 * steps of PROCESS_STACK_STEP in its entry of `split`, of which the first ones are in use.
 */
enum { PROCESS_SPLITS = 64 };
struct process_touched {
	uint64_t stack;
	uint64_t resume; /* where the first thread goes on behind MANAGER_SIGNALS' entry */
	struct process_split {
		uint64_t step;  /* number of the heap's step + 1; 0: not in use */
		uint64_t parts; /* a bit for each */
	} split[PROCESS_SPLITS];
	uint64_t heap[]; /* of so many words as heap_size needs */
};
_Static_assert(PROCESS_STACK_SIZE / PROCESS_STACK_STEP <= 64, "one word for the stack");
_Static_assert(PROCESS_HEAP_STEP / PROCESS_STACK_STEP == 64, "one word for a split step of the heap");
enum {
	PROCESS_TOUCHED_STACK = 0,                          /* the first bit of the stack */
	PROCESS_TOUCHED_RESUME = 64,                        /* of `resume` */
	PROCESS_TOUCHED_SPLITS = 128,                       /* of the split steps */
	PROCESS_TOUCHED_HEAP = PROCESS_TOUCHED_SPLITS + 128 * PROCESS_SPLITS, /* of the heap */
};
static inline uint64_t process_touched_size(uint64_t heap)
{
	return sizeof(struct process_touched) + (heap / PROCESS_HEAP_STEP + 63) / 64 * 8;
}

/*
 * A switch learns its ports here: port i's shared memory is at PROCESS_PORTS_VADDR + i * PORT_SIZE. The last port of a
 * lower switch is its end of a port of the upper one.
 *
 * Other programs learn their cables here: cable i's shared memory is at PROCESS_CABLES_VADDR + i * CABLE_SIZE. They
 * have the far end's addresses, and one of the two ends is `upper`.
 */
enum { PROCESS_MAX_PORTS = 120, PROCESS_MAX_CABLES = 16, PROCESS_MAX_VOLUMES = 8 };
struct process_port {
	uint8_t mac[6]; /* zero for NIC drivers and switches */
	uint8_t uplink; /* 1: leads to the NIC driver; unknown addresses go there */
	uint8_t upper;  /* 1: to the upper switch, for which this end is a stack's; or a cable of which it is */
	uint8_t lower;  /* 1: to a lower switch */
	uint8_t remote; /* 1: the far end is in another cluster */
	uint32_t ipv4;
};

/*
 * Bell words, by the number of their page at PROCESS_BELLS_VADDR: the program's own, which only it can write, and,
 * read-only, those of the far ends of its port, and of port or cable i. The page of a far end in
 * another cluster is not mapped; the ring's flag serves.
 */
enum { PROCESS_BELL_OWN, PROCESS_BELL_PORT, PROCESS_BELL_PORTS };
_Static_assert(PROCESS_BELL_PORTS + PROCESS_MAX_PORTS <= 128, "below struct process_touched");

/* A station behind a lower switch, and the port that leads there. */
struct process_route {
	uint8_t mac[6];
	uint16_t port;
	uint32_t ipv4;
};

/* A driver's device, found by the manager on the PCI bus. */
struct process_device {
	uint32_t present;
	uint16_t vendor, device;
	uint64_t bar_vaddr[6];  /* 0: absent or an I/O BAR */
	uint64_t bar_size[6];
	uint64_t config_vaddr;  /* ECAM page of the function (4 KiB), or 0: then MANAGER_CONFIG serves */
	uint64_t dma_paddr;     /* physical address of PROCESS_DMA_VADDR, contiguous */
	uint64_t dma_size;
	uint64_t msi_address;   /* program these into MSI-X entry 0; PROCESS_SLOT_IRQ signals PROCESS_SLOT_WAKE */
	uint32_t msi_data;
	uint32_t bdf;           /* bus << 8 | device << 3 | function */
};

/* On which of the program's cores its threads start: thread i on core i modulo their number, or all on the first. */
enum process_placement { PROCESS_SPREAD, PROCESS_FIRST };

/* A core of a program: index within the cluster, place among all cpus of the map, NUMA node of its machine. */
struct process_core {
	uint16_t core, cpu, node;
};

#define PROCESS_INFO_MAGIC 0x4f464e4953534b53ull
struct process_info {
	uint64_t magic;
	uint32_t size;
	uint32_t cluster;
	uint32_t cpu;        /* place of its core among all cpus of the map */
	uint32_t core;       /* index within the cluster */
	uint32_t cluster_cores;
	uint32_t untyped_bits;
	uint64_t tsc_hz;
	uint64_t epoch;      /* seconds since 1970 at TSC epoch_tsc; 0 when unknown */
	uint64_t epoch_tsc;
	uint64_t heap_size;
	uint64_t storage;    /* bytes of the heap that its own files may take; 0: it is not said */
	uint64_t files_size; /* bytes at PROCESS_FILES_VADDR; 0: none */
	uint64_t cwd;        /* address of its first working directory's path; 0: the root */
	uint64_t volumes;    /* address of the paths where its volumes are, one behind another, each with its NUL */
	uint32_t volume_count; /* file ports: 0 to PROCESS_MAX_VOLUMES */
	uint32_t hosts_size; /* bytes at PROCESS_HOSTS_VADDR; 0: none */
	uint32_t uid, gid;   /* user and group that it starts as */
	uint32_t threads;    /* that it may have at once, up to PROCESS_THREADS */
	uint32_t locality;   /* of the objects that it makes (CNODE_LOCALITY); 0: all cores */
	uint64_t random[4];  /* seed, different for every process */
	uint64_t life;       /* epoch of its ends of network ports (port.h); even */
	char name[PROCESS_NAME]; /* of the application node, "redis@1" */
	struct process_network network;
	struct process_device device;
	uint32_t port_count; /* of a switch, or cables of another program */
	uint32_t sockets;    /* 1: there is a socket port, and a stack process at its other end */
	uint32_t route_count;/* switches only */
	struct process_port port[PROCESS_MAX_PORTS];
	union {
		struct process_route route[PROCESS_MAX_PORTS];
		/* other programs: on which cores their threads may be, `core` first */
		struct process_core cores[PROCESS_CORES];
	};
	uint32_t core_count; /* of these; 1 for a switch, too */
	uint32_t placement;  /* enum process_placement */
	uint32_t place;      /* of the process in its family: 0 to places - 1 */
	uint32_t places;     /* of the family; 1: it is no family, and there is no memory at PROCESS_FAMILY_VADDR */
};
_Static_assert(sizeof(struct process_info) <= 4096, "one page");
_Static_assert(PROCESS_SLOT_VOLUME_WAKE + PROCESS_MAX_VOLUMES <= PROCESS_SLOT_CABLE_WAKE &&
               PROCESS_SLOT_VOLUME_ANSWER + PROCESS_MAX_VOLUMES <= PROCESS_SLOT_VOLUME_WAKE, "a slot for each volume");
_Static_assert(PROCESS_SLOT_VOLUME_TURN + PROCESS_MAX_VOLUMES <= PROCESS_SLOT_MEMBER_WAKE, "a slot for each volume");
_Static_assert(PROCESS_SLOT_MEMBER_WAKE + PROCESS_MEMBERS <= PROCESS_SLOT_VOLUME_ANSWER, "a slot for each process");
_Static_assert(PROCESS_SLOT_CABLE_WAKE + PROCESS_MAX_CABLES <= 1 << PROCESS_CNODE_BITS, "a slot for each cable");

/*
 * Calls to PROCESS_SLOT_MANAGER; what is sent, so that nobody waits for the answer,
 * is ignored. NO_RESOURCE: too many threads of the program wait already, or too
 * many of its texts; nothing was done then. Bytes travel in message words from
 * word 1 on, word 0 is their number (up to MANAGER_BYTES). The answer's label is 0
 * or an error of errors.h.
 */
enum { MANAGER_BYTES = 8 * 119, PROCESS_SIGNALS = 48 };
enum { ASK_NO_WAIT = 1, ASK_STOPPED = 2, ASK_CONTINUED = 4, ASK_NOT_ENDED = 8 };
enum manager_group { GROUP_GET, GROUP_SET, GROUP_SESSION };
enum manager_request {
	MANAGER_WRITE = 1, /* text for the console; the manager prefixes lines with the program's name */
	MANAGER_EXIT,      /* m0 exit status, of a child: as wait() has it; no answer */
	MANAGER_RESULT,    /* text: one JSON object, complete; goes to the results port with its sender's name */
	MANAGER_BARRIER,   /* m0 number of the barrier, 1.. : answered when all programs that the map
	                    * counts for it ("barrier" property) have arrived, in all clusters */
	MANAGER_LOOKUP,    /* text: name of an application; r1 IPv4 address, network byte order */
	MANAGER_SERVING,   /* this program now serves (Redis listens): others may wait for it. m0 TCP port at which it
	                    * listens, or 0: of another kind; said again for each further port and address. m0's upper
	                    * half: IPv4 address at which it listens, network byte order, or 0: all; at one of
	                    * 127.0.0.0/8 it does not serve, for no other program reaches it there */
	MANAGER_AWAIT,     /* text: name of an application; answered when it is serving */
	MANAGER_SAMPLE,    /* for programs with `statistics` in the map, and in the primary cluster: takes a sample
	                    * of what all clusters count (sample.h); answered when they have told, or do not */
	/* the same: m0 kind, m1, m2 which (sample.h); the record's words from r0 on; NOT_FOUND: no more */
	MANAGER_SAMPLE_READ,
	MANAGER_PROTECT,   /* m0 address,
	m1 size: whole pages of its heap or its stack; m2 rights that they have from now on:
	                    * 0, READ, READ and WRITE, or READ and EXECUTE. What is in them stays there. r0: of how many
	                    * bytes, from the address on, that is done: a long range takes several calls. NO_RESOURCE:
	                    * more than PAGE_RANGES_MAX (page_rights.h, 128) ranges with other rights than READ and
	                    * WRITE, or PROCESS_SPLITS steps of the heap that are split; NO_MEMORY: to split a step that
	                    * is in use. NO_RIGHTS: others. */
	/*
	 * Families: programs that may be several processes (`processes` in the map). Each has a pid; that of the
	 * first is 1. All of them end with the first.
	 *
	 * FORK: m0 rip, m1 rsp, m2 FS base: a copy of the calling process begins there, with its own pid in rdi and
	 * its parent's in rsi, a notification of its own in PROCESS_SLOT_WAKE, and all of its memory: each of the two
	 * sees what was in it at the call, and none what the other writes later, but for the memory at
	 * PROCESS_FAMILY_VADDR, which is the same in all of them. It has neither the parent's other
	 * threads nor what the parent made in its CNode. r0 its pid. NOT_FOUND: the map gives the program one process;
	 * BUSY: it has as many as it may have; NO_MEMORY, NO_RESOURCE: the cluster has no room for one more.
	 *
	 * WAIT: m0 pid of a child, or 0: any; m1 bits: ASK_NO_WAIT; ASK_STOPPED, ASK_CONTINUED: children that have
	 * stopped or gone on, too; ASK_NOT_ENDED: none that have ended; m2 process group, or 0: any. r0 pid
	 * of one that has, which is forgotten then, r1 its status as wait() has it; r0 0: none has, or one has
	 * meanwhile, or a signal has come: ask again. NOT_FOUND: there is no such child.
	 *
	 * KILL: m0 target, as kill() has it: a pid, 0, a process group negated, or -1, for which the first process is
	 * left out; m1 signal, 0 to 64, of which 0 only asks; m2 si_code, m3 si_value. r0 1: the caller is one of
	 * them, and was left out. The first process cannot be killed by signal 9: NO_RIGHTS. NOT_FOUND: there is no
	 * such process; BAD_ARGUMENT: another signal; BUSY: a process has not taken PROCESS_SIGNALS others yet. A
	 * child of the caller's that has ended is there until WAIT has told of it.
	 *
	 * SIGNALS: m0 entry, m1 its bytes: when a signal comes, the first thread goes on at the entry, with all
	 * registers but rip as they were, which is in process_touched.resume; not again before SIGNAL has said that
	 * no more are there. In the entry's first m1 bytes it is left alone. What it waited in is done again when it
	 * goes on at `resume`. m2 bit 0: children leave no status; bit 1: no SIGCHLD when they stop. r0 how many
	 * signals are there. A child begins without an entry.
	 *
	 * SIGNAL: r0 number of the next signal, 0: none; r1 si_code, r2 the sender's pid, r3 si_value; of SIGCHLD the
	 * child's, with si_status.
	 *
	 * EXEC: m0, m1 offset and bytes of an executable within the memory at PROCESS_FILES_VADDR; m2 address in the
	 * heap, of a page; m3 bytes, a multiple of 16 of up to PROCESS_EXEC_STACK, all in one step of the heap that has
	 * been written to: the end of the stack, which ends where the last page of these bytes does. All threads end,
	 * the executable takes the place of the image, and the first thread begins at its entry point with the stack
	 * pointer at the first of these bytes. Nothing is left in the CNode of what the process made, and no page is
	 * protected; the heap is as it was, but for what it shared with other processes, which is untouched again.
	 * Signals stay, the entry of SIGNALS does not. No answer, or an error, with which nothing has changed:
	 * BAD_ARGUMENT: no executable, or bytes elsewhere; NO_MEMORY; NO_RIGHTS: of a first process with network,
	 * volumes or a device. What goes wrong later ends the process by signal 9.
	 *
	 * GROUP: m0 enum manager_group, m1 pid or 0 for the caller, m2 process group. r0 process group, r1 session.
	 * NOT_FOUND, NO_RIGHTS, BAD_ARGUMENT: ESRCH, EPERM, EINVAL of setpgid() and the like.
	 *
	 * STOP: m0 SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU, whose action stops the caller's process; answered when SIGCONT
	 * is sent to it. Until then nobody interrupts it. NO_RIGHTS: it goes on (SIGCONT has come, or its process group
	 * is orphaned, which SIGSTOP alone stops); BAD_ARGUMENT: another signal.
	 *
	 * ALARM: m0 TSC at which it is sent SIGALRM, 0: not; m1 cycles after which it is again, 0: not. r0 cycles that
	 * were left of the one before, 0: none; r1 its m1. NOT_FOUND: the map gives the program one process.
	 */
	MANAGER_FORK,
	MANAGER_WAIT,
	MANAGER_KILL,
	MANAGER_SIGNALS,
	MANAGER_SIGNAL,
	MANAGER_GROUP,
	MANAGER_EXEC,
	MANAGER_STOP,
	MANAGER_ALARM,
	MANAGER_CONFIG,    /* a driver: m0 offset in its device's PCI configuration space, a multiple of m1 below 256;
	                    * m1 size, 1, 2 or 4; m2 0: read, r0 what was there; 1: write m3. The manager alone uses
	                    * the I/O ports for that: they are a pair, for all drivers. NOT_FOUND: no driver;
	                    * BAD_ARGUMENT: others */
};
