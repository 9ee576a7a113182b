// SPDX-License-Identifier: GPL-2.0
/*
 * nas --kernel cg: solves A x = b by conjugate gradients, a number of steps, then with another b.
 *
 * A is the Laplacian of a random graph in which each vertex has DEGREE neighbours, plus a little on
 * the diagonal: symmetric, positive definite, no structure. An entry is found from its row and
 * column alone, so the same value lands on both sides of the diagonal.
 */
#include <math.h>
#include <string.h>

#include "nas.h"

#define DEGREE		64ul		/* about what the original has */
#define ROWS_OF_AN_ITEM	128ul
#define STEPS		12		/* with one b */
#define SHIFT		0.5		/* on the diagonal */
#define TOLERANCE	1e-9

/* Of a row: its entries, the diagonal, five vectors, and what the random structure needs. */
#define BYTES_OF_A_ROW	(DEGREE * (sizeof(double) + sizeof(uint32_t)) + 5 * sizeof(double) + \
			 2 * sizeof(uint32_t))

enum { PHASE_BEGIN, PHASE_RHO, PHASE_MULTIPLY, PHASE_ALPHA, PHASE_MOVE, PHASE_BETA, PHASE_TURN };

static unsigned long rows;		/* a power of two */
static double *entries;
static uint32_t *columns;
static double *diagonal, *x, *r, *p, *q;
static uint32_t *place, *vertex;	/* a random permutation and its inverse */
static uint64_t masks[DEGREE];
static uint64_t sum_at_first[WORK_THREADS];

static unsigned long system_number;	/* which b */
static unsigned int steps;
static double alpha, beta, rho;
static struct phase_sum sums[WORK_THREADS];
static unsigned long badly_solved;

static void plan(void)
{
	for (rows = 1; 2 * rows * BYTES_OF_A_ROW <= work.size; rows *= 2)
		;
	if (rows < ROWS_OF_AN_ITEM * work.threads || rows > 1ul << 31)
		work_usage("--size: from 1 MB for 32 threads to 256 GB for cg");
}

/* --- the matrix --- */

/*
 * Vertices whose places differ by one of the masks are neighbours: each of the other, and never of
 * itself.
 */
static uint32_t neighbour(unsigned long row, unsigned int k)
{
	return vertex[place[row] ^ masks[k]];
}

/* From 0.5 to 1.5, the same for (a, b) and (b, a). */
static double weight(uint64_t a, uint64_t b)
{
	uint64_t mixed = (a ^ b) * 0x9e3779b97f4a7c15ull + (a + b) * 0xd6e8feb86659fd93ull;

	return 0.5 + (mixed >> 11) * 0x1p-53;
}

static void permute(void)
{
	uint64_t random = work_mix(work.seed + 1);
	unsigned long i, j;

	for (i = 0; i < rows; i++) {
		j = work_random(&random) % (i + 1);
		vertex[i] = vertex[j];
		vertex[j] = i;
	}
	for (i = 0; i < rows; i++)
		place[vertex[i]] = i;
}

static bool has_mask(unsigned int nr, uint64_t mask)
{
	unsigned int k;

	for (k = 0; k < nr; k++)
		if (masks[k] == mask)
			return true;
	return !mask;
}

static void choose_masks(void)
{
	uint64_t random = work_mix(work.seed + 2);
	unsigned int k;

	for (k = 0; k < DEGREE; k++)
		do
			masks[k] = work_random(&random) % rows;
		while (has_mask(k, masks[k]));
}

static void fill_row(unsigned long row)
{
	unsigned int k;

	diagonal[row] = SHIFT;
	for (k = 0; k < DEGREE; k++) {
		uint32_t column = neighbour(row, k);
		double value = weight(row, column);

		columns[row * DEGREE + k] = column;
		entries[row * DEGREE + k] = -value;
		diagonal[row] += value;
	}
	x[row] = r[row] = p[row] = q[row] = 0;
}

/* A checksum of the rows of a thread: the matrix does not change. */
static uint64_t sum_of(unsigned int thread)
{
	unsigned long first, end, i;
	uint64_t sum = 0, value;

	phases_part(rows / ROWS_OF_AN_ITEM, thread, &first, &end);
	for (i = first * ROWS_OF_AN_ITEM * DEGREE; i < end * ROWS_OF_AN_ITEM * DEGREE; i++) {
		memcpy(&value, &entries[i], sizeof(value));
		sum = (sum << 1 | sum >> 63) + (value ^ columns[i]);
	}
	return sum;
}

static void fill(unsigned int thread)
{
	unsigned long first, end, i;

	phases_part(rows / ROWS_OF_AN_ITEM, thread, &first, &end);
	first *= ROWS_OF_AN_ITEM;
	end *= ROWS_OF_AN_ITEM;
	for (i = first; i < end; i++)
		fill_row(i);
	sum_at_first[thread] = sum_of(thread);
	work_oracle(entries + first * DEGREE, (end - first) * DEGREE * sizeof(double), 1);
	work_oracle(columns + first * DEGREE, (end - first) * DEGREE * sizeof(uint32_t), 1);
}

/* --- the phases --- */

static double right_side(unsigned long row)
{
	return nas_random(row ^ system_number << 32) - 0.5;
}

