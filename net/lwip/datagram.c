/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP sockets over lwIP's raw API. A datagram is sent at once or refused (ENOBUFS). Received datagrams wait in the
 * socket, in up to QUEUE_BYTES of memory; those that find no room are dropped. Fragments are neither made nor joined:
 * a datagram has as many bytes as one frame holds (EMSGSIZE).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <lwip/netif.h>
#include <lwip/udp.h>
#include <skerry/require.h>
#include "interface.h"
#include "memory.h"
#include "opening.h"
#include "socket.h"

enum {
	QUEUE_BYTES = 128 * 1024, /* of memory: each datagram counts OVERHEAD besides its data */
	OVERHEAD = 256,
	HEADERS = 20 + 8, /* IPv4's and UDP's */
};

/* a received datagram that has not been read yet */
struct datagram {
	struct datagram *next;
	struct pbuf *data;
	struct socket_address from;
};

struct datagram_socket {
	struct file file; /* first: operations get this */
	struct udp_pcb *pcb;
	struct datagram *first, *last;
	size_t waiting; /* bytes of memory */
	bool connected, read_shut, write_shut;
};

static struct datagram_socket *socket_in(struct file *file) { return (struct datagram_socket *)file; }

static void datagram_update(struct datagram_socket *socket, uint32_t again)
{
	uint32_t ready = EPOLLOUT;

	if (socket->first)
		ready |= EPOLLIN;
	if (socket->read_shut)
		ready |= EPOLLIN | EPOLLRDHUP | (socket->write_shut ? EPOLLHUP : 0);
	if (ready == socket->file.ready && !(again && socket->file.edge_triggered))
		return;
	if (again | (ready & ~socket->file.ready))
		socket_readiness_changed = true;
	file_ready_again(&socket->file, ready, again);
}

/* --- receiving --- */

static void drop_first(struct datagram_socket *socket)
{
	struct datagram *datagram = socket->first;

	require(socket->waiting >= datagram->data->tot_len + (size_t)OVERHEAD);
	require(datagram->next || socket->last == datagram);
	socket->first = datagram->next;
	socket->waiting -= datagram->data->tot_len + OVERHEAD;
	pbuf_free(datagram->data);
	net_free(datagram);
}

/* Memory as for data to send, which leaves the reserve alone: without any the datagram is dropped and its frame
 * freed. */
static void on_datagram(void *argument, struct udp_pcb *pcb, struct pbuf *data, const ip_addr_t *from, u16_t port)
{
	struct datagram_socket *socket = argument;
	struct datagram *datagram = NULL;

	(void)pcb;
	if (!socket->read_shut && socket->waiting + data->tot_len + OVERHEAD <= QUEUE_BYTES) {
		net_memory_sending(true);
		datagram = net_allocate(sizeof(*datagram));
		net_memory_sending(false);
	}
	if (!datagram) {
		pbuf_free(data);
		return;
	}
	*datagram = (struct datagram){ .data = data, .from = { .ipv4 = ip_2_ip4(from)->addr, .port = port } };
	if (socket->first)
		socket->last->next = datagram;
	else
		socket->first = datagram;
	socket->last = datagram;
	socket->waiting += data->tot_len + OVERHEAD;
	require(socket->waiting <= QUEUE_BYTES);
	datagram_update(socket, EPOLLIN);
}

static size_t copy_out(const struct pbuf *data, const struct msghdr *message)
{
	size_t done = 0;

	require((long)message->msg_iovlen >= 0);
	for (size_t i = 0; i < (size_t)message->msg_iovlen && done < data->tot_len; i++) {
		const struct iovec *iov = &message->msg_iov[i];
		size_t size = iov->iov_len < data->tot_len - done ? iov->iov_len : data->tot_len - done;

		pbuf_copy_partial(data, iov->iov_base, (u16_t)size, (u16_t)done);
		done += size;
	}
	return done;
}

static ssize_t datagram_receive(struct file *file, struct msghdr *message, int flags)
{
	struct datagram_socket *socket = socket_in(file);
	struct datagram *datagram = socket->first;
	size_t size, copied;

	if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_TRUNC | MSG_WAITALL | MSG_CMSG_CLOEXEC))
		return -EOPNOTSUPP;
	if (!datagram && !socket->read_shut)
		return -EAGAIN;
	message->msg_controllen = 0;
	message->msg_flags = 0;
	if (!datagram) {
		message->msg_namelen = 0;
		return 0;
	}
	size = datagram->data->tot_len;
	copied = copy_out(datagram->data, message);
	if (copied < size)
		message->msg_flags = MSG_TRUNC;
	address_give(&datagram->from, message->msg_name, &message->msg_namelen);
	if (!(flags & MSG_PEEK)) {
		drop_first(socket);
		datagram_update(socket, 0);
	}
	return (ssize_t)(flags & MSG_TRUNC ? size : copied);
}

