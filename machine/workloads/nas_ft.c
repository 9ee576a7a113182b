// SPDX-License-Identifier: GPL-2.0
/*
 * nas --kernel ft: transforms of a field in three dimensions, there and back. Between the two each
 * coefficient is turned by an angle of its own, as if time went by in a wave equation. All of this
 * keeps the sum of the squares, after each direction as well.
 */
#include <math.h>

#include "nas.h"

/* Four complex numbers are a cache line: so many transforms at a time in y and z direction. */
#define LANES		4ul
#define MOST_POINTS	4096ul		/* in one direction */
#define TOLERANCE	1e-9

/* A complex number: real, imaginary. */
typedef double number __attribute__((vector_size(16)));

enum direction { IN_X, IN_Y, IN_Z };

static unsigned long dims[3];
static number *field;
static number *roots[3];		/* of one, for each length */
static number *turns[3];		/* of a coefficient: a product of three */
static uint16_t *orders[3];		/* in which a transform in place wants its input */

static number *scratches[WORK_THREADS];

static unsigned long points(void)
{
	return dims[0] * dims[1] * dims[2];
}

static void plan(void)
{
	nas_powers(work.size / sizeof(number), dims);
	if (dims[2] < LANES || dims[0] > MOST_POINTS)
		work_usage("--size: from 1 MB to 1 TB for ft");
}

/* The bits of a number from the end. */
static unsigned long reversed(unsigned long i, unsigned long length)
{
	unsigned long result = 0;

	for (; length > 1; length >>= 1, i >>= 1)
		result = result << 1 | (i & 1);
	return result;
}

static number unit(double angle)
{
	return (number){ cos(angle), sin(angle) };
}

static number multiply(number a, number b)
{
	number real = { b[0], b[0] }, imaginary = { -b[1], b[1] };
	number swapped = { a[1], a[0] };

	return a * real + swapped * imaginary;
}

static void butterflies(number *low, number *high, number root)
{
	unsigned long i;

	for (i = 0; i < LANES; i++) {
		number product = multiply(high[i], root);

		high[i] = low[i] - product;
		low[i] += product;
	}
}

/* Transform all lanes; their elements are in reversed order. The back way has conjugate roots. */
static void transform(number *lanes, enum direction direction, bool back)
{
	unsigned long length = dims[direction], half, i, j;

	for (half = 1; half < length; half *= 2)
		for (j = 0; j < half; j++) {
			number root = roots[direction][j * (length / 2 / half)];

			if (back)
				root[1] = -root[1];
			for (i = j; i < length; i += 2 * half)
				butterflies(lanes + i * LANES, lanes + (i + half) * LANES, root);
		}
}

/* How an item lies in the field: where it begins, from element to element, from lane to lane. */
struct layout {
	unsigned long start;
	unsigned long element;
	unsigned long lane;
};

/* In x and y direction the items of a thread are its slab in z; in z direction they go across. */
static struct layout layout_of(enum direction direction, unsigned long item)
{
	unsigned long row = dims[0], plane = dims[0] * dims[1], blocks = row / LANES;

	if (direction == IN_X)
		return (struct layout){ item * LANES * row, 1, row };
	if (direction == IN_Y)
		return (struct layout){ item / blocks * plane + item % blocks * LANES, row, 1 };
	return (struct layout){ item / blocks * row + item % blocks * LANES, plane, 1 };
}

static unsigned long items_of(enum direction direction)
{
	return points() / dims[direction] / LANES;
}

/* The turn of the coefficients of a lane, but for its part that goes with z. */
static number turn_of_lane(unsigned long start, unsigned long lane)
{
	return multiply(turns[IN_X][start % dims[0] + lane], turns[IN_Y][start / dims[0]]);
}