static unsigned long begin(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long i;

	for (i = item * ROWS_OF_AN_ITEM; i < (item + 1) * ROWS_OF_AN_ITEM; i++) {
		x[i] = 0;
		r[i] = p[i] = right_side(i);
		sums[thread].value += r[i] * r[i];
	}
	return 0;
}

static unsigned long find_rho(unsigned int thread, unsigned long item, unsigned long arg)
{
	rho = phase_total(sums);
	steps = 0;
	return 0;
}

static double row_times(unsigned long row, const double *vector)
{
	double sum = diagonal[row] * vector[row];
	unsigned int k;

	for (k = 0; k < DEGREE; k++)
		sum += entries[row * DEGREE + k] * vector[columns[row * DEGREE + k]];
	return sum;
}

static unsigned long multiply(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long i;

	for (i = item * ROWS_OF_AN_ITEM; i < (item + 1) * ROWS_OF_AN_ITEM; i++) {
		q[i] = row_times(i, p);
		sums[thread].value += p[i] * q[i];
	}
	return ROWS_OF_AN_ITEM * DEGREE;
}

static unsigned long find_alpha(unsigned int thread, unsigned long item, unsigned long arg)
{
	alpha = rho / phase_total(sums);
	return 0;
}

static unsigned long move(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long i;

	for (i = item * ROWS_OF_AN_ITEM; i < (item + 1) * ROWS_OF_AN_ITEM; i++) {
		x[i] += alpha * p[i];
		r[i] -= alpha * q[i];
		sums[thread].value += r[i] * r[i];
	}
	return 0;
}

/*
 * All eigenvalues but one lie within a narrow band around DEGREE, as in any random graph: from 0.3
 * per row the residual gets to 1e-6 to 6e-6, as was found for 2^12 and 2^17 rows. 1e-3 is a loose
 * bound.
 */
static unsigned long find_beta(unsigned int thread, unsigned long item, unsigned long arg)
{
	double smaller = phase_total(sums);

	beta = smaller / rho;
	rho = smaller;
	if (++steps < STEPS)
		return 0;
	if (!(sqrt(rho / rows) < 1e-3))
		badly_solved++;
	system_number++;
	phases_next(PHASE_BEGIN);
	return 0;
}

static unsigned long turn(unsigned int thread, unsigned long item, unsigned long arg)
{
	unsigned long i;

	for (i = item * ROWS_OF_AN_ITEM; i < (item + 1) * ROWS_OF_AN_ITEM; i++)
		p[i] = r[i] + beta * p[i];
	return 0;
}

static void prepare(unsigned int process)
{
	unsigned long items = rows / ROWS_OF_AN_ITEM;
	static struct phase list[7];

	list[PHASE_BEGIN] = (struct phase){ begin, items };
	list[PHASE_RHO] = (struct phase){ find_rho, 1 };
	list[PHASE_MULTIPLY] = (struct phase){ multiply, items };
	list[PHASE_ALPHA] = (struct phase){ find_alpha, 1 };
	list[PHASE_MOVE] = (struct phase){ move, items };
	list[PHASE_BETA] = (struct phase){ find_beta, 1 };
	list[PHASE_TURN] = (struct phase){ turn, items };
	phases_set(list, 7, PHASE_MULTIPLY);

	entries = nas_slabs(process, items, ROWS_OF_AN_ITEM * DEGREE * sizeof(double));
	columns = nas_slabs(process, items, ROWS_OF_AN_ITEM * DEGREE * sizeof(uint32_t));
	diagonal = nas_slabs(process, items, ROWS_OF_AN_ITEM * sizeof(double));
	x = nas_slabs(process, items, ROWS_OF_AN_ITEM * sizeof(double));
	r = nas_slabs(process, items, ROWS_OF_AN_ITEM * sizeof(double));
	p = nas_slabs(process, items, ROWS_OF_AN_ITEM * sizeof(double));
	q = nas_slabs(process, items, ROWS_OF_AN_ITEM * sizeof(double));
	place = work_alloc(rows * sizeof(*place));
	vertex = work_alloc(rows * sizeof(*vertex));
	permute();
	choose_masks();
}

/* --- verify --- */

/* What holds between two steps: r is b - A x, and its product with p is its square. */
static bool right_vectors(unsigned int process)
{
	double product = 0, square = 0;
	unsigned long i;

	for (i = 0; i < rows; i++) {
		product += p[i] * r[i];
		square += r[i] * r[i];
		if (!nas_close(r[i], right_side(i) - row_times(i, x), TOLERANCE)) {
			work_wrong("process %u: residual of row %lu", process, i);
			return false;
		}
	}
	if (nas_close(product / rho, 1, 1e-6) && nas_close(square / rho, 1, 1e-6))
		return true;
	work_wrong("process %u: directions are not conjugate", process);
	return false;
}

static bool verify(unsigned int process)
{
	unsigned int i;

	for (i = 0; i < work.threads; i++) {
		if (sum_of(i) != sum_at_first[i]) {
			work_wrong("process %u: matrix of thread %u", process, i);
			return false;
		}
	}
	phases_complete(PHASE_MULTIPLY);
	if (badly_solved) {
		work_wrong("process %u: %lu systems do not converge", process, badly_solved);
		return false;
	}
	return right_vectors(process);
}

const struct nas_kernel nas_cg = { plan, prepare, fill, verify };
