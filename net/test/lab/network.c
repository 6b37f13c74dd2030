/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../lwip/link.h"
#include "lab.h"

struct lab lab;

static char *image; /* of the module */
static long image_size;

__attribute__((weak)) void fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "at %lu us: ", lab.now / 1000);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	exit(1);
}

uint32_t lab_draw(uint32_t below)
{
	lab.random ^= lab.random << 13;
	lab.random ^= lab.random >> 7;
	lab.random ^= lab.random << 17;
	return (uint32_t)(lab.random >> 20) % below;
}

void module_read(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file || fseek(file, 0, SEEK_END) || (image_size = ftell(file)) <= 0)
		fail("no module: %s", path);
	rewind(file);
	image = malloc((size_t)image_size);
	if (!image || fread(image, (size_t)image_size, 1, file) != 1)
		fail("the module cannot be read: %s", path);
	fclose(file);
}

/* Each life has its own copy of the module, so that it begins with the variables that the module has. */
static void load(struct life *life)
{
	char path[32];

	life->image = memfd_create("life", MFD_CLOEXEC);
	if (life->image < 0 || write(life->image, image, (size_t)image_size) != image_size)
		fail("a copy of the module: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", life->image);
	life->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!life->module)
		fail("the module: %s", dlerror());
	life->calls = dlsym(life->module, "life_calls");
}

void lab_begin(int count, char **arguments)
{
	if (count < 2)
		fail("no module is named");
	setvbuf(stdout, NULL, _IOLBF, 0);
	module_read(arguments[1]);
	lab.now = 1000 * SECOND;
	lab.random = 88172645463325252ull;
	lab.draws = lab.bells = true;
	lab.heap = 256 << 20;
	lab.mtu = 1500;
	lab.timeout = 1000 * SECOND;
}

void lab_cable(unsigned stack, unsigned other)
{
	if (lab.cables == LAB_CABLES)
		fail("no more than %u cables", LAB_CABLES);
	lab.cable_end[lab.cables][0] = stack;
	lab.cable_end[lab.cables++][1] = other;
}

/* Memory with nothing around it, as ASan has it. */
static void *pages(size_t size)
{
	void *memory = aligned_alloc(4096, size);

	if (!memory)
		fail("no memory");
	return memset(memory, 0, size);
}

static void *map_bells(int file, int protection)
{
	void *memory = mmap(NULL, (lab.places + 1) * BELL_SIZE, protection, MAP_SHARED, file, 0);

	if (memory == MAP_FAILED)
		fail("no memory");
	return memory;
}

/* Only its own bell word can be written by a program; the last one is the switch's. */
static void start_bells(void)
{
	const int file = memfd_create("bells", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, (lab.places + 1) * BELL_SIZE))
		fail("no memory: %s", strerror(errno));
	lab.bell = map_bells(file, PROT_READ | PROT_WRITE);
	lab.bell_seen = map_bells(file, PROT_READ);
	close(file);
}

void lab_start(unsigned places)
{
	struct process_port table[LAB_PLACES] = { 0 };

	lab.places = places;
	lab.port = pages(places * PORT_SIZE);
	for (unsigned cable = 0; cable < lab.cables; cable++)
		lab.cable[cable] = pages(CABLE_SIZE);
	start_bells();
	lab.lives = 2;
	for (unsigned i = 0; i < places; i++)
		table[i] = (struct process_port){ .mac = { 2, 0, 0, 0, 0, (uint8_t)i }, .ipv4 = address_of(i) };
	forward_init(&lab.forward, table, places, lab.port, lab.timeout, 2);
	if (lab.bells)
		forward_bells(&lab.forward, table, (struct bell *)(lab.bell + places * BELL_SIZE), lab.bell_seen);
	lab.switch_awake = true;
}

/* --- who wakes whom --- */

void life_wake(struct life *life)
{
	life->awake = true;
	life->wakes++;
}

static void wake_place(void *unused, unsigned place)
{
	(void)unused;
	life_wake(&lab.life[place]);
}

unsigned cable_of(unsigned place, unsigned link)
{
	for (unsigned cable = 0; cable < lab.cables; cable++)
		for (unsigned side = 0; side < 2; side++)
			if (lab.cable_end[cable][side] == place && !--link)
				return cable;
	fail("a place without this cable");
}

static void wake(unsigned place, int link)
{
	if (link == TO_SWITCH) {
		lab.switch_awake = true;
	} else if (link == TO_SOCKETS) {
		life_wake(here == &lab.life[place] ? &lab.program[place] : &lab.life[place]);
	} else {
		const unsigned *end = lab.cable_end[cable_of(place, 1 + (unsigned)link)];

		wake_place(NULL, end[end[0] == place]);
	}
}

