// SPDX-License-Identifier: GPL-2.0
/*
 * nas --kernel mg: solves A u = v for the Laplacian A of a periodic grid by multigrid cycles: the
 * residual goes down to ever coarser grids, is solved on the coarsest, and comes up again as a
 * correction that each grid smooths. When it is solved u is forgotten and all begins anew.
 */
#include <math.h>

#include "nas.h"

#define MOST_LEVELS	16
#define COARSEST	4ul		/* points in z direction */
#define POINTS_OF_AN_ITEM 1024ul
#define SMOOTHING	(6.0 / 7 / 6)	/* best damping for this stencil, over its diagonal */
#define SOLVED		1e-8		/* part of the residual that is left */
#define SOLUTIONS	8		/* rounds on the coarsest grid */

enum { PHASE_RESET, PHASE_RESIDUAL, PHASE_JUDGE };

/**
 * struct level - a grid; the finest is level 0
 * @dims: points in each direction, powers of two
 * @rows: of an item, a divisor of the rows in a plane
 * @items: of a loop over all points
 * @u: solution, or correction
 * @r: residual
 */
struct level {
	unsigned long dims[3];
	unsigned long rows;
	unsigned long items;
	double *u;
	double *r;
};

static struct level levels[MOST_LEVELS];
static unsigned int nr_levels;
static double *v;
static struct phase_sum sums[WORK_THREADS];
static double norm;			/* of the residual; 0: nothing known */
static double norm_at_first;
static unsigned long bad_cycles;

static unsigned long points(const struct level *level)
{
	return level->dims[0] * level->dims[1] * level->dims[2];
}

/* x fastest; an item is some rows of one plane. */
static void plan_level(struct level *level)
{
	level->rows = POINTS_OF_AN_ITEM / level->dims[0];
	if (level->rows > level->dims[1])
		level->rows = level->dims[1];
	if (!level->rows)
		level->rows = 1;
	level->items = level->dims[1] * level->dims[2] / level->rows;
}

static void plan(void)
{
	int i;

	nas_powers(work.size / (3 * sizeof(double) + 2 * sizeof(double) / 7), levels[0].dims);
	if (levels[0].dims[2] < 2 * COARSEST)
		work_usage("--size: at least 1 MB for mg");
	for (nr_levels = 1; levels[nr_levels - 1].dims[2] > COARSEST; nr_levels++)
		for (i = 0; i < 3; i++)
			levels[nr_levels].dims[i] = levels[nr_levels - 1].dims[i] / 2;
	for (i = 0; i < (int)nr_levels; i++)
		plan_level(&levels[i]);
}

/* --- rows --- */

/* The rows around one, with the borders joined. */
struct rows {
	const double *here;
	const double *around[4];
};

static unsigned long row_start(const struct level *level, unsigned long y, unsigned long z)
{
	return ((z & (level->dims[2] - 1)) * level->dims[1] + (y & (level->dims[1] - 1))) *
		level->dims[0];
}

static struct rows rows_at(const struct level *level, const double *of, unsigned long y,
			   unsigned long z)
{
	return (struct rows){
		of + row_start(level, y, z),
		{ of + row_start(level, y - 1, z), of + row_start(level, y + 1, z),
		  of + row_start(level, y, z - 1), of + row_start(level, y, z + 1) },
	};
}

static double laplacian(const struct rows *rows, unsigned long x, unsigned long length)
{
	return 6 * rows->here[x] - rows->here[(x - 1) & (length - 1)] -
		rows->here[(x + 1) & (length - 1)] - rows->around[0][x] - rows->around[1][x] -
		rows->around[2][x] - rows->around[3][x];
}

/* to = from - A u, along one row; returns the sum of squares. */
static double residual_of_row(const struct level *level, const double *from, double *to,
			      unsigned long y, unsigned long z)
{
	struct rows rows = rows_at(level, level->u, y, z);
	unsigned long start = row_start(level, y, z), x;
	double sum = 0;

	for (x = 0; x < level->dims[0]; x++) {
		double value = from[start + x] - laplacian(&rows, x, level->dims[0]);

		to[start + x] = value;
		sum += value * value;
	}
	return sum;
}

