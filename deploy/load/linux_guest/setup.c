/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static int event_port = -1;

unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

static void write_all(const char *text, size_t length)
{
	while (event_port >= 0 && length > 0) {
		const ssize_t n = write(event_port, text, length);
		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		length -= n > 0 ? (size_t)n : 0;
	}
}

static void event_list(const char *format, va_list arguments)
{
	char line[8192];
	int length = vsnprintf(line, sizeof(line) - 1, format, arguments);

	if (length > (int)sizeof(line) - 2)
		length = sizeof(line) - 2;
	line[length++] = '\n';
	write_all(line, (size_t)length);
}

void event(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	event_list(format, arguments);
	va_end(arguments);
}

void power_off(void)
{
	if (event_port >= 0)
		tcdrain(event_port);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

void fail(const char *format, ...)
{
	char what[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	for (char *at = what; *at; at++)
		if (*at < ' ' || *at == '"' || *at == '\\')
			*at = '\'';
	fprintf(stderr, "init: %s\n", what);
	event("{\"event\":\"error\",\"what\":\"%s\"}", what);
	power_off();
}

static void must_mount(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL) != 0 && errno != EBUSY)
		fail("mount %s: %s", where, strerror(errno));
}

static void open_event_port(void)
{
	struct termios raw;

	event_port = open("/dev/ttyS1", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (event_port < 0 || tcgetattr(event_port, &raw) != 0)
		fail("/dev/ttyS1: %s", strerror(errno));
	cfmakeraw(&raw);
	tcsetattr(event_port, TCSANOW, &raw);
}

/* /modules/order names them one a line, each after what it needs. */
static void load_modules(void)
{
	char line[128], path[160];
	FILE *order = fopen("/modules/order", "re");

	while (order && fgets(line, sizeof(line), order)) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, sizeof(path), "/modules/%s", line);
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST))
			fail("%s: %s", path, strerror(errno));
		close(fd);
	}
	if (order)
		fclose(order);
}

static struct sockaddr ipv4(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr address;

	inet_pton(AF_INET, text, &in.sin_addr);
	memcpy(&address, &in, sizeof(address));
	return address;
}

static bool configure(int s, const char *interface, const char *address, const char *netmask)
{
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	request.ifr_addr = ipv4(address);
	if (ioctl(s, SIOCSIFADDR, &request) != 0)
		return false;
	request.ifr_netmask = ipv4(netmask);
	if (ioctl(s, SIOCSIFNETMASK, &request) != 0 || ioctl(s, SIOCGIFFLAGS, &request) != 0)
		return false;
	request.ifr_flags |= IFF_UP;
	return ioctl(s, SIOCSIFFLAGS, &request) == 0;
}

/* Addresses of QEMU's user network; a machine without a network card is fine. */
static void configure_network(void)
{
	const int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0 || !configure(s, "lo", "127.0.0.1", "255.0.0.0"))
		fail("lo: %s", strerror(errno));
	if (configure(s, "eth0", "10.0.2.15", "255.255.255.0")) {
		struct rtentry route = { .rt_dst = ipv4("0.0.0.0"), .rt_genmask = ipv4("0.0.0.0"),
					 .rt_gateway = ipv4("10.0.2.2"), .rt_flags = RTF_UP | RTF_GATEWAY };
		if (ioctl(s, SIOCADDRT, &route) != 0)
			fail("default route: %s", strerror(errno));
	}
	close(s);
}

void set_up(void)
{
	const struct rlimit files = { 65536, 65536 };

	must_mount("devtmpfs", "/dev");
	open_event_port();
	must_mount("proc", "/proc");
	must_mount("sysfs", "/sys");
	must_mount("tmpfs", "/tmp");
	setrlimit(RLIMIT_NOFILE, &files);
	load_modules();
	configure_network();
}
