// SPDX-License-Identifier: GPL-2.0
/*
 * nas --kernel bt: five quantities that diffuse through a grid with a different strength at each
 * point, by implicit steps: along x, y and z in turn, each line a block tridiagonal system with
 * blocks of 5 x 5. What leaves a point goes into its neighbours, so the sums stay what they were.
 */
#include <math.h>

#include "nas.h"

#define N		5		/* quantities */
#define MOST		1024ul		/* points in a line */
#define TOLERANCE	1e-9

enum direction { IN_X, IN_Y, IN_Z };

typedef double vector[N];

/* Two lines are solved at a time: half as many instructions. */
#define LANES		2ul
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef lanes lane_vector[N];
typedef lanes lane_matrix[N][N];

static unsigned long dims[3];
static vector *fields[2];	/* one is read, the other one written, in turn */
static double *strength;

/* How much of one quantity the flow of another one takes along: symmetric, positive definite. */
static const double coupling[N][N] = {
	{ 1.00, 0.10, 0.05, 0.00, 0.02 },
	{ 0.10, 1.20, 0.10, 0.05, 0.00 },
	{ 0.05, 0.10, 0.90, 0.10, 0.05 },
	{ 0.00, 0.05, 0.10, 1.10, 0.10 },
	{ 0.02, 0.00, 0.05, 0.10, 1.00 },
};

/* Lines while they are solved: what the elimination leaves of the upper blocks and right sides. */
static struct scratch {
	lane_matrix upper[MOST];
	lane_vector right[MOST];
} *scratches[WORK_THREADS];

static unsigned long points(void)
{
	return dims[0] * dims[1] * dims[2];
}

static void plan(void)
{
	unsigned long side = cbrt(work.size / (2 * sizeof(vector) + sizeof(double)));

	side -= side % LANES;
	dims[0] = dims[1] = dims[2] = side;
	if (side < work.threads || side < 8 || side > MOST)
		work_usage("--size: bt has %lu lines for %u threads; from 8 to %lu", side,
			   work.threads, MOST);
}

/* --- lines --- */

/* Where a line begins, how far it is from point to point and to the next line. */
struct line {
	unsigned long start;
	unsigned long stride;
	unsigned long lane;
	unsigned long length;
};

/* The lines of a thread are in its slab in x and y direction; in z direction they go across. */
static struct line line_of(enum direction direction, unsigned long number)
{
	unsigned long row = dims[0], plane = dims[0] * dims[1];

	if (direction == IN_X)
		return (struct line){ number * row, 1, row, row };
	if (direction == IN_Y)
		return (struct line){ number / row * plane + number % row, row, 1, dims[1] };
	return (struct line){ number, plane, 1, dims[2] };
}

static unsigned long lines_of(enum direction direction)
{
	return points() / dims[direction];
}

/* Between a point of a line and the one before it; nothing goes out at the ends. */
static double flow(const struct line *line, unsigned long i, unsigned long lane)
{
	unsigned long at = line->start + i * line->stride + lane * line->lane;

	if (i == 0 || i == line->length)
		return 0;
	return 0.5 * (strength[at] + strength[at - line->stride]);
}

static lanes flows(const struct line *line, unsigned long i)
{
	return (lanes){ flow(line, i, 0), flow(line, i, 1) };
}

/* Take a row of a block, times a factor, from another one. */
static inline void take_row(lane_matrix block, lane_matrix upper, lane_vector right, int i, int k)
{
	lanes factor = block[i][k];
	int j;

	#pragma GCC unroll 5
	for (j = 0; j < N; j++) {
		if (j > k)
			block[i][j] -= factor * block[k][j];
		upper[i][j] -= factor * upper[k][j];
	}
	right[i] -= factor * right[k];
}

/*
 * Solve block * X = (upper | right) in place, for all columns at once, without pivots: the blocks
 * are strongly diagonal.
 */
static inline void eliminate(lane_matrix block, lane_matrix upper, lane_vector right)
{
	int i, j, k;

	#pragma GCC unroll 5
	for (k = 0; k < N; k++) {
		lanes pivot = 1 / block[k][k];

		#pragma GCC unroll 5
		for (j = 0; j < N; j++) {
			if (j > k)
				block[k][j] *= pivot;
			upper[k][j] *= pivot;
		}
		right[k] *= pivot;
		#pragma GCC unroll 5
		for (i = 0; i < N; i++)
			if (i != k)
				take_row(block, upper, right, i, k);
	}
}

/* Put what is known of the point before into the equation of a point. */
static inline void put_in(lane_matrix block, lane_vector right, lanes before,
			  lane_matrix known_upper, lane_vector known_right)
{
	int a, b, c;

	#pragma GCC unroll 5
	for (a = 0; a < N; a++) {
		#pragma GCC unroll 5
		for (c = 0; c < N; c++) {
			lanes lower = before * coupling[a][c];

			#pragma GCC unroll 5
			for (b = 0; b < N; b++)
				block[a][b] += lower * known_upper[c][b];
			right[a] += lower * known_right[c];
		}
	}
}

static inline void set_up(lane_matrix block, lane_matrix upper, lanes before, lanes behind)
{
	int a, b;

	#pragma GCC unroll 5
	for (a = 0; a < N; a++) {
		#pragma GCC unroll 5
		for (b = 0; b < N; b++) {
			upper[a][b] = -behind * coupling[a][b];
			block[a][b] = (before + behind) * coupling[a][b] + (a == b);
		}
	}
}