static ssize_t datagram_read(struct file *file, void *buffer, size_t size)
{
	struct iovec iov = { buffer, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	return datagram_receive(file, &message, 0);
}

/* --- sending --- */

/* Where lwIP would count, strangers would know where an answer is awaited, as of a name server. */
static err_t bind_at_random(struct udp_pcb *pcb, const ip_addr_t *ip)
{
	for (unsigned i = 0; i < OPENING_TRIES && !pcb->local_port; i++)
		udp_bind(pcb, ip, opening_port());
	return pcb->local_port ? ERR_OK : udp_bind(pcb, ip, 0);
}

static err_t send_to(struct datagram_socket *socket, struct pbuf *data, const struct socket_address *to)
{
	ip_addr_t ip = socket->pcb->local_ip;
	err_t error = socket->pcb->local_port ? ERR_OK : bind_at_random(socket->pcb, &ip);

	if (error != ERR_OK)
		return error;
	if (!to)
		return udp_send(socket->pcb, data);
	ip_addr_set_ip4_u32(&ip, to->ipv4 ? to->ipv4 : PP_HTONL(IPADDR_LOOPBACK)); /* INADDR_ANY is this host */
	return udp_sendto(socket->pcb, data, &ip, to->port);
}

static struct pbuf *gather_packet(const struct iovec *iov, size_t count, size_t size)
{
	struct pbuf *data;
	size_t done = 0;

	require(size <= UINT16_MAX);
	net_memory_sending(true);
	data = pbuf_alloc(PBUF_TRANSPORT, (u16_t)size, PBUF_RAM);
	net_memory_sending(false);
	for (size_t i = 0; data && i < count; done += iov[i++].iov_len)
		if (iov[i].iov_len)
			memcpy((char *)data->payload + done, iov[i].iov_base, iov[i].iov_len);
	return data;
}

static ssize_t send_parts(struct datagram_socket *socket, const struct iovec *iov, size_t count,
                          const struct socket_address *to)
{
	size_t size = 0, most = netif_default->mtu - HEADERS;
	struct pbuf *data;
	err_t error;

	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > most - size)
			return -EMSGSIZE;
		size += iov[i].iov_len;
	}
	if (socket->write_shut)
		return -EPIPE;
	if (!to && !socket->connected)
		return -EDESTADDRREQ;
	if (to && !to->port)
		return -EINVAL;
	data = interface_is_congested(to ? to->ipv4 : ip_2_ip4(&socket->pcb->remote_ip)->addr) ? NULL
	       : gather_packet(iov, count, size);
	if (!data)
		return -ENOBUFS;
	error = send_to(socket, data, to);
	pbuf_free(data);
	interface_loop(); /* what a program sends itself is in its bounded queue at once */
	return error == ERR_OK ? (ssize_t)size : socket_error_of(error);
}

static ssize_t datagram_send(struct file *file, const struct msghdr *message, int flags)
{
	struct socket_address to;
	int error;

	if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CONFIRM))
		return -EOPNOTSUPP;
	if (!message->msg_name)
		return send_parts(socket_in(file), message->msg_iov, (size_t)message->msg_iovlen, NULL);
	error = address_take(message->msg_name, message->msg_namelen, &to);
	return error ? error : send_parts(socket_in(file), message->msg_iov, (size_t)message->msg_iovlen, &to);
}

static ssize_t datagram_writev(struct file *file, const struct iovec *iov, int count)
{
	return send_parts(socket_in(file), iov, (size_t)count, NULL);
}

static ssize_t datagram_write(struct file *file, const void *buffer, size_t size)
{
	struct iovec iov = { (void *)buffer, size };

	return datagram_writev(file, &iov, 1);
}

/* --- addresses --- */

static int datagram_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct datagram_socket *socket = socket_in(file);
	struct socket_address to;
	int error = address_take(address, length, &to);
	ip_addr_t ip;

	if (error)
		return error;
	if (socket->pcb->local_port)
		return -EINVAL;
	ip_addr_set_ip4_u32(&ip, to.ipv4);
	if (to.ipv4 && !ip4_addr_isloopback(ip_2_ip4(&ip)) &&
	    !ip4_addr_eq(ip_2_ip4(&ip), netif_ip4_addr(netif_default)))
		return -EADDRNOTAVAIL;
	return socket_error_of(to.port ? udp_bind(socket->pcb, &ip, to.port) : bind_at_random(socket->pcb, &ip));
}

/* With AF_UNSPEC it takes datagrams from everybody again. */
static int datagram_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct datagram_socket *socket = socket_in(file);
	struct socket_address to;
	ip_addr_t ip;
	int error;

	if (address && length >= sizeof(address->sa_family) && address->sa_family == AF_UNSPEC) {
		udp_disconnect(socket->pcb);
		socket->connected = false;
		return 0;
	}
	error = address_take(address, length, &to);
	if (error)
		return error;
	ip_addr_set_ip4_u32(&ip, to.ipv4 ? to.ipv4 : PP_HTONL(IPADDR_LOOPBACK));
	if (!socket->pcb->local_port)
		bind_at_random(socket->pcb, &socket->pcb->local_ip);
	error = socket_error_of(udp_connect(socket->pcb, &ip, to.port));
	socket->connected |= !error;
	return error;
}

