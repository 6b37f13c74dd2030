/* SPDX-License-Identifier: BSD-2-Clause */
/* Machine files as the plugin reads them. */
#include <string.h>
#include <unistd.h>
#include "prices.h"
#include "test-common.h"

static const char *const names[] = {
#define PRICE(name, what) #name,
#include "prices.def"
#undef PRICE
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };
#define SHAPE                                                                                                              \
	"cores 28\nclusters 2\nsockets 2\nl1_sets 64\nl1_ways 8\nl1i_sets 64\nl1i_ways 8\nl2_sets 512\nl2_ways " \
	"8\nl3_sets 28672\nl3_ways 20\n" \
	"l3_inclusive 1\nstore_buffer 42\n"
static const char GEOMETRY[] = "khz 2000000\n" SHAPE, SLOW[] = "khz 2\n" SHAPE;
static const char NODES[] = "node 0 0\nnode 0x80000000 1\n";

/* Reads all prices but `without` (as 2.5 cycles), then the texts. */
static const char *read_with(const char *without, const char *geometry, const char *more, struct machine *machine,
                             unsigned *line)
{
	char path[] = "/tmp/test-prices-XXXXXX";
	int fd = mkstemp(path);
	EXPECT(fd >= 0, 1);
	FILE *file = fdopen(fd, "w");
	for (unsigned i = 0; i < NAMES; i++)
		if (!without || strcmp(names[i], without))
			fprintf(file, "%s 2.5\n", names[i]);
	fprintf(file, "%s%s", geometry, more);
	fclose(file);
	const char *wrong = machine_read(path, machine, line);
	unlink(path);
	return wrong;
}

static void refuses(const char *without, const char *geometry, const char *more, const char *says)
{
	struct machine machine;
	unsigned line;
	const char *wrong = read_with(without, geometry, more, &machine, &line);
	if (!wrong || !strstr(wrong, says)) {
		fprintf(stderr, "%s%s is answered by %s, not %s\n", without ? without : "", more,
		        wrong ? wrong : "nothing", says);
		exit(1);
	}
}

int main(void)
{
	struct machine m;
	unsigned line;
	EXPECT(read_with(NULL, GEOMETRY, NODES, &m, &line), NULL);
	EXPECT(m.cores, 28);
	EXPECT(m.price.transfer_machine, 40); /* 2.5 cycles */
	EXPECT(m.price.ipi, 40);
	EXPECT(m.price.planted_hold + m.price.planted_less, 0);
	EXPECT(distance(&m, 0, 13), SAME_CLUSTER);
	EXPECT(distance(&m, 13, 14), OTHER_SOCKET);
	EXPECT(home_of(&m, 0), 0);
	EXPECT(home_of(&m, (0x80000000 >> 6) - 1), 0);
	EXPECT(home_of(&m, 0x80000000 >> 6), 1);
	for (unsigned i = 0; i < NAMES; i++)
		refuses(names[i], GEOMETRY, NODES, names[i]);
	refuses(NULL, "", NODES, "khz");
	refuses(NULL, GEOMETRY, "colour 3\n", "no price");
	refuses(NULL, GEOMETRY, "ipi 3\n", "twice");
	refuses(NULL, GEOMETRY, "ipi\n", "no value");
	refuses("ipi", GEOMETRY, "ipi -3\n", "not a number");
	refuses("ipi", GEOMETRY, "ipi nan\n", "not a number");
	refuses("ipi", GEOMETRY, "ipi 1e12\n", "not a number");
	refuses("ipi", GEOMETRY, "ipi 3x\n", "not a number");
	refuses(NULL, GEOMETRY, "node 0\n", "START SOCKET");
	refuses(NULL, GEOMETRY, "node 0 x\n", "START SOCKET");
	refuses(NULL, GEOMETRY, "node 4096 0\nnode 0 1\n", "sorted");
	refuses(NULL, GEOMETRY, "node 0 2\n", "socket");
	refuses(NULL, SLOW, NODES, "khz");
	EXPECT(read_with(NULL, GEOMETRY, "planted_hold 30\nplanted_less 10\n", &m, &line), NULL);
	EXPECT(m.price.planted_hold, 480); /* 30 cycles */
	EXPECT(less_planted(&m.price, 160), 144);
	EXPECT(less_planted(&m.price, 4), 4); /* to the nearest sixteenth */
	EXPECT(less_planted(&m.price, 6), 5);
	refuses(NULL, GEOMETRY, "planted_less 91\n", "90 percent");
	EXPECT(machine_read("/nonexistent/machine", &m, &line) != NULL, 1);
	return 0;
}
