// SPDX-License-Identifier: GPL-2.0
/*
 * nas: kernels like those of the NAS Parallel Benchmarks: loops over arrays that all threads split
 * among themselves in the same way every time, with a barrier behind each. --kernel says which:
 *
 *	bt	block tridiagonal systems along the lines of a grid, in three directions
 *	cg	conjugate gradients with a sparse symmetric matrix of random structure
 *	ft	Fourier transforms in three dimensions and back
 *	mg	multigrid cycles for a Poisson equation
 *
 * --touch says who touches the arrays first: the main thread (serial) or each thread its part
 * (parallel). The former is what balancing has to repair. Threads find their data in their own part
 * except where the algorithm goes across: the z direction in bt and ft, the vector in cg, borders
 * and coarse grids in mg.
 *
 * A unit is a point of the grid that a loop has done, in cg an entry of the matrix.
 */
#include <math.h>

#include "nas.h"

static unsigned long kernel, touch;

static const struct work_option options[] = {
	{ "kernel", "bt|cg|ft|mg", 0, 0, &kernel },
	{ "touch", "serial|parallel", 0, 0, &touch },
	{ },
};

enum { TOUCH_SERIAL, TOUCH_PARALLEL };

static const struct nas_kernel *const kernels[] = { &nas_bt, &nas_cg, &nas_ft, &nas_mg };

bool nas_close(double a, double b, double tolerance)
{
	return fabs(a - b) <= tolerance * fmax(fabs(b), 1);
}

double nas_random(unsigned long index)
{
	return (work_mix(index ^ work.seed << 40) >> 11) * 0x1p-53;
}

void *nas_slabs(unsigned int process, unsigned long items, unsigned long bytes)
{
	char *start = work_alloc(items * bytes);
	unsigned long first, end;
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		phases_part(items, i, &first, &end);
		if (end > first)
			work_place(start + first * bytes, (end - first) * bytes, process, i);
	}
	return start;
}

void nas_powers(unsigned long points, unsigned long dims[3])
{
	int i = 0;

	dims[0] = dims[1] = dims[2] = 1;
	while (2 * dims[0] * dims[1] * dims[2] <= points) {
		dims[i] *= 2;
		i = (i + 1) % 3;
	}
}

static void check(void)
{
	kernels[kernel]->plan();
}

static void init(unsigned int process)
{
	unsigned int i;

	kernels[kernel]->prepare(process);
	for (i = 0; touch == TOUCH_SERIAL && i < work.threads; i++)
		kernels[kernel]->fill(i);
}

static void thread_init(struct work_thread *thread)
{
	if (touch == TOUCH_PARALLEL)
		kernels[kernel]->fill(thread->id);
}

static void settle(void)
{
	phases_complete(PHASES_ANY);
}

static bool verify(unsigned int process)
{
	return kernels[kernel]->verify(process);
}

int main(int argc, char **argv)
{
	static const struct work_ops ops = {
		.name		= "nas",
		.summary	= "numerical kernels, loops that all threads split",
		.defaults	= { 64 * WORK_MB, 1, 8, 20, 0, PIN_NONE },
		.extra		= options,
		.check		= check,
		.init		= init,
		.thread_init	= thread_init,
		.step		= phases_step,
		.settle		= settle,
		.verify		= verify,
	};

	return work_main(&ops, argc, argv);
}
