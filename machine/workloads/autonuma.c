// SPDX-License-Identifier: GPL-2.0
/*
 * autonuma: the four classic cases of a program that fills the machine, by --case:
 *
 *	numa01	two processes with a thread for half of the CPUs each; each thread touches all of
 *		its process's memory: a process wants half of the nodes for itself
 *	local	the same, but each thread has memory of its own: threads can be told apart
 *	numa02	one process with a thread per CPU, each with its part of one array that the main
 *		thread has touched: threads and memory have to spread over all nodes
 *	smt	the same with half as many threads as CPUs: CPUs are idle, and no node should get
 *		more threads than another
 *
 * --processes and --threads replace what the case says. Touching a line reads the value in it and
 * adds one to its count. A unit is a thousand lines.
 */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

#define LINES_OF_A_STEP	1000
#define LINES_OF_A_PAGE	(WORK_PAGE / WORK_LINE)

enum which { CASE_NUMA01, CASE_LOCAL, CASE_NUMA02, CASE_SMT };

static unsigned long which;

static const struct work_option options[] = {
	{ "case", "numa01|local|numa02|smt", 0, 0, &which },
	{ },
};

/* A line: what it must be, how often it was touched. */
struct line {
	uint64_t value;
	uint64_t touched;
	uint64_t rest[6];
};

/* What a thread goes through, again and again, and how far it has come. */
struct walk {
	struct line *lines;
	unsigned long count;
	unsigned long first;
	unsigned long at;
	uint64_t touched;
	uint64_t wrong;
	uint64_t key;
};

static struct line *shared;	/* of all threads; NULL in the local case */
static unsigned long nr_lines;	/* of the process */
static struct walk walks[WORK_THREADS];

static bool all_touch_all(void)
{
	return which == CASE_NUMA01;
}

/* Zero stands for what the case says: that needs the number of CPUs. */
static void check(void)
{
	bool two = which == CASE_NUMA01 || which == CASE_LOCAL;
	unsigned int cpus = work_nr_cpus();

	if (!work.processes)
		work.processes = two ? 2 : 1;
	if (!work.threads)
		work.threads = which == CASE_NUMA02 ? cpus : cpus / 2;
	if (!work.threads)
		work.threads = 1;
	if (work.size / work.threads < WORK_MB)
		work_usage("--size: less than 1 MB for each of %u threads", work.threads);
}

static uint64_t value_of(uint64_t key, unsigned long line)
{
	return work_mix(key ^ line);
}

static uint64_t key_of(unsigned int process, unsigned int thread)
{
	return (uint64_t)process << 48 | (uint64_t)thread << 32;
}

static void fill(struct line *lines, unsigned long count, uint64_t key)
{
	unsigned long i;

	for (i = 0; i < count; i++)
		lines[i].value = value_of(key, i);
}

/* Lines of one thread; whole pages. */
static unsigned long lines_of_a_thread(void)
{
	return nr_lines / work.threads & ~(LINES_OF_A_PAGE - 1);
}

static void init(unsigned int process)
{
	unsigned long count;
	unsigned int i;

	nr_lines = work.size / sizeof(struct line);
	count = lines_of_a_thread();
	if (which == CASE_LOCAL)
		return;
	shared = work_alloc(work.size);
	if (all_touch_all()) {
		work_place_shared(shared, work.size, process);
		fill(shared, nr_lines, key_of(process, 0));
		work_oracle(shared, work.size, work.threads);
		return;
	}
	for (i = 0; i < work.threads; i++) {
		work_place(shared + i * count, count * sizeof(struct line), process, i);
		fill(shared + i * count, count, key_of(process, i));
		work_oracle(shared + i * count, count * sizeof(struct line), 1);
	}
}

static void thread_init(struct work_thread *thread)
{
	struct walk *walk = &walks[thread->id];

	thread->data = walk;
	walk->count = all_touch_all() ? nr_lines : lines_of_a_thread();
	walk->key = key_of(thread->process, all_touch_all() ? 0 : thread->id);
	if (which == CASE_LOCAL) {
		walk->lines = work_alloc(walk->count * sizeof(struct line));
		work_place(walk->lines, walk->count * sizeof(struct line), thread->process,
			   thread->id);
		fill(walk->lines, walk->count, walk->key);
		work_oracle(walk->lines, walk->count * sizeof(struct line), 1);
	} else {
		walk->lines = shared + (all_touch_all() ? 0 : thread->id * walk->count);
	}
	walk->first = work_random(&thread->random) % walk->count;
	walk->at = walk->first;
}

/* One in 16 lines is compared with what it must be: each of them, in the course of 16 passes. */
static void step(struct work_thread *thread)
{
	struct walk *walk = thread->data;
	unsigned long i, at = walk->at;
	uint64_t turn = walk->touched / walk->count;

	for (i = 0; i < LINES_OF_A_STEP; i++) {
		struct line *line = &walk->lines[at];
		uint64_t value = *(volatile uint64_t *)&line->value;

		if ((at + turn) % 16 == 0 && value != value_of(walk->key, at))
			walk->wrong++;
		/* The count of a line that all threads touch must not lose any. */
		if (all_touch_all())
			__atomic_fetch_add(&line->touched, 1, __ATOMIC_RELAXED);
		else
			line->touched++;
		if (++at == walk->count)
			at = 0;
	}
	walk->at = at;
	walk->touched += LINES_OF_A_STEP;
	thread->units += LINES_OF_A_STEP / 1000;
}

/* How often a walk has come by a line. */
static uint64_t touches(const struct walk *walk, unsigned long line)
{
	unsigned long distance = (line + walk->count - walk->first) % walk->count;

	return walk->touched / walk->count + (distance < walk->touched % walk->count);
}

static bool check_lines(unsigned int process, unsigned int first, unsigned int walkers)
{
	const struct walk *walk = &walks[first];
	uint64_t expected;
	unsigned long i;
	unsigned int j;

	for (i = 0; i < walk->count; i++) {
		for (expected = 0, j = first; j < first + walkers; j++)
			expected += touches(&walks[j], i);
		if (walk->lines[i].value != value_of(walk->key, i) ||
		    walk->lines[i].touched != expected) {
			work_wrong("process %u, memory of thread %u, line %lu", process, first, i);
			return false;
		}
	}
	return true;
}

static bool verify(unsigned int process)
{
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		if (walks[i].wrong) {
			work_wrong("process %u, thread %u: %lu lines on the way", process, i,
				   (unsigned long)walks[i].wrong);
			return false;
		}
	}
	if (all_touch_all())
		return check_lines(process, 0, work.threads);
	for (i = 0; i < work.threads; i++)
		if (!check_lines(process, i, 1))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "autonuma",
		.summary	= "processes that fill the machine; 0: what the case says",
		.defaults	= { 96 * WORK_MB, 0, 0, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.thread_init	= thread_init,
		.step		= step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