static void eliminate_line(struct scratch *s, const struct line *line, const vector *from)
{
	lanes before = { 0 }, behind;
	unsigned long i, at = line->start;
	lane_matrix block;
	int a;

	for (i = 0; i < line->length; i++, at += line->stride) {
		behind = flows(line, i + 1);
		set_up(block, s->upper[i], before, behind);
		for (a = 0; a < N; a++)
			s->right[i][a] = (lanes){ from[at][a], from[at + line->lane][a] };
		if (i)
			put_in(block, s->right[i], before, s->upper[i - 1], s->right[i - 1]);
		eliminate(block, s->upper[i], s->right[i]);
		before = behind;
	}
}

static void substitute_back(struct scratch *s, const struct line *line, vector *to)
{
	unsigned long i = line->length, at;
	lane_vector value = { 0 }, behind;
	int a, b;

	while (i--) {
		at = line->start + i * line->stride;
		for (a = 0; a < N; a++)
			behind[a] = value[a];
		for (a = 0; a < N; a++) {
			value[a] = s->right[i][a];
			#pragma GCC unroll 5
			for (b = 0; b < N; b++)
				value[a] -= s->upper[i][a][b] * behind[b];
			to[at][a] = value[a][0];
			to[at + line->lane][a] = value[a][1];
		}
	}
}

static unsigned long sweep(unsigned int thread, unsigned long item, unsigned long arg)
{
	struct line line = line_of(arg % 3, item * LANES);

	eliminate_line(scratches[thread], &line, (const vector *)fields[arg % 2]);
	substitute_back(scratches[thread], &line, fields[!(arg % 2)]);
	return line.length * LANES;
}

/* --- begin --- */

static void prepare(unsigned int process)
{
	unsigned long plane = dims[0] * dims[1];
	static struct phase list[6];
	unsigned int i;

	fields[0] = nas_slabs(process, dims[IN_Z], plane * sizeof(vector));
	fields[1] = nas_slabs(process, dims[IN_Z], plane * sizeof(vector));
	strength = nas_slabs(process, dims[IN_Z], plane * sizeof(double));
	for (i = 0; i < work.threads; i++) {
		scratches[i] = work_alloc(sizeof(struct scratch));
		work_place(scratches[i], sizeof(struct scratch), process, i);
	}
	for (i = 0; i < 6; i++)
		list[i] = (struct phase){ sweep, lines_of(i % 3) / LANES, i };
	phases_set(list, 6, 0);
}

static double value_at_first(unsigned long point, int quantity)
{
	return nas_random(point * 8 + quantity);
}

static double strength_at(unsigned long point)
{
	return 0.5 + nas_random(point * 8 + N);
}

static void fill_oracle(unsigned long first, unsigned long end)
{
	int i;

	if (first == end)
		return;
	for (i = 0; i < 2; i++)
		work_oracle(fields[i] + first, (end - first) * sizeof(vector), 1);
	work_oracle(strength + first, (end - first) * sizeof(double), 1);
}

static void fill(unsigned int thread)
{
	unsigned long plane = dims[0] * dims[1], first, end, i;
	int a;

	phases_part(dims[IN_Z], thread, &first, &end);
	for (i = first * plane; i < end * plane; i++) {
		for (a = 0; a < N; a++) {
			fields[0][i][a] = value_at_first(i, a);
			fields[1][i][a] = 0;
		}
		strength[i] = strength_at(i);
	}
	fill_oracle(first * plane, end * plane);
}

/* --- verify --- */

/* Put a solution into its equations. */
static bool solves(const struct line *line, unsigned long i, const vector *from, const vector *to)
{
	const vector *here = &to[line->start + i * line->stride];
	double before = flow(line, i, 0), behind = flow(line, i + 1, 0);
	int a, b;

	for (a = 0; a < N; a++) {
		double sum = here[0][a];

		for (b = 0; b < N; b++) {
			if (i)
				sum += before * coupling[a][b] *
					(here[0][b] - here[-line->stride][b]);
			if (i + 1 < line->length)
				sum += behind * coupling[a][b] *
					(here[0][b] - here[line->stride][b]);
		}
		if (!nas_close(sum, from[line->start + i * line->stride][a], TOLERANCE))
			return false;
	}
	return true;
}

static bool right_sweep(unsigned int process, unsigned int last)
{
	const vector *from = (const vector *)fields[last % 2];
	const vector *to = (const vector *)fields[!(last % 2)];
	unsigned long item, i;

	for (item = 0; item < lines_of(last % 3); item++) {
		struct line line = line_of(last % 3, item);

		for (i = 0; i < line.length; i++) {
			if (!solves(&line, i, from, to)) {
				work_wrong("process %u: point %lu of line %lu", process, i, item);
				return false;
			}
		}
	}
	return true;
}

static bool right_sums(unsigned int process)
{
	const vector *field = (const vector *)fields[phases_done() % 2];
	double sum[N] = { 0 }, first[N] = { 0 };
	unsigned long i;
	int a;

	for (i = 0; i < points(); i++) {
		for (a = 0; a < N; a++) {
			sum[a] += field[i][a];
			first[a] += value_at_first(i, a);
		}
		if (strength[i] != strength_at(i)) {
			work_wrong("process %u: strength of point %lu", process, i);
			return false;
		}
	}
	for (a = 0; a < N; a++) {
		if (!nas_close(sum[a], first[a], TOLERANCE)) {
			work_wrong("process %u: the sum of quantity %d is %.12g, must be %.12g",
				   process, a, sum[a], first[a]);
			return false;
		}
	}
	return true;
}

static bool verify(unsigned int process)
{
	return right_sums(process) &&
		(!phases_done() || right_sweep(process, (phases_done() - 1) % 6));
}

const struct nas_kernel nas_bt = { plan, prepare, fill, verify };
