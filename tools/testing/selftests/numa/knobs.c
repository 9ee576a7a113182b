// SPDX-License-Identifier: GPL-2.0
/*
 * Every sysctl of NUMA balancing takes what is in its range and refuses the
 * rest, with EINVAL and without a change of its value.
 *
 * Usage: ./knobs (as root)
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define NOBODY		65534
#define RACE_ROUNDS	2000
#define RATE_LIMIT	"/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"

/* Limits of the knobs; those of the scan period also limit each other. */
static const struct range {
	long min;
	long max;
} ranges[NUMA_NR_KNOBS] = {
	[NUMA_KNOB_MODE] = { 0, 3 },
	[NUMA_KNOB_SCAN_DELAY] = { 0, 3600000 },
	[NUMA_KNOB_PERIOD_MIN] = { 100, 3600000 },
	[NUMA_KNOB_PERIOD_MAX] = { 100, 3600000 },
	[NUMA_KNOB_SCAN_SIZE] = { 1, 65536 },
};

/*
 * Memory tiering, mode 2, comes with the promotion rate limit; where there is
 * none, the mode must be refused.
 */
static long knob_max(enum numa_knob knob)
{
	if (knob == NUMA_KNOB_MODE && access(RATE_LIMIT, F_OK))
		return 1;
	return ranges[knob].max;
}

static const char * const nonsense[] = {
	"abc\n", "12abc\n", "0x\n", "-1\n", "-99999999999\n", "99999999999\n",
	"99999999999999999999999\n", "4294967297\n", "\n", "\t\n", "1.5\n", "--1\n", "+\n",
};

/* Result of one write(): 0, or the negative error number. */
static int put(enum numa_knob knob, const char *text)
{
	int fd = open(numa_knob_path(knob), O_WRONLY);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static long get(enum numa_knob knob)
{
	long val = -1;

	numa_knob_read(knob, &val);
	return val;
}

/* What a write of @val must lead to, given the other limit of the period. */
static int verdict(enum numa_knob knob, long val)
{
	if (val < ranges[knob].min || val > knob_max(knob))
		return -EINVAL;
	if (knob == NUMA_KNOB_PERIOD_MIN && val > get(NUMA_KNOB_PERIOD_MAX))
		return -EINVAL;
	if (knob == NUMA_KNOB_PERIOD_MAX && val < get(NUMA_KNOB_PERIOD_MIN))
		return -EINVAL;
	return 0;
}

FIXTURE(knob) {
	struct numa_topo topo;
};

FIXTURE_VARIANT(knob) {
	enum numa_knob which;
};

FIXTURE_VARIANT_ADD(knob, numa_balancing) {
	.which = NUMA_KNOB_MODE,
};

FIXTURE_VARIANT_ADD(knob, scan_delay_ms) {
	.which = NUMA_KNOB_SCAN_DELAY,
};

FIXTURE_VARIANT_ADD(knob, scan_period_min_ms) {
	.which = NUMA_KNOB_PERIOD_MIN,
};

FIXTURE_VARIANT_ADD(knob, scan_period_max_ms) {
	.which = NUMA_KNOB_PERIOD_MAX,
};

FIXTURE_VARIANT_ADD(knob, scan_size_mb) {
	.which = NUMA_KNOB_SCAN_SIZE,
};

FIXTURE_SETUP(knob)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 0);
	if (why)
		SKIP(return, "%s", why);
	if (!numa_knob_is_sysctl(variant->which))
		SKIP(return, "kernel without this sysctl");
}

FIXTURE_TEARDOWN(knob)
{
	numa_knobs_restore();
}

TEST_F(knob, refuses_nonsense)
{
	long before = get(variant->which);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		EXPECT_EQ(-EINVAL, put(variant->which, nonsense[i])) {
			TH_LOG("text was: %s", nonsense[i]);
		}
		ASSERT_EQ(before, get(variant->which));
	}
	/* A write of no bytes may succeed, and must not change anything. */
	put(variant->which, "");
	EXPECT_EQ(before, get(variant->which));
}

