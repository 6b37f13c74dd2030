/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket options. An option without effect here is accepted if programs work without it, and refused if they rely on
 * it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <lwip/priv/tcp_priv.h>
#include "connections.h"
#include "socket.h"
#undef TCP_MSS /* some libcs have one of their own */
#include <netinet/tcp.h>

/* lwIP's defaults, ms */
enum { KEEP_IDLE = 7200000, KEEP_INTERVAL = 75000, KEEP_COUNT = 9 };

static int set_ip_option(struct tcp_pcb *pcb, u8_t option, bool on)
{
	if (on)
		ip_set_option(pcb, option);
	else
		ip_reset_option(pcb, option);
	return 0;
}

static int set_socket(struct socket *socket, int option, const void *value, socklen_t size, int number)
{
	struct tcp_pcb *pcb = socket->pcb;

	switch (option) {
	case SO_REUSEADDR:
		return pcb ? set_ip_option(pcb, SOF_REUSEADDR, number) : 0;
	case SO_KEEPALIVE:
		return pcb ? set_ip_option(pcb, SOF_KEEPALIVE, number) : 0;
	case SO_LINGER:
		if (size < sizeof(socket->options.linger))
			return -EINVAL;
		memcpy(&socket->options.linger, value, sizeof(socket->options.linger));
		return 0;
	case SO_SNDBUF: case SO_RCVBUF: case SO_REUSEPORT: case SO_BROADCAST: case SO_OOBINLINE:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/* lwIP's listeners have no such fields, and hand none on to their connections. */
static void apply_options(struct socket *socket)
{
	struct tcp_pcb *pcb = socket->state == SOCKET_LISTENING ? NULL : socket->pcb;

	if (!pcb)
		return;
	if (socket->options.no_delay)
		tcp_nagle_disable(pcb);
	else
		tcp_nagle_enable(pcb);
	pcb->keep_idle = socket->options.keep_idle;
	pcb->keep_intvl = socket->options.keep_interval;
	pcb->keep_cnt = socket->options.keep_count;
}

void socket_options_init(struct socket *socket)
{
	socket->options = (struct socket_options){ .keep_idle = KEEP_IDLE, .keep_interval = KEEP_INTERVAL,
	                                           .keep_count = KEEP_COUNT };
}

void socket_options_inherit(struct socket *connection, const struct socket *listener)
{
	connection->options = listener->options;
	apply_options(connection);
}

static int set_tcp(struct socket *socket, int option, int number)
{
	switch (option) {
	case TCP_NODELAY:
		socket->options.no_delay = number;
		break;
	case TCP_KEEPIDLE: case TCP_KEEPINTVL: case TCP_KEEPCNT:
		if (number < 1 || number > 32767)
			return -EINVAL;
		if (option == TCP_KEEPIDLE)
			socket->options.keep_idle = (uint32_t)number * 1000;
		else if (option == TCP_KEEPINTVL)
			socket->options.keep_interval = (uint32_t)number * 1000;
		else
			socket->options.keep_count = (uint32_t)number;
		break;
	case TCP_USER_TIMEOUT:
		if (number < 0)
			return -EINVAL;
		socket->options.user_timeout = (uint32_t)number;
		socket->waits_since = tcp_ticks;
		if (number && socket->state == SOCKET_CONNECTED && socket->pcb)
			connections_ask(socket->pcb);
		break;
	case TCP_QUICKACK: case TCP_DEFER_ACCEPT:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
	apply_options(socket);
	return 0;
}

int socket_setsockopt(struct file *file, int level, int option, const void *value, socklen_t size)
{
	struct socket *socket = socket_of(file);
	int number;

	if (!value || size < sizeof(number))
		return -EINVAL;
	memcpy(&number, value, sizeof(number));
	switch (level) {
	case SOL_SOCKET:
		return set_socket(socket, option, value, size, number);
	case IPPROTO_TCP:
		return set_tcp(socket, option, number);
	case IPPROTO_IP:
		if (option != IP_TOS)
			return -ENOPROTOOPT;
		if (socket->pcb)
			socket->pcb->tos = (u8_t)number;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int get_socket(struct socket *socket, int option, int *number)
{
	struct tcp_pcb *pcb = socket->pcb;

	switch (option) {
	case SO_ERROR: *number = -socket_take_error(socket); return 0;
	case SO_TYPE: *number = SOCK_STREAM; return 0;
	case SO_DOMAIN: *number = AF_INET; return 0;
	case SO_PROTOCOL: *number = IPPROTO_TCP; return 0;
	case SO_ACCEPTCONN: *number = socket->state == SOCKET_LISTENING; return 0;
	case SO_SNDBUF: *number = TCP_SND_BUF; return 0;
	case SO_RCVBUF: *number = TCP_WND; return 0;
	case SO_REUSEADDR: *number = pcb && ip_get_option(pcb, SOF_REUSEADDR); return 0;
	case SO_KEEPALIVE: *number = pcb && ip_get_option(pcb, SOF_KEEPALIVE); return 0;
	default: return -ENOPROTOOPT;
	}
}

static int get_tcp(struct socket *socket, int option, int *number)
{
	const struct tcp_pcb *pcb = socket->state == SOCKET_LISTENING ? NULL : socket->pcb;

	switch (option) {
	case TCP_NODELAY: *number = socket->options.no_delay; return 0;
	case TCP_MAXSEG: *number = pcb ? tcp_mss(pcb) : 536; return 0;
	case TCP_KEEPIDLE: *number = (int)(socket->options.keep_idle / 1000); return 0;
	case TCP_KEEPINTVL: *number = (int)(socket->options.keep_interval / 1000); return 0;
	case TCP_KEEPCNT: *number = (int)socket->options.keep_count; return 0;
	case TCP_USER_TIMEOUT: *number = (int)socket->options.user_timeout; return 0;
	default: return -ENOPROTOOPT;
	}
}

int socket_getsockopt(struct file *file, int level, int option, void *value, socklen_t *size)
{
	struct socket *socket = socket_of(file);
	int number = 0, error = -ENOPROTOOPT;

	if (level == SOL_SOCKET && option == SO_LINGER) {
		if (*size > sizeof(socket->options.linger))
			*size = sizeof(socket->options.linger);
		memcpy(value, &socket->options.linger, *size);
		return 0;
	}
	if (level == SOL_SOCKET)
		error = get_socket(socket, option, &number);
	else if (level == IPPROTO_TCP)
		error = get_tcp(socket, option, &number);
	if (error)
		return error;
	if (*size > sizeof(number))
		*size = sizeof(number);
	memcpy(value, &number, *size);
	return 0;
}