/* A cell gets what its eight have, by the square of the width: twice as wide, and eight of them. */
static void restrict_row(const struct level *fine, const struct level *coarse, unsigned long y,
			 unsigned long z)
{
	double *to = coarse->r + row_start(coarse, y, z);
	unsigned long x;
	int i;

	for (x = 0; x < coarse->dims[0]; x++)
		to[x] = 0;
	for (i = 0; i < 4; i++) {
		const double *from = fine->r + row_start(fine, 2 * y + i % 2, 2 * z + i / 2);

		for (x = 0; x < coarse->dims[0]; x++)
			to[x] += 0.5 * (from[2 * x] + from[2 * x + 1]);
	}
}

/* Linear in all directions: three quarters from the own cell, a quarter from the nearest other. */
static void correct_row(const struct level *fine, const struct level *coarse, bool add,
			unsigned long y, unsigned long z)
{
	unsigned long near_y = y / 2, near_z = z / 2, mask = coarse->dims[0] - 1, x;
	unsigned long other_y = y % 2 ? near_y + 1 : near_y - 1;
	unsigned long other_z = z % 2 ? near_z + 1 : near_z - 1;
	const double *nearest = coarse->u + row_start(coarse, near_y, near_z);
	const double *beside = coarse->u + row_start(coarse, other_y, near_z);
	const double *below = coarse->u + row_start(coarse, near_y, other_z);
	const double *across = coarse->u + row_start(coarse, other_y, other_z);
	double *to = fine->u + row_start(fine, y, z);

	for (x = 0; x < fine->dims[0]; x++) {
		unsigned long i = x / 2, j = (x % 2 ? i + 1 : i - 1) & mask;
		double here = 9 * nearest[i] + 3 * (beside[i] + below[i]) + across[i];
		double there = 9 * nearest[j] + 3 * (beside[j] + below[j]) + across[j];

		to[x] = (add ? to[x] : 0) + (3 * here + there) / 64;
	}
}

static void smooth_row(const struct level *level, unsigned long y, unsigned long z)
{
	unsigned long start = row_start(level, y, z), x;

	for (x = 0; x < level->dims[0]; x++)
		level->u[start + x] += SMOOTHING * level->r[start + x];
}

/* --- the phases: arg is the level --- */

enum loop { JUDGED, RESIDUAL, RESTRICT, CORRECT, SMOOTH, RESET };

static void do_row(unsigned int thread, enum loop loop, unsigned long l, unsigned long y,
		   unsigned long z)
{
	struct level *level = &levels[l];
	unsigned long x;

	if (loop == JUDGED)
		sums[thread].value += residual_of_row(level, v, level->r, y, z);
	else if (loop == RESIDUAL)
		residual_of_row(level, l ? level->r : v, level->r, y, z);
	else if (loop == RESTRICT)
		restrict_row(level - 1, level, y, z);
	else if (loop == CORRECT)
		correct_row(level, level + 1, !l, y, z);
	else if (loop == SMOOTH)
		smooth_row(level, y, z);
	else
		for (x = 0; x < level->dims[0]; x++)
			level->u[row_start(level, y, z) + x] = 0;
}

static unsigned long do_item(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long l = arg % MOST_LEVELS, first = item * levels[l].rows, i;

	for (i = first; i < first + levels[l].rows; i++)
		do_row(thread, arg / MOST_LEVELS, l, i % levels[l].dims[1], i / levels[l].dims[1]);
	return levels[l].rows * levels[l].dims[0];
}

/*
 * With one step of smoothing a cycle leaves 0.40 of the residual at first and 0.67 in the end, as
 * was found for grids of 2^17 and 2^21 points. 0.8 is a loose bound.
 * Once there is as good as nothing left it all begins anew.
 */
static unsigned long judge(unsigned int thread, unsigned long item, unsigned long arg)
{
	double now = sqrt(phase_total(sums));

	if (norm && !(now < 0.8 * norm))
		bad_cycles++;
	if (!norm && norm_at_first && !nas_close(now / norm_at_first, 1, 1e-9))
		bad_cycles++;
	if (!norm)
		norm_at_first = now;
	norm = now;
	if (norm > SOLVED * norm_at_first)
		return 0;
	norm = 0;
	phases_next(PHASE_RESET);
	return 0;
}