TEST_F(knob, keeps_to_its_range)
{
	long min = ranges[variant->which].min, max = knob_max(variant->which);
	const long tries[] = {
		min - 1, min, min + 1, (min + max) / 2, max - 1, max, max + 1, max * 2,
		0, 1, 4, 100, 99, 1000,
	};
	long before;
	char text[32];
	int want;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		before = get(variant->which);
		want = verdict(variant->which, tries[i]);
		snprintf(text, sizeof(text), "%ld\n", tries[i]);
		EXPECT_EQ(want, put(variant->which, text)) {
			TH_LOG("value was %ld", tries[i]);
		}
		ASSERT_EQ(want ? before : tries[i], get(variant->which));
	}
}

TEST_F(knob, only_root_may_write)
{
	long before = get(variant->which);
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(2);
		_exit(put(variant->which, "1\n") < 0 ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(before, get(variant->which));
}

FIXTURE(period) {
	struct numa_topo topo;
};

FIXTURE_SETUP(period)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 0);
	if (why)
		SKIP(return, "%s", why);
	if (!numa_knob_is_sysctl(NUMA_KNOB_PERIOD_MIN) ||
	    !numa_knob_is_sysctl(NUMA_KNOB_PERIOD_MAX))
		SKIP(return, "kernel without sysctls for the scan period");
}

FIXTURE_TEARDOWN(period)
{
	numa_knobs_restore();
}

TEST_F(period, min_never_above_max)
{
	ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MAX, knob_max(NUMA_KNOB_PERIOD_MAX)));
	ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MIN, 500));
	ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MAX, 2000));
	EXPECT_EQ(-EINVAL, numa_knob_write(NUMA_KNOB_PERIOD_MIN, 2001));
	EXPECT_EQ(500, get(NUMA_KNOB_PERIOD_MIN));
	EXPECT_EQ(-EINVAL, numa_knob_write(NUMA_KNOB_PERIOD_MAX, 499));
	EXPECT_EQ(2000, get(NUMA_KNOB_PERIOD_MAX));
	EXPECT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MIN, 2000));
	EXPECT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MIN, 500));
	EXPECT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MAX, 500));
}

/* Two writers at once must not get a pair past the check. */
TEST_F_TIMEOUT(period, concurrent_writers, 60)
{
	int status;
	pid_t pid;
	int i;

	ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MAX, 1000));
	ASSERT_EQ(0, numa_knob_write(NUMA_KNOB_PERIOD_MIN, 100));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (i = 0; i < RACE_ROUNDS; i++)
			numa_knob_write(NUMA_KNOB_PERIOD_MAX, 100 + i * 7919L % 900);
		_exit(0);
	}
	for (i = 0; i < RACE_ROUNDS; i++)
		numa_knob_write(NUMA_KNOB_PERIOD_MIN, 100 + i * 6007L % 900);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_LE(get(NUMA_KNOB_PERIOD_MIN), get(NUMA_KNOB_PERIOD_MAX));
}

FIXTURE(promotion) {
	long saved;
};

FIXTURE_SETUP(promotion)
{
	numa_test_begin();
	if (geteuid())
		SKIP(return, "needs root");
	if (access(RATE_LIMIT, R_OK))
		SKIP(return, "kernel without this sysctl");
}

FIXTURE_TEARDOWN(promotion)
{
}

static int put_rate(const char *text)
{
	int fd = open(RATE_LIMIT, O_WRONLY);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static long get_rate(void)
{
	char text[32] = "";
	int fd = open(RATE_LIMIT, O_RDONLY);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return atol(text);
}

TEST_F(promotion, rate_limit_keeps_to_its_range)
{
	long before = get_rate();
	char text[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nonsense); i++) {
		EXPECT_EQ(-EINVAL, put_rate(nonsense[i])) {
			TH_LOG("text was: %s", nonsense[i]);
		}
		EXPECT_EQ(before, get_rate());
	}
	EXPECT_EQ(0, put_rate("100\n"));
	EXPECT_EQ(100, get_rate());
	snprintf(text, sizeof(text), "%ld\n", before);
	EXPECT_EQ(0, put_rate(text));
	EXPECT_EQ(before, get_rate());
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
