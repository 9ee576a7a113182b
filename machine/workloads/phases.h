/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work in phases, as programs with parallel loops do: all threads of a process take part in a loop,
 * wait for each other, and go on to the next loop.
 *
 * A phase is a number of items. A thread does one item per step of the workload, so time can be
 * over within a phase; then the phase is left half done, and phases_complete() brings it to its
 * end. So results are always checked between two phases, where they must be consistent.
 */
#ifndef MACHINE_PHASES_H
#define MACHINE_PHASES_H

#include <stdbool.h>

#include "work.h"

/**
 * struct phase - a parallel loop
 * @item: do an item, return the units of work that it was; some 10,000 instructions
 * @items: how many there are
 * @arg: given to @item
 * @dynamic: a thread takes the next item that is left; else each has its fixed part, the same one
 *	in all phases with the same number of items
 */
struct phase {
	unsigned long (*item)(unsigned int thread, unsigned long item, unsigned long arg);
	unsigned long items;
	unsigned long arg;
	bool dynamic;
};

/* The list, before the threads work. After the last phase comes the one with index @again. */
void phases_set(struct phase *list, unsigned int count, unsigned int again);

/*
 * For phases of one item, which one thread does alone: the phase that comes next, and how many
 * items a later one has.
 */
void phases_next(unsigned int index);
void phases_items(unsigned int index, unsigned long items);

/* How many phases all threads have done. */
unsigned long phases_done(void);

/* The step() of a workload. */
void phases_step(struct work_thread *thread);

/*
 * In verify(): do what is left of the phase, and then all until phase @index is the next one;
 * PHASES_ANY: no further one.
 */
#define PHASES_ANY	(~0u)
void phases_complete(unsigned int index);

/* The part of a thread: from @first up to but not including @end. */
void phases_part(unsigned long items, unsigned int thread, unsigned long *first,
		 unsigned long *end);

/**
 * struct phase_sum - a sum that each thread has a part of
 * @value: the part
 */
struct phase_sum {
	double value;
} __attribute__((aligned(128)));

/* The whole sum in a fixed order, so that it is the same to the bit every time; parts become 0. */
double phase_total(struct phase_sum *parts);

#endif
