/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each construct of OpenMP once, by all threads. Ends with 0 and one line that has the numbers of threads, processors
 * and cores on which a thread was; with 1 and the constructs that were wrong.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 100000, TASKS = 200, MOST = 64, TURNS = 50 };

static int wrong;

static void check(const char *what, int right)
{
	if (!right) {
		printf("openmp: wrong: %s\n", what);
		wrong = 1;
	}
}

static long fibonacci(int n)
{
	long a, b;
	if (n < 2)
		return n;
	#pragma omp task shared(a) if (n > 8)
	a = fibonacci(n - 1);
	#pragma omp task shared(b) if (n > 8)
	b = fibonacci(n - 2);
	#pragma omp taskwait
	return a + b;
}

static void loops(void)
{
	static int times[LENGTH];
	long sum = 0, expected = 0;
	for (long i = 0; i < LENGTH; i++)
		expected += i % 7;
	#pragma omp parallel for reduction(+ : sum) schedule(static)
	for (long i = 0; i < LENGTH; i++)
		sum += i % 7;
	#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 100)
	for (long i = 0; i < LENGTH; i++) {
		sum += i % 7;
		times[i]++;
	}
	#pragma omp parallel for reduction(+ : sum) schedule(guided)
	for (long i = 0; i < LENGTH; i++) {
		sum += i % 7;
		times[i]++;
	}
	int twice = 1, next = 0, in_order = 1;
	for (long i = 0; i < LENGTH; i++)
		twice &= times[i] == 2;
	check("reduction", sum == 3 * expected);
	check("dynamic and guided schedules", twice);
	#pragma omp parallel for ordered schedule(dynamic, 1)
	for (int i = 0; i < 100; i++) {
		#pragma omp ordered
		{
			in_order &= next == i;
			next++;
		}
	}
	check("ordered", in_order && next == 100);
}

static void teams(int threads)
{
	int guarded = 0, atomic = 0, single = 0, together = 1, done = 0, size = 0, arrived[MOST] = {0};
	omp_lock_t lock;
	omp_init_lock(&lock);
	#pragma omp parallel
	{
		int own = omp_get_thread_num();
		#pragma omp master
		size = omp_get_num_threads();
		for (int turn = 1; turn <= TURNS; turn++) {
			#pragma omp critical
			guarded++;
			omp_set_lock(&lock);
			done++;
			omp_unset_lock(&lock);
			#pragma omp atomic
			atomic++;
			arrived[own] = turn;
			#pragma omp barrier
			for (int i = 0; i < threads; i++)
				if (arrived[i] != turn) {
					#pragma omp atomic write
					together = 0;
				}
			#pragma omp barrier
			#pragma omp single
			single++;
		}
	}
	omp_destroy_lock(&lock);
	check("number of threads", size == threads);
	check("critical", guarded == threads * TURNS);
	check("lock", done == threads * TURNS);
	check("atomic", atomic == threads * TURNS);
	check("barrier", together);
	check("single", single == TURNS);
}

static void tasks(void)
{
	int done = 0;
	long result = 0;
	#pragma omp parallel
	#pragma omp single
	{
		for (int i = 0; i < TASKS; i++) {
			#pragma omp task shared(done)
			{
				#pragma omp atomic
				done++;
			}
		}
		#pragma omp taskwait
		result = fibonacci(18);
	}
	check("tasks", done == TASKS);
	check("tasks of tasks", result == 2584);
}

int main(void)
{
	int threads = omp_get_max_threads(), cores[MOST], different = 0;
	if (threads > MOST)
		return 2;
	memset(cores, -1, sizeof(cores));
	loops();
	teams(threads);
	tasks();
	#pragma omp parallel
	cores[omp_get_thread_num()] = sched_getcpu();
	for (int i = 0; i < threads; i++) {
		int seen = cores[i] < 0;
		for (int j = 0; j < i; j++)
			seen |= cores[j] == cores[i];
		different += !seen;
	}
	if (!wrong)
		printf("openmp: %d threads, %d processors, %d cores\n", threads, omp_get_num_procs(), different);
	return wrong;
}
