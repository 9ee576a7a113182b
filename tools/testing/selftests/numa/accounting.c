// SPDX-License-Identifier: GPL-2.0
/*
 * What user space is told: counters, /proc/PID/sched, /proc/PID/status and
 * memory.stat keep the names and the meaning that tools rely on.
 *
 * Usage: ./accounting (as root)
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "numa_util.h"

#define BUF_SIZE	(16 * NUMA_MB)
#define WANT_PERCENT	95
#define SETTLE_SECS	30
#define SCHED_DEBUG	"/sys/kernel/debug/sched/debug"

FIXTURE(told) {
	struct numa_topo topo;
	struct numa_buf buf;
	const struct numa_node *from;
	const struct numa_node *to;
};

FIXTURE_SETUP(told)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	self->from = &self->topo.node[0];
	self->to = &self->topo.node[1];
	ASSERT_EQ(0, numa_pin(&self->from->cpus));
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, MADV_NOHUGEPAGE));
	numa_buf_fill(&self->buf);
	numa_knobs_fast(1);
}

FIXTURE_TEARDOWN(told)
{
	numa_knobs_restore();
}

static long sched_value(const char *key)
{
	long val = -1;

	numa_sched_value(getpid(), getpid(), key, &val);
	return val;
}

TEST_F_TIMEOUT(told, preferred_node, 90)
{
	unsigned long end;
	long val;

	if (numa_sched_value(getpid(), getpid(), "numa_preferred_nid", &val))
		SKIP(return, "no numa_preferred_nid in /proc/PID/sched");
	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	EXPECT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->to->nid, WANT_PERCENT, SETTLE_SECS));
	end = numa_now_ms() + SETTLE_SECS * 1000;
	while ((sched_value("numa_preferred_nid") != self->to->nid ||
		!sched_value("total_numa_faults")) && numa_now_ms() < end)
		numa_touch_for(&self->buf, 200);
	EXPECT_EQ(self->to->nid, sched_value("numa_preferred_nid"));
	EXPECT_LT(0, sched_value("total_numa_faults"));
	EXPECT_LT(0, sched_value("mm->numa_scan_seq"));
	EXPECT_LT(0, sched_value("numa_pages_migrated"));
}

TEST_F_TIMEOUT(told, local_faults_are_faults, 90)
{
	long local = numa_vmstat("numa_hint_faults_local");
	long all = numa_vmstat("numa_hint_faults");
	long new_local, new_all;

	ASSERT_LE(0, local);
	ASSERT_LE(0, all);
	EXPECT_GE(all, local);
	ASSERT_EQ(0, numa_pin(&self->to->cpus));
	EXPECT_LE(WANT_PERCENT,
		  numa_follow(&self->buf, self->to->nid, WANT_PERCENT, SETTLE_SECS));
	/* Local first: the other one must not fall behind in between. */
	new_local = numa_vmstat("numa_hint_faults_local") - local;
	new_all = numa_vmstat("numa_hint_faults") - all;
	EXPECT_LE(0, new_local);
	EXPECT_LT(0, new_all);
	EXPECT_GE(new_all, new_local);
}

static void *wait_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/*
 * All marks of a task on its own node are local faults once they are touched.
 * A second thread is needed: what is local to the only thread is not marked.
 */
TEST_F_TIMEOUT(told, local_memory_gives_local_faults, 90)
{
	unsigned long end = numa_now_ms() + SETTLE_SECS * 1000;
	pthread_t thread;
	long local = numa_vmstat("numa_hint_faults_local");
	long all = numa_vmstat("numa_hint_faults");
	long moved = numa_vmstat("numa_pages_migrated");

	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_forever, NULL));
	do {
		numa_touch_for(&self->buf, 200);
	} while (numa_vmstat("numa_hint_faults") - all < 100 && numa_now_ms() < end);
	local = numa_vmstat("numa_hint_faults_local") - local;
	all = numa_vmstat("numa_hint_faults") - all;
	EXPECT_LE(100, all);
	EXPECT_LE(all * 9 / 10, local);
	EXPECT_GT(64, numa_vmstat("numa_pages_migrated") - moved);
}

TEST_F(told, group_in_status)
{
	EXPECT_LE(0, numa_file_key("/proc/self/status", "Ngid:"));
}