static int datagram_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	struct datagram_socket *socket = socket_in(file);
	uint32_t ipv4 = ip_2_ip4(&socket->pcb->local_ip)->addr;

	if (!ipv4 && socket->connected) /* where its datagrams come from */
		ipv4 = ip4_addr_isloopback(ip_2_ip4(&socket->pcb->remote_ip)) ? PP_HTONL(IPADDR_LOOPBACK)
		       : netif_ip4_addr(netif_default)->addr;
	address_give(&(struct socket_address){ .ipv4 = ipv4, .port = socket->pcb->local_port }, address, length);
	return 0;
}

static int datagram_peer_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	const struct datagram_socket *socket = socket_in(file);
	const struct udp_pcb *pcb = socket->pcb;

	if (!socket->connected)
		return -ENOTCONN;
	address_give(&(struct socket_address){ .ipv4 = ip_2_ip4(&pcb->remote_ip)->addr, .port = pcb->remote_port },
	             address, length);
	return 0;
}

/* --- the rest --- */

static int datagram_setsockopt(struct file *file, int level, int option, const void *value, socklen_t size)
{
	struct udp_pcb *pcb = socket_in(file)->pcb;
	int number;

	if (!value || size < sizeof(number))
		return -EINVAL;
	memcpy(&number, value, sizeof(number));
	if (level == IPPROTO_IP && option == IP_TTL && number > 0 && number < 256)
		pcb->ttl = (u8_t)number;
	else if (level == IPPROTO_IP && option == IP_TOS)
		pcb->tos = (u8_t)number;
	else if (level == SOL_SOCKET && option == SO_REUSEADDR)
		pcb->so_options = (u8_t)(number ? pcb->so_options | SOF_REUSEADDR : pcb->so_options & ~SOF_REUSEADDR);
	else if (level != SOL_SOCKET || (option != SO_BROADCAST && option != SO_RCVBUF && option != SO_SNDBUF))
		return -ENOPROTOOPT;
	return 0;
}

static int datagram_getsockopt(struct file *file, int level, int option, void *value, socklen_t *size)
{
	const struct udp_pcb *pcb = socket_in(file)->pcb;
	int number = 0;

	if (level != SOL_SOCKET)
		return -ENOPROTOOPT;
	switch (option) {
	case SO_ERROR: break;
	case SO_TYPE: number = SOCK_DGRAM; break;
	case SO_DOMAIN: number = AF_INET; break;
	case SO_PROTOCOL: number = IPPROTO_UDP; break;
	case SO_SNDBUF: case SO_RCVBUF: number = QUEUE_BYTES; break;
	case SO_BROADCAST: number = 1; break;
	case SO_REUSEADDR: number = ip_get_option(pcb, SOF_REUSEADDR) != 0; break;
	default: return -ENOPROTOOPT;
	}
	if (*size > sizeof(number))
		*size = sizeof(number);
	memcpy(value, &number, *size);
	return 0;
}

static int datagram_shutdown(struct file *file, int how)
{
	struct datagram_socket *socket = socket_in(file);

	if (!socket->connected)
		return -ENOTCONN;
	socket->read_shut |= how != SHUT_WR;
	socket->write_shut |= how != SHUT_RD;
	datagram_update(socket, SOCKET_ALL);
	return 0;
}

static int datagram_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFSOCK | 0777;
	return 0;
}

static void datagram_close(struct file *file)
{
	struct datagram_socket *socket = socket_in(file);

	udp_remove(socket->pcb);
	while (socket->first)
		drop_first(socket);
	require(!socket->waiting);
	layer_free(socket);
}

static const struct file_operations datagram_operations = {
	.name = "datagram socket", .has_messages = true, .read = datagram_read, .write = datagram_write,
	.writev = datagram_writev, .stat = datagram_stat, .close = datagram_close, .bind = datagram_bind,
	.connect = datagram_connect, .getsockname = datagram_name, .getpeername = datagram_peer_name,
	.setsockopt = datagram_setsockopt, .getsockopt = datagram_getsockopt, .shutdown = datagram_shutdown,
	.sendmsg = datagram_send, .recvmsg = datagram_receive,
};

int datagram_open(struct file **out)
{
	struct udp_pcb *pcb = udp_new();
	struct datagram_socket *socket = pcb ? layer_allocate(sizeof(*socket)) : NULL;

	if (pcb && !socket)
		udp_remove(pcb);
	if (!socket)
		return -ENOBUFS;
	file_init(&socket->file, &datagram_operations, O_RDWR);
	socket->pcb = pcb;
	socket->file.ready = EPOLLOUT;
	udp_recv(pcb, on_datagram, socket);
	*out = &socket->file;
	return 0;
}
