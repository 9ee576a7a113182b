/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernels of nas have in common. */
#ifndef MACHINE_NAS_H
#define MACHINE_NAS_H

#include "phases.h"
#include "work.h"

/**
 * struct nas_kernel - a numerical kernel; all memory is of one process
 * @plan: in the parent: the largest problem that fits into work.size; work_usage() if none does
 * @prepare: get memory, place it, set the phases; touches no page of the data
 * @fill: touch and fill the part of a thread
 * @verify: are the results right?
 */
struct nas_kernel {
	void (*plan)(void);
	void (*prepare)(unsigned int process);
	void (*fill)(unsigned int thread);
	bool (*verify)(unsigned int process);
};

extern const struct nas_kernel nas_bt, nas_cg, nas_ft, nas_mg;

/* Is a as good as b, on the scale of b or of one? */
bool nas_close(double a, double b, double tolerance);

/* A number from 0 to 1 that the seed and an index decide. */
double nas_random(unsigned long index);

/* Memory in slabs: items of some bytes, of each thread those that phases_part() gives it. */
void *nas_slabs(unsigned int process, unsigned long items, unsigned long bytes);

/* A grid of powers of two that has at most this many points, for nas_ft and nas_mg: [0] is x. */
void nas_powers(unsigned long points, unsigned long dims[3]);

#endif
