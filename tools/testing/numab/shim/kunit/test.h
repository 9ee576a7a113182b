/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of KUnit that the tests of the policy use, for userspace, so that
 * one and the same source is compiled there and in the kernel.
 *
 * An object that calls kunit_test_suites() is linked with runner.o.
 */
#ifndef _NUMAB_SHIM_KUNIT_TEST_H
#define _NUMAB_SHIM_KUNIT_TEST_H

#include <stddef.h>
#include <stdio.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128

/**
 * enum kunit_status - how a case stands
 * @KUNIT_SUCCESS: no expectation failed so far
 * @KUNIT_FAILURE: one did
 */
enum kunit_status {
	KUNIT_SUCCESS,
	KUNIT_FAILURE,
};

/**
 * struct kunit - a case while it runs
 * @name: its name
 * @param_value: the row it runs with, NULL if it takes none
 * @status: how it stands
 */
struct kunit {
	const char *name;
	const void *param_value;
	enum kunit_status status;
};

/**
 * struct kunit_case - a case, or one for each row of a table
 * @name: its name
 * @run_case: the function
 * @generate_params: returns the row after @prev and describes it; NULL for a
 *	case without a table
 */
struct kunit_case {
	const char *name;
	void (*run_case)(struct kunit *test);
	const void *(*generate_params)(const void *prev, char *desc);
};

/**
 * struct kunit_suite - cases that belong together
 * @name: name of the suite
 * @test_cases: the cases; one without a function ends them
 */
struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

extern struct kunit_suite * const kunit_suites[];

void kunit_fail(struct kunit *test, const char *file, int line,
		const char *what);
const void *kunit_next_row(const void *table, size_t size, size_t row_size,
			   size_t desc_at, const void *prev, char *desc);

#define KUNIT_CASE(fn)			{ .name = #fn, .run_case = fn }
#define KUNIT_CASE_PARAM(fn, gen)	\
	{ .name = #fn, .run_case = fn, .generate_params = gen }

#define KUNIT_ARRAY_PARAM_DESC(prefix, array, desc_member)		\
static const void *prefix##_gen_params(const void *prev, char *desc)	\
{									\
	return kunit_next_row(array, sizeof(array), sizeof((array)[0]),	\
			      offsetof(typeof((array)[0]), desc_member), \
			      prev, desc);				\
}

#define kunit_test_suites(...)	\
	struct kunit_suite * const kunit_suites[] = { __VA_ARGS__, NULL }

#define KUNIT_FAIL(test, fmt, ...) ({					\
	char _what[512];						\
									\
	snprintf(_what, sizeof(_what), fmt, ##__VA_ARGS__);		\
	kunit_fail(test, __FILE__, __LINE__, _what); })

#define KUNIT_EXPECT_TRUE_MSG(test, cond, fmt, ...) ({			\
	if (!(cond))							\
		KUNIT_FAIL(test, "%s is false; " fmt, #cond, ##__VA_ARGS__); })

#define KUNIT_EXPECT_TRUE(test, cond)	\
	KUNIT_EXPECT_TRUE_MSG(test, cond, "%s", "")

#define KUNIT_EXPECT_FALSE_MSG(test, cond, ...)	\
	KUNIT_EXPECT_TRUE_MSG(test, !(cond), __VA_ARGS__)
#define KUNIT_EXPECT_FALSE(test, cond)	\
	KUNIT_EXPECT_TRUE(test, !(cond))

#define KUNIT_EXPECT_OP_MSG(test, left, op, right, fmt, ...) ({		\
	typeof(left) _left = (left);					\
	typeof(right) _right = (right);					\
									\
	if (!(_left op _right))						\
		KUNIT_FAIL(test, "%s " #op " %s fails: %lld and %lld; " fmt, \
			   #left, #right, (long long)_left,		\
			   (long long)_right, ##__VA_ARGS__); })

#define KUNIT_EXPECT_EQ_MSG(test, left, right, ...)	\
	KUNIT_EXPECT_OP_MSG(test, left, ==, right, __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(test, left, right, ...)	\
	KUNIT_EXPECT_OP_MSG(test, left, <=, right, __VA_ARGS__)
#define KUNIT_EXPECT_LT_MSG(test, left, right, ...)	\
	KUNIT_EXPECT_OP_MSG(test, left, <, right, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(test, left, right, ...)	\
	KUNIT_EXPECT_OP_MSG(test, left, >=, right, __VA_ARGS__)

#define KUNIT_EXPECT_EQ(test, left, right)	\
	KUNIT_EXPECT_EQ_MSG(test, left, right, "%s", "")
#define KUNIT_EXPECT_LE(test, left, right)	\
	KUNIT_EXPECT_LE_MSG(test, left, right, "%s", "")
#define KUNIT_EXPECT_LT(test, left, right)	\
	KUNIT_EXPECT_LT_MSG(test, left, right, "%s", "")
#define KUNIT_EXPECT_GE(test, left, right)	\
	KUNIT_EXPECT_GE_MSG(test, left, right, "%s", "")

#define MODULE_DESCRIPTION(text)	\
	static const char kunit_description[] __maybe_unused = text
#define MODULE_LICENSE(text)		\
	static const char kunit_license[] __maybe_unused = text

#endif /* _NUMAB_SHIM_KUNIT_TEST_H */