static void turn(number *lanes, unsigned long start)
{
	number of_lane[LANES];
	unsigned long i, j;

	for (j = 0; j < LANES; j++)
		of_lane[j] = turn_of_lane(start, j);
	for (i = 0; i < dims[IN_Z]; i++)
		for (j = 0; j < LANES; j++)
			lanes[i * LANES + j] = multiply(lanes[i * LANES + j],
							multiply(of_lane[j], turns[IN_Z][i]));
}

static unsigned long item(unsigned int thread, unsigned long number_of_item, unsigned long arg)
{
	enum direction direction = arg % 3;
	unsigned long length = dims[direction], i, j;
	struct layout layout = layout_of(direction, number_of_item);
	number *from = field + layout.start, *lanes = scratches[thread];
	double scale = 1 / sqrt(length);
	bool back = arg >= 3;

	for (i = 0; i < length; i++)
		for (j = 0; j < LANES; j++)
			lanes[orders[direction][i] * LANES + j] =
				from[i * layout.element + j * layout.lane];
	transform(lanes, direction, back);
	if (direction == IN_Z && !back)
		turn(lanes, layout.start);
	for (i = 0; i < length; i++)
		for (j = 0; j < LANES; j++)
			from[i * layout.element + j * layout.lane] = scale * lanes[i * LANES + j];
	return length * LANES;
}

static void prepare_tables(void)
{
	unsigned long i;
	unsigned int d;

	for (d = 0; d < 3; d++) {
		roots[d] = work_alloc(dims[d] * sizeof(number));
		turns[d] = work_alloc(dims[d] * sizeof(number));
		orders[d] = work_alloc(dims[d] * sizeof(uint16_t));
		for (i = 0; i < dims[d]; i++) {
			roots[d][i] = unit(-2 * M_PI * i / dims[d]);
			turns[d][i] = unit(2 * M_PI * nas_random(i << 2 | d));
			orders[d][i] = reversed(i, dims[d]);
		}
	}
}

static void prepare(unsigned int process)
{
	static const int order[] = { IN_X, IN_Y, IN_Z, 3 + IN_Z, 3 + IN_Y, 3 + IN_X };
	unsigned long bytes = LANES * dims[0] * sizeof(number);
	static struct phase list[6];
	unsigned int i;

	field = nas_slabs(process, dims[IN_Z], dims[0] * dims[1] * sizeof(number));
	prepare_tables();
	for (i = 0; i < work.threads; i++) {
		scratches[i] = work_alloc(bytes);
		work_place(scratches[i], bytes, process, i);
	}
	for (i = 0; i < 6; i++)
		list[i] = (struct phase){ item, items_of(order[i] % 3), order[i], false };
	phases_set(list, 6, 0);
}

static void fill(unsigned int thread)
{
	unsigned long plane = dims[0] * dims[1], first, end, i;

	phases_part(dims[IN_Z], thread, &first, &end);
	for (i = first * plane; i < end * plane; i++)
		field[i] = (number){ nas_random(2 * i) - 0.5, nas_random(2 * i + 1) - 0.5 };
	if (end > first)
		work_oracle(field + first * plane, (end - first) * plane * sizeof(number), 1);
}

static double energy_now(void)
{
	unsigned long i;
	double sum = 0;

	for (i = 0; i < points(); i++)
		sum += field[i][0] * field[i][0] + field[i][1] * field[i][1];
	return sum;
}

/* What fill() has filled in, without the field. */
static double energy_at_first(void)
{
	unsigned long i;
	double sum = 0;

	for (i = 0; i < 2 * points(); i++)
		sum += (nas_random(i) - 0.5) * (nas_random(i) - 0.5);
	return sum;
}

static bool verify(unsigned int process)
{
	double sum, expected = energy_at_first();

	sum = energy_now();
	if (nas_close(sum, expected, TOLERANCE))
		return true;
	work_wrong("process %u: the sum of squares is %.12g, must be %.12g", process, sum,
		   expected);
	return false;
}

const struct nas_kernel nas_ft = { plan, prepare, fill, verify };