TEST_F(told, faults_per_node_in_sched)
{
	FILE *f = fopen("/proc/self/sched", "r");
	bool group = false;
	char line[256];

	if (!f)
		SKIP(return, "no /proc/PID/sched");
	while (fgets(line, sizeof(line), f))
		group |= strstr(line, "current_node=") && strstr(line, "numa_group_id=");
	fclose(f);
	EXPECT_TRUE(group);
}

TEST_F_TIMEOUT(told, run_queue_counters, 60)
{
	unsigned long end = numa_now_ms() + SETTLE_SECS * 1000;
	char line[256];
	long sum = 0;
	bool known = false;
	FILE *f;

	do {
		numa_touch_for(&self->buf, 300);
		f = fopen(SCHED_DEBUG, "r");
		if (!f)
			SKIP(return, "no " SCHED_DEBUG);
		sum = 0;
		while (fgets(line, sizeof(line), f)) {
			if (!strstr(line, ".nr_numa_running") || !strchr(line, ':'))
				continue;
			known = true;
			sum += atol(strchr(line, ':') + 1);
		}
		fclose(f);
		if (!known)
			SKIP(return, "no nr_numa_running in " SCHED_DEBUG);
	} while (sum < 1 && numa_now_ms() < end);
	/* This task reads the file, so it runs and is counted. */
	EXPECT_LE(1, sum);
	EXPECT_GE(sysconf(_SC_NPROCESSORS_ONLN) * 4, sum);
}

FIXTURE(cgroup) {
	struct numa_topo topo;
	struct numa_buf buf;
	char root[64];
	char group[80];
};

static int put(const char *dir, const char *file, const char *text)
{
	char path[160];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	err = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return err;
}

static long stat_value(const char *dir, const char *key)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	return numa_file_key(path, key);
}

/* Name of the first counter that is not above @limit, NULL if all are. */
static const char *first_not_above(const char *dir, long limit)
{
	static const char * const keys[] = {
		"numa_pte_updates", "numa_hint_faults", "numa_pages_migrated",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (stat_value(dir, keys[i]) <= limit)
			return keys[i];
	return NULL;
}

FIXTURE_SETUP(cgroup)
{
	const char *why;

	numa_test_begin();
	numa_topo_read(&self->topo);
	why = numa_why_skip(&self->topo, 2);
	if (why)
		SKIP(return, "%s", why);
	snprintf(self->root, sizeof(self->root), "/tmp/numa_cgroup_XXXXXX");
	if (!mkdtemp(self->root)) {
		snprintf(self->root, sizeof(self->root), "/dev/numa_cgroup_XXXXXX");
		if (!mkdtemp(self->root))
			SKIP(return, "no place for a mount point");
	}
	if (mount("none", self->root, "cgroup2", 0, NULL)) {
		rmdir(self->root);
		SKIP(return, "no cgroup2");
	}
	snprintf(self->group, sizeof(self->group), "%s/numa_test", self->root);
	if (put(self->root, "cgroup.subtree_control", "+memory") || mkdir(self->group, 0755)) {
		umount(self->root);
		rmdir(self->root);
		SKIP(return, "no memory controller in cgroup2");
	}
	numa_knobs_fast(1);
}

FIXTURE_TEARDOWN(cgroup)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	put(self->root, "cgroup.procs", pid);
	if (self->buf.mem)
		numa_buf_unmap(&self->buf);
	rmdir(self->group);
	umount(self->root);
	rmdir(self->root);
	numa_knobs_restore();
}

TEST_F_TIMEOUT(cgroup, memory_stat, 90)
{
	const struct numa_node *from = &self->topo.node[0];
	const struct numa_node *to = &self->topo.node[1];
	const char *key;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_EQ(0, put(self->group, "cgroup.procs", pid));
	key = first_not_above(self->group, -1);
	ASSERT_EQ(NULL, key) {
		TH_LOG("memory.stat lacks %s", key);
	}
	ASSERT_EQ(0, numa_buf_map(&self->buf, BUF_SIZE, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, numa_pin(&from->cpus));
	numa_buf_fill(&self->buf);
	ASSERT_EQ(0, numa_pin(&to->cpus));
	EXPECT_LE(WANT_PERCENT, numa_follow(&self->buf, to->nid, WANT_PERCENT, SETTLE_SECS));
	key = first_not_above(self->group, 0);
	EXPECT_EQ(NULL, key) {
		TH_LOG("%s did not count", key);
	}
}

int main(int argc, char **argv)
{
	numa_guard();
	return test_harness_run(argc, argv);
}