/* The coarsest grid is a few points: one thread, and one direction after the other is no matter. */
static unsigned long solve_coarsest(unsigned int thread, unsigned long item, unsigned long arg)
{
	struct level *level = &levels[arg];
	unsigned long rows = level->dims[1] * level->dims[2], x, y, z, i;
	int round;

	for (i = 0; i < points(level); i++)
		level->u[i] = 0;
	for (round = 0; round < SOLUTIONS; round++)
		for (i = 0; i < rows; i++) {
			y = i % level->dims[1];
			z = i / level->dims[1];
			for (x = 0; x < level->dims[0]; x++) {
				struct rows around = rows_at(level, level->u, y, z);
				unsigned long at = row_start(level, y, z) + x;

				level->u[at] += (level->r[at] - laplacian(&around, x,
									  level->dims[0])) / 6;
			}
		}
	return points(level) * SOLUTIONS;
}

static void add(struct phase *list, unsigned int *nr, enum loop loop, unsigned int level)
{
	list[(*nr)++] = (struct phase){
		.item = do_item, .items = levels[level].items, .arg = loop * MOST_LEVELS + level,
	};
}

static void set_phases(void)
{
	static struct phase list[4 * MOST_LEVELS + 8];
	unsigned int nr = 0, coarsest = nr_levels - 1, l;

	add(list, &nr, RESET, 0);
	add(list, &nr, JUDGED, 0);
	list[nr++] = (struct phase){ judge, 1 };
	for (l = 1; l <= coarsest; l++)
		add(list, &nr, RESTRICT, l);
	list[nr++] = (struct phase){ solve_coarsest, 1, coarsest };
	for (l = coarsest; l--;) {
		add(list, &nr, CORRECT, l);
		add(list, &nr, RESIDUAL, l);
		add(list, &nr, SMOOTH, l);
	}
	phases_set(list, nr, PHASE_RESIDUAL);
}

/* --- begin and end --- */

static void prepare(unsigned int process)
{
	unsigned int l;

	for (l = 0; l < nr_levels; l++) {
		struct level *level = &levels[l];
		unsigned long bytes = level->rows * level->dims[0] * sizeof(double);

		if (!l)
			v = nas_slabs(process, level->items, bytes);
		level->u = nas_slabs(process, level->items, bytes);
		level->r = nas_slabs(process, level->items, bytes);
	}
	set_phases();
}

/* The sum of all is 0, or there would be no solution: a number is followed by its negative. */
static double right_side(unsigned long point)
{
	double value = nas_random(point / 2);

	return point % 2 ? -value : value;
}

static void fill_level(unsigned int l, unsigned int thread)
{
	struct level *level = &levels[l];
	unsigned long first, end, size = level->rows * level->dims[0], i;

	phases_part(level->items, thread, &first, &end);
	for (i = first * size; i < end * size; i++) {
		if (!l)
			v[i] = right_side(i);
		level->u[i] = level->r[i] = 0;
	}
	size *= sizeof(double);
	if ((end - first) * size < 16 * WORK_PAGE)
		return;
	if (!l)
		work_oracle(v + first * size / sizeof(double), (end - first) * size, 1);
	work_oracle(level->u + first * size / sizeof(double), (end - first) * size, 1);
	work_oracle(level->r + first * size / sizeof(double), (end - first) * size, 1);
}

static void fill(unsigned int thread)
{
	unsigned int l;

	for (l = 0; l < nr_levels; l++)
		fill_level(l, thread);
}

static bool right_row(unsigned long y, unsigned long z)
{
	struct level *level = &levels[0];
	struct rows rows = rows_at(level, level->u, y, z);
	unsigned long start = row_start(level, y, z), x;

	for (x = 0; x < level->dims[0]; x++)
		if (v[start + x] != right_side(start + x) ||
		    level->r[start + x] != v[start + x] - laplacian(&rows, x, level->dims[0]))
			return false;
	return true;
}

static bool verify(unsigned int process)
{
	unsigned long y, z;

	phases_complete(PHASE_JUDGE);
	judge(0, 0, 0);
	if (bad_cycles) {
		work_wrong("process %u: %lu cycles do not converge", process, bad_cycles);
		return false;
	}
	for (z = 0; z < levels[0].dims[2]; z++) {
		for (y = 0; y < levels[0].dims[1]; y++) {
			if (!right_row(y, z)) {
				work_wrong("process %u: row %lu of plane %lu", process, y, z);
				return false;
			}
		}
	}
	return true;
}

const struct nas_kernel nas_mg = { plan, prepare, fill, verify };
