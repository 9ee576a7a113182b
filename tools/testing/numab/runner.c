// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the suites of the object it is linked with; see shim/kunit/test.h.
 */
#include <stdlib.h>
#include <string.h>

#include <kunit/test.h>

static unsigned int passed, failed;
static bool verbose;

/**
 * kunit_fail - note that an expectation of a case failed
 * @test: the case
 * @file: source file of the expectation
 * @line: its line
 * @what: what was expected, and what was found
 */
void kunit_fail(struct kunit *test, const char *file, int line,
		const char *what)
{
	const char *base = strrchr(file, '/');

	test->status = KUNIT_FAILURE;
	printf("# %s: %s:%d: %s\n", test->name, base ? base + 1 : file, line,
	       what);
}

/**
 * kunit_next_row - step through a table of cases
 * @table: first row
 * @size: bytes of all rows
 * @row_size: bytes of one row
 * @desc_at: offset in a row of the pointer to its description
 * @prev: row before, NULL to start
 * @desc: KUNIT_PARAM_DESC_SIZE bytes for the description
 *
 * Return: the next row, or NULL after the last one.
 */
const void *kunit_next_row(const void *table, size_t size, size_t row_size,
			   size_t desc_at, const void *prev, char *desc)
{
	const char *row = prev ? (const char *)prev + row_size : table;

	if (row == (const char *)table + size)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s",
		 *(const char * const *)(row + desc_at));
	return row;
}

static void run_one(const struct kunit_case *c, const void *row,
		    const char *desc)
{
	char name[256];
	struct kunit test = { .name = name, .param_value = row };

	snprintf(name, sizeof(name), "%s%s%s", c->name, row ? ": " : "", desc);
	c->run_case(&test);
	if (test.status == KUNIT_SUCCESS)
		passed++;
	else
		failed++;
	if (verbose || test.status != KUNIT_SUCCESS)
		printf("%s %s\n", test.status ? "not ok" : "ok", name);
}

static void run_case(const struct kunit_case *c)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	const void *row = NULL;

	if (!c->generate_params) {
		run_one(c, NULL, "");
		return;
	}
	while ((row = c->generate_params(row, desc)))
		run_one(c, row, desc);
}

int main(int argc, char **argv)
{
	struct kunit_suite * const *suite;
	const struct kunit_case *c;

	verbose = argc > 1 && !strcmp(argv[1], "-v");
	if (argc > 1 + verbose) {
		fprintf(stderr, "usage: %s [-v]\n", argv[0]);
		return 2;
	}

	for (suite = kunit_suites; *suite; suite++) {
		for (c = (*suite)->test_cases; c->run_case; c++)
			run_case(c);
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}
