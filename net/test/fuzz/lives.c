/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../lwip/link.h"
#include "fuzz.h"

const unsigned cable_end[CABLES][2] = { { 0, 1 }, { 1, 2 } };
static const uint64_t SECOND = 1000000000;

static char *image; /* of the module */
static long image_size;

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
static void load(struct stack *stack)
{
	char path[32];

	stack->image = memfd_create("stack", MFD_CLOEXEC);
	if (stack->image < 0 || write(stack->image, image, (size_t)image_size) != image_size)
		fail("a copy of the module: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", stack->image);
	stack->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!stack->module)
		fail("the module: %s", dlerror());
	stack->calls = dlsym(stack->module, "stack_calls");
}

static struct bell *bell_of(unsigned number) { return (struct bell *)(run.bell + number * BELL_SIZE); }
static void wake_stack(void *unused, unsigned stack)
{
	(void)unused;
	run.stack[stack].awake = true;
}

unsigned cable_of(unsigned stack, unsigned link)
{
	for (unsigned cable = 0; cable < CABLES; cable++)
		for (unsigned side = 0; side < 2; side++)
			if (cable_end[cable][side] == stack && !--link)
				return cable;
	fail("a stack without this cable");
}

static unsigned far_end(unsigned cable, unsigned stack) { return cable_end[cable][cable_end[cable][0] == stack]; }

static void wake(unsigned stack, int link)
{
	if (link == TO_SWITCH)
		run.switch_awake = true;
	else
		wake_stack(NULL, far_end(cable_of(stack, 1 + (unsigned)link), stack));
}

struct link *link_of_cable(unsigned cable, unsigned side)
{
	const unsigned number = cable_end[cable][side];
	const struct stack *stack = &run.stack[number];

	for (unsigned link = 1; stack->calls && link < stack->calls->links(); link++)
		if (cable_of(number, link) == cable)
			return stack->calls->link(link);
	return NULL;
}

static void describe_cables(unsigned number, struct stack_host *host)
{
	struct process_info *info = &host->info;

	for (unsigned cable = 0; cable < CABLES; cable++)
		for (unsigned side = 0; side < 2; side++) {
			const unsigned far = cable_end[cable][!side];

			if (cable_end[cable][side] != number)
				continue;
			host->cable[info->port_count] = run.cable[cable];
			host->cable_bell[info->port_count] = run.bells ? bell_of(far) : NULL;
			info->port[info->port_count++] = (struct process_port){
				.mac = { 2, 0, 0, 0, 0, (uint8_t)far }, .ipv4 = address_of(far), .upper = side == 0,
			};
		}
}

static struct stack_host host_of(unsigned number)
{
	static const uint64_t heaps[] = { 256 << 20, 64 << 20 }, small_heaps[] = { 16 << 20, 3 << 20 };
	static const uint16_t mtus[] = { MTU, 576, 300 };
	const bool small = run.modes & SMALL;

	return (struct stack_host){
		.now = &run.now, .random = draw(UINT32_MAX), .port = run.port + number * PORT_SIZE,
		.bell = bell_of(number), .switch_bell = run.bells ? bell_of(STACKS) : NULL, .number = number,
		.wake = wake, .info = { .heap_size = (small ? small_heaps : heaps)[draw(2)], .life = run.lives += 2,
		                        .network = {
			.present = 1, .ipv4 = address_of(number), .netmask = htonl(0xffffff00),
			.mac = { 2, 0, 0, 0, 0, (uint8_t)number },
			.mtu = mtus[small ? draw(3) : 0],
		} },
	};
}

static struct file *open_socket(struct stack *stack, int type, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct file *file;

	if (stack->calls->socket(AF_INET, type, 0, &file) || file->ops->bind(file, (struct sockaddr *)&at, sizeof(at)))
		fail("no socket for port %u", port);
	return file;
}

void life_start(unsigned number)
{
	struct stack *stack = &run.stack[number];

	*stack = (struct stack){ .host = host_of(number), .awake = true };
	describe_cables(number, &stack->host);
	load(stack);
	stack->calls->start(&stack->host);
	stack->listener = open_socket(stack, SOCK_STREAM, SERVICE);
	if (stack->listener->ops->listen(stack->listener, 64))
		fail("nobody can listen");
	stack->datagrams = open_socket(stack, SOCK_DGRAM, DATAGRAMS);
	stack->blocks = stack->calls->blocks();
	frames_look(number);
}

static void close_side(void *memory, enum port_direction side)
{
	port_close((struct port_epochs *)((char *)memory + PORT_EPOCHS), side);
}

/* As when a program has ended: the manager closes its ends and wakes their far ends. */
void life_end(unsigned number)
{
	struct stack *stack = &run.stack[number];

	if (!stack->calls)
		return;
	run.totals.deaths++;
	run.totals.lent += stack->calls->lent();
	for (unsigned i = 0; i < run.connections; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct end *end = &run.connection[i].end[side];

			if (run.connection[i].used && end->stack == (int)number) {
				end->gone = true;
				end->file = NULL;
			}
		}
	stack->calls->end();
	dlclose(stack->module);
	close(stack->image);
	stack->calls = NULL;
	for (unsigned cable = 0; cable < CABLES; cable++)
		for (unsigned side = 0; side < 2; side++)
			if (cable_end[cable][side] == number) {
				close_side(run.cable[cable], side ? PORT_FROM_SWITCH : PORT_TO_SWITCH);
				wake_stack(NULL, cable_end[cable][!side]);
			}
	close_side(run.port + number * PORT_SIZE, PORT_TO_SWITCH);
	run.switch_awake = true;
}

/* Memory with nothing around it, as ASan has it. */
static void *pages(size_t size)
{
	void *memory = aligned_alloc(4096, size);

	if (!memory)
		fail("no memory");
	return memset(memory, 0, size);
}

void lives_start(void)
{
	struct process_port table[STACKS] = { 0 };

	run.port = pages(STACKS * PORT_SIZE);
	for (unsigned cable = 0; cable < CABLES; cable++)
		run.cable[cable] = pages(CABLE_SIZE);
	run.bell = pages((STACKS + 1) * BELL_SIZE);
	run.bells = draw(2);
	run.lives = 2;
	for (unsigned i = 0; i < STACKS; i++)
		table[i] = (struct process_port){ .mac = { 2, 0, 0, 0, 0, (uint8_t)i }, .ipv4 = address_of(i) };
	forward_init(&run.forward, table, STACKS, run.port, run.modes & LOSS && draw(2) ? SECOND / 5 : 1000 * SECOND,
	             2);
	if (run.bells)
		forward_bells(&run.forward, table, bell_of(STACKS), run.bell);
	run.switch_awake = true;
	for (unsigned i = 0; i < STACKS; i++)
		life_start(i);
}

void switch_run(void)
{
	run.switch_awake = forward_pass(&run.forward, run.now) || forward_last_pass(&run.forward, run.now);
	forward_signal(&run.forward, wake_stack, NULL);
}

void stack_poll(unsigned stack)
{
	run.stack[stack].calls->poll();
	connections_accept(stack);
}