struct link *link_of_cable(unsigned cable, unsigned side)
{
	const unsigned place = lab.cable_end[cable][side];
	const struct life *life = &lab.life[place];

	for (unsigned link = 1; life->calls && link < life->calls->links(); link++)
		if (cable_of(place, link) == cable)
			return life->calls->link(link);
	return NULL;
}

/* --- lives --- */

static const struct bell *bell_seen(unsigned place)
{
	return lab.bells ? (const struct bell *)(lab.bell_seen + place * BELL_SIZE) : NULL;
}

static void describe_cables(unsigned place, struct life_host *host)
{
	struct process_info *info = &host->info;

	for (unsigned cable = 0; cable < lab.cables; cable++)
		for (unsigned side = 0; side < 2; side++) {
			const unsigned far = lab.cable_end[cable][!side];

			if (lab.cable_end[cable][side] != place)
				continue;
			host->cable[info->port_count] = lab.cable[cable];
			host->cable_bell[info->port_count] = bell_seen(far);
			info->port[info->port_count++] = (struct process_port){
				.mac = { 2, 0, 0, 0, 0, (uint8_t)far }, .ipv4 = address_of(far), .upper = side == 0,
			};
		}
}

static struct life_host host_of(unsigned place)
{
	return (struct life_host){
		.now = &lab.now, .random = lab.random, .port = lab.port + place * PORT_SIZE,
		.bell = (struct bell *)(lab.bell + place * BELL_SIZE), .switch_bell = bell_seen(lab.places),
		.number = place, .wake = wake, .wait = program_wait, .edge = file_edge,
		.info = { .heap_size = lab.heap, .life = lab.lives += 2, .network = {
			.present = 1, .ipv4 = address_of(place), .netmask = htonl(0xffffff00), .gateway = lab.gateway,
			.mac = { 2, 0, 0, 0, 0, (uint8_t)place }, .mtu = lab.mtu,
		} },
	};
}

struct life *life_start(unsigned place)
{
	struct life *life = &lab.life[place];

	*life = (struct life){ .host = host_of(place), .awake = true };
	describe_cables(place, &life->host);
	load(life);
	life->calls->start(&life->host);
	return life;
}

struct life *life_start_apart(unsigned place)
{
	struct life *stack = life_start(place), *program = &lab.program[place];
	void *sockets = mmap(NULL, SOCKET_PORT_SIZE, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sockets == MAP_FAILED)
		fail("no memory");
	*program = (struct life){ .host = stack->host, .awake = true };
	stack->host.sockets = program->host.sockets = sockets;
	stack->host.info.sockets = program->host.info.sockets = 1;
	program->host.info.network.present = 0;
	load(program);
	program->calls->start(&program->host);
	return program;
}

void sockets_end(unsigned place, enum socket_side side)
{
	struct socket_port_header *header = lab.life[place].host.sockets;

	atomic_store(&header->gone[side], 1);
	life_wake(side == SOCKET_SIDE_STACK ? &lab.program[place] : &lab.life[place]);
}

static void close_side(void *memory, enum port_direction side)
{
	port_close((struct port_epochs *)((char *)memory + PORT_EPOCHS), side);
}

void place_close(unsigned place)
{
	for (unsigned cable = 0; cable < lab.cables; cable++)
		for (unsigned side = 0; side < 2; side++)
			if (lab.cable_end[cable][side] == place) {
				close_side(lab.cable[cable], side ? PORT_FROM_SWITCH : PORT_TO_SWITCH);
				wake_place(NULL, lab.cable_end[cable][!side]);
			}
	close_side(lab.port + place * PORT_SIZE, PORT_TO_SWITCH);
	lab.switch_awake = true;
}

void life_end(unsigned place)
{
	struct life *life = &lab.life[place];

	if (!life->calls)
		return;
	fiber_end(life);
	life->calls->end();
	dlclose(life->module);
	close(life->image);
	life->calls = NULL;
	place_close(place);
}

void station_start(unsigned place)
{
	lab.station[place] = port_open(lab.port + place * PORT_SIZE, PORT_TO_SWITCH, lab.lives += 2);
	lab.played[place] = true;
}

void switch_run(void)
{
	if (relay_runs())
		return relay_run();
	lab.switch_awake = forward_pass(&lab.forward, lab.now) || forward_last_pass(&lab.forward, lab.now);
	forward_signal(&lab.forward, wake_place, NULL);
}

uint64_t switch_deadline(void) { return relay_runs() ? relay_deadline() : lab.forward.deadline; }
