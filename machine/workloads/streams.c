// SPDX-License-Identifier: GPL-2.0
/*
 * streams: independent processes of one thread, each a triad a[i] = b[i] + s * c[i] over arrays of
 * its own. From one to two processes per CPU: with few it matters that none shares a node's
 * bandwidth without need, with more than CPUs that the balance of load does not tear a process from
 * its memory again and again.
 *
 * --size is for the three arrays of a process together. A unit is 1024 elements.
 */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

#define ELEMENTS_OF_A_STEP	4096ul
#define ELEMENTS_OF_A_UNIT	1024ul
#define FACTORS			1024ul

static double *a, *b, *c;
static unsigned long count;		/* of elements, whole steps */
static unsigned long at;		/* next element */
static unsigned long first;		/* where the first pass began */
static unsigned long pass;		/* how often all elements were done */

/*
 * Whole numbers of 24 bits: products and sums with a factor are exact, in any order. Multiplied by
 * the golden ratio neighbours differ, which costs less than to mix each of them.
 */
static double element(unsigned int process, unsigned long i, unsigned long which)
{
	uint64_t number = ((uint64_t)process << 40 | i << 1 | which) * 0x9e3779b97f4a7c15ull;

	return (int64_t)(number >> 40);
}

/* Another one in each pass, so that an element tells in which pass it was written. */
static double factor(unsigned long of_pass)
{
	return 1 + of_pass % FACTORS;
}

static void check(void)
{
	if (work.threads != 1)
		work_usage("--threads %u: the processes have one thread", work.threads);
}

static void init(unsigned int process)
{
	unsigned long bytes, i;
	char *memory;

	memory = work_alloc(work.size);
	work_place(memory, work.size, process, 0);
	count = work.size / 3 / sizeof(*a) & ~(ELEMENTS_OF_A_STEP - 1);
	bytes = count * sizeof(*a);
	a = (double *)memory;
	b = (double *)(memory + bytes);
	c = (double *)(memory + 2 * bytes);
	for (i = 0; i < count; i++) {
		b[i] = element(process, i, 0);
		c[i] = element(process, i, 1);
	}
	/* As if a pass had been before the first one: there is something to verify everywhere. */
	for (i = 0; i < count; i++)
		a[i] = b[i] + factor(0) * c[i];
	work_oracle(memory, 3 * bytes, 1);
}

static void thread_init(struct work_thread *thread)
{
	first = work_random(&thread->random) % count & ~(ELEMENTS_OF_A_STEP - 1);
	at = first;
	pass = 1;
}

static void triad(double *to, const double *from, const double *more, double s)
{
	unsigned long i;

	for (i = 0; i < ELEMENTS_OF_A_STEP; i++)
		to[i] = from[i] + s * more[i];
}

static void step(struct work_thread *thread)
{
	triad(a + at, b + at, c + at, factor(pass));
	at += ELEMENTS_OF_A_STEP;
	if (at == count)
		at = 0;
	if (at == first)
		pass++;
	thread->units += ELEMENTS_OF_A_STEP / ELEMENTS_OF_A_UNIT;
}

/* The pass that wrote an element last: the pass not yet complete has reached those behind first. */
static unsigned long pass_of(unsigned long i)
{
	unsigned long done = (at + count - first) % count;

	return (i + count - first) % count < done ? pass : pass - 1;
}

static bool verify(unsigned int process)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		double from = element(process, i, 0), more = element(process, i, 1);

		if (b[i] != from || c[i] != more || a[i] != from + factor(pass_of(i)) * more) {
			work_wrong("process %u, element %lu", process, i);
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "streams",
		.summary	= "processes of one thread, each a triad over its arrays",
		.defaults	= { 24 * WORK_MB, 8, 1, 20, 0, PIN_NONE },
		.check		= check,
		.init		= init,
		.thread_init	= thread_init,
		.step		= step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
