// SPDX-License-Identifier: GPL-2.0
/*
 * procs: processes whose threads read memory line by line, the plainest case of each placement
 * problem. --share says who uses what:
 *
 *	own	each thread its own slice of the process's memory, one line in four written
 *	all	every thread reads all of the process's memory
 *	counter	as own, and all processes now and then write to one page that they share: to take
 *		them for one group because of that is a mistake
 *
 * --start says where the memory lies at first: where the main thread of the process is (main),
 * where its threads are (threads), on the first node (node0), or where a CPU is that is far from
 * the one on which a thread would be pinned (remote).
 *
 * --mix N is for the instrument: with --pin hard and --share own, N percent of the memory of each
 * thread are on another node, in pieces of 64 KB.
 *
 * A unit is a thousand lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "work.h"

#define LINES_OF_A_STEP	2000

enum share { SHARE_OWN, SHARE_ALL, SHARE_COUNTER };
#define PIECE		(16 * WORK_PAGE)	/* of a mix: few enough mappings */

enum start { START_MAIN, START_THREADS, START_NODE0, START_REMOTE };

static unsigned long share, start, mix;

static const struct work_option options[] = {
	{ "share", "own|all|counter", 0, 0, &share },
	{ "start", "main|threads|node0|remote", 0, 0, &start },
	{ "mix", NULL, 0, 100, &mix },
	{ },
};

/* A line: what it must be, how often it was written, the rest for good measure. */
struct line {
	uint64_t value;
	uint64_t writes;
	uint64_t rest[6];
};

static struct line *lines;
static unsigned long nr_lines;
static uint64_t *counters;	/* one for each process, all in one page */

/* Where a thread is, and what it has seen. */
struct reader {
	unsigned long first;
	unsigned long count;
	unsigned long at;
	uint64_t sum;
	uint64_t expected;
	uint64_t writes;
	uint64_t steps;
	uint64_t counted;
};

static struct reader readers[WORK_THREADS];

static void fill(unsigned long first, unsigned long count)
{
	unsigned long i;

	for (i = first; i < first + count; i++)
		lines[i].value = work_mix(i);
}

static void check(void)
{
	if (work.size / work.threads < WORK_MB)
		work_usage("--size: less than 1 MB for each of %u threads", work.threads);
	if (mix && (work.pin != PIN_HARD || share != SHARE_OWN))
		work_usage("--mix: with --pin hard and --share own only");
	if (share == SHARE_COUNTER)
		counters = mmap(NULL, WORK_PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counters == MAP_FAILED)
		work_usage("no shared page");
}

/* The slice of a thread, in lines; whole pages. */
static void slice(unsigned int thread, unsigned long *first, unsigned long *count)
{
	*first = 0;
	*count = nr_lines;
	if (share == SHARE_ALL)
		return;
	*count = nr_lines / work.threads & ~(WORK_PAGE / WORK_LINE - 1);
	*first = thread * *count;
}

/* Spread evenly: whenever another whole piece is due. */
static void place_mix(struct line *from, unsigned long bytes, unsigned int process, unsigned int i)
{
	unsigned int other = (work_memory_node(process, i) + 1) % work_nr_nodes();
	unsigned long at, piece = 0;

	for (at = 0; at + PIECE <= bytes; at += PIECE, piece++)
		if ((piece + 1) * mix / 100 > piece * mix / 100)
			work_bind((char *)from + at, PIECE, 1ul << other);
}

static void place_slice(unsigned int process, unsigned int i)
{
	unsigned long first, count;

	slice(i, &first, &count);
	work_place(lines + first, count * sizeof(struct line), process, i);
	if (mix)
		place_mix(lines + first, count * sizeof(struct line), process, i);
}

static void fill_from_afar(unsigned int process)
{
	unsigned int nr = share == SHARE_ALL ? 1 : work.threads, i;
	unsigned long first, count;

	for (i = 0; i < nr; i++) {
		slice(i, &first, &count);
		work_run_on(work_far_cpu(process, i));
		fill(first, count);
	}
	work_run_anywhere();
}

static void init(unsigned int process)
{
	unsigned long first, count;
	unsigned int i;

	/* What is left over behind the last slice is nobody's. */
	nr_lines = work.size / sizeof(struct line);
	slice(work.threads - 1, &first, &count);
	nr_lines = first + count;
	lines = work_alloc(work.size);
	if (share == SHARE_ALL)
		work_place_shared(lines, work.size, process);
	for (i = 0; i < work.threads && share != SHARE_ALL; i++)
		place_slice(process, i);
	if (work.pin == PIN_NONE && start == START_NODE0)
		work_run_on_node(0);
	if (work.pin == PIN_NONE && start == START_REMOTE)
		fill_from_afar(process);
	else if (start != START_THREADS || share == SHARE_ALL)
		fill(0, nr_lines);
	if (work.pin == PIN_NONE && start == START_NODE0)
		work_run_anywhere();
}

static void thread_init(struct work_thread *thread)
{
	struct reader *reader = &readers[thread->id];

	thread->data = reader;
	slice(thread->id, &reader->first, &reader->count);
	reader->at = work_random(&thread->random) % reader->count;
	if (start == START_THREADS && share != SHARE_ALL)
		fill(reader->first, reader->count);
	if (share != SHARE_ALL)
		work_oracle(lines + reader->first, reader->count * sizeof(struct line), 1);
	else if (!thread->id)
		work_oracle(lines, work.size, work.threads);
}

static void step(struct work_thread *thread)
{
	struct reader *reader = thread->data;
	unsigned long i, at = reader->at;
	uint64_t sum = 0, expected = 0;

	for (i = 0; i < LINES_OF_A_STEP; i++) {
		volatile struct line *line = &lines[reader->first + at];

		sum += line->value;
		if (share != SHARE_ALL && at % 4 == 0) {
			line->writes++;
			reader->writes++;
		}
		if (++at == reader->count)
			at = 0;
	}
	/* The same again from the numbers alone would cost more than the memory: one in 64. */
	if (reader->steps++ % 64 == 0) {
		at = reader->at;
		for (i = 0; i < LINES_OF_A_STEP; i++) {
			expected += work_mix(reader->first + at);
			if (++at == reader->count)
				at = 0;
		}
		reader->sum += sum;
		reader->expected += expected;
	}
	reader->at = at;
	thread->units += LINES_OF_A_STEP / 1000;
	if (counters && reader->steps % 64 == 0) {
		__atomic_fetch_add(&counters[thread->process], 1, __ATOMIC_RELAXED);
		reader->counted++;
	}
}

static bool verify(unsigned int process)
{
	uint64_t writes = 0, wanted = 0, counted = 0;
	unsigned long i;

	for (i = 0; i < nr_lines; i++) {
		if (lines[i].value != work_mix(i)) {
			work_wrong("process %u, line %lu", process, i);
			return false;
		}
		writes += lines[i].writes;
	}
	for (i = 0; i < work.threads; i++) {
		wanted += readers[i].writes;
		counted += readers[i].counted;
		if (readers[i].sum != readers[i].expected) {
			work_wrong("process %u, thread %lu: a sum", process, i);
			return false;
		}
	}
	if (writes != wanted) {
		work_wrong("process %u: %lu writes of %lu are there", process,
			   (unsigned long)writes, (unsigned long)wanted);
		return false;
	}
	if (counters && counters[process] != counted) {
		work_wrong("process %u: a counter", process);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "procs",
		.summary	= "processes whose threads read memory of their own or of all",
		.defaults	= { 192 * WORK_MB, 1, 8, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.thread_init	= thread_init,
		.step		= step,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
