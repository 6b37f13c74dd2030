/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How lwIP 2.2 is configured: one thread under the POSIX layer's lock, TCP and UDP
 * over IPv4 over one Ethernet port and loopback, raw API. opt.h has the meaning.
 */
#pragma once

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0

/* All memory comes from net/lwip/memory.c; nothing is sized ahead, so the MEMP_NUM_ limits do not apply. */
#define MEM_CUSTOM_ALLOCATOR 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 16
#define MEM_CUSTOM_MALLOC net_allocate
#define MEM_CUSTOM_CALLOC net_allocate_zeroed
#define MEM_CUSTOM_FREE net_free
#define LWIP_TIMERS_CUSTOM 1 /* net/lwip/timers.c */

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_UDP 1
#define LWIP_RAW 0
#define LWIP_ICMP 1
#define IP_REASSEMBLY 0 /* TCP is never fragmented; a datagram is one frame */
#define IP_FRAG 0
#define IP_FORWARD 0

/* A connect to a host of yet unknown address must not lose its first segments; answers to SYNs of unknown hosts wait,
 * too. */
#define ARP_TABLE_SIZE 127
#define ARP_QUEUEING 1
#define ARP_QUEUE_LEN 64
#define LWIP_NETIF_HWADDRHINT 1

#define LWIP_NETIF_LOOPBACK 1
#define LWIP_HAVE_LOOPIF 1
#define LWIP_LOOPBACK_MAX_PBUFS 0 /* unlimited; TCP's windows bound it */

/* Memory does not corrupt: skerry/port.h. */
#define CHECKSUM_GEN_IP 0
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_GEN_UDP 0
#define CHECKSUM_GEN_ICMP 0
#define CHECKSUM_CHECK_IP 0
#define CHECKSUM_CHECK_TCP 0
#define CHECKSUM_CHECK_UDP 0
#define CHECKSUM_CHECK_ICMP 0

#define TCP_MSS 1460
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 3
#define TCP_WND (256 * 1024)
#define TCP_WND_UPDATE_THRESHOLD (16 * 1024) /* well below the 64 KiB window of peers that do not scale */
#define TCP_SND_BUF (256 * 1024)
#define TCP_SND_QUEUELEN 4096 /* pbufs: small writes make one each */
#define TCP_SNDLOWAT 16384 /* for lwIP's own sockets, which are not used; its checks want it */
#define TCP_QUEUE_OOSEQ 1
#define LWIP_TCP_SACK_OUT 1     /* SACK blocks that arrive: net/lwip/recovery.h */
#define TCP_OOSEQ_PBUFS_LIMIT(pcb) ((u16_t)((pcb)->rcv_wnd / TCP_MSS + 2)) /* a small segment takes a frame's memory */
#define LWIP_TCP_PCB_NUM_EXT_ARGS 2 /* net/lwip/share.c, connections.c */
#define LWIP_HOOK_FILENAME "../connections.h"
#define LWIP_HOOK_IP4_INPUT(packet, netif) connections_seen(packet, netif)
#define LWIP_HOOK_TCP_INPACKET_PCB(pcb, header, size, here, behind, packet) connections_segment(pcb, header, size, \
	here, behind, (packet)->tot_len)
#define LWIP_HOOK_TCP_ISN(local_ip, local_port, remote_ip, remote_port) \
	opening_isn(ip_2_ip4(local_ip)->addr, local_port, ip_2_ip4(remote_ip)->addr, remote_port)
#define LWIP_SUPPORT_CUSTOM_PBUF 1  /* net/lwip/interface.c */
#define TCP_LISTEN_BACKLOG 1
#define TCP_MSL 1000          /* ms; TIME_WAIT is twice this */
#define LWIP_TCP_RTO_TIME 1000 /* of connections that recovery.c does not know, for want of memory */
#define LWIP_TCP_KEEPALIVE 1
#define SO_REUSE 1

#define LWIP_STATS 0
