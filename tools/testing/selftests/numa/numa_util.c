// SPDX-License-Identifier: GPL-2.0
/*
 * Shared helpers of the NUMA balancing selftests, see numa_util.h.
 *
 * Waiting is done by polling against a bound in seconds that only ends a test
 * which would otherwise hang; no test asserts how long something took.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "numa_util.h"

#define NODE_DIR	"/sys/devices/system/node"
#define SYSCTL_DIR	"/proc/sys/kernel"
#define DEBUGFS_DIR	"/sys/kernel/debug/sched/numa_balancing"

/* A node with less free memory than this cannot hold a test's buffers. */
#define MIN_FREE_KB	(192 * 1024)

/* Distance of the words that a pass over a buffer reads. */
#define TOUCH_STEP	(512 / sizeof(unsigned long))

/* Share and time that the witness process is given to follow its CPU. */
#define WITNESS_PERCENT	90
#define WITNESS_SECS	30

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(arr)	(sizeof(arr) / sizeof((arr)[0]))
#endif

struct knob_state {
	const char *sysctl;
	const char *debugfs;
	const char *path;
	char saved[32];
	ssize_t saved_len;
};

static struct knob_state knobs[NUMA_NR_KNOBS] = {
	[NUMA_KNOB_MODE] = {
		.sysctl = SYSCTL_DIR "/numa_balancing",
	},
	[NUMA_KNOB_SCAN_DELAY] = {
		.sysctl = SYSCTL_DIR "/numa_balancing_scan_delay_ms",
		.debugfs = DEBUGFS_DIR "/scan_delay_ms",
	},
	[NUMA_KNOB_PERIOD_MIN] = {
		.sysctl = SYSCTL_DIR "/numa_balancing_scan_period_min_ms",
		.debugfs = DEBUGFS_DIR "/scan_period_min_ms",
	},
	[NUMA_KNOB_PERIOD_MAX] = {
		.sysctl = SYSCTL_DIR "/numa_balancing_scan_period_max_ms",
		.debugfs = DEBUGFS_DIR "/scan_period_max_ms",
	},
	[NUMA_KNOB_SCAN_SIZE] = {
		.sysctl = SYSCTL_DIR "/numa_balancing_scan_size_mb",
		.debugfs = DEBUGFS_DIR "/scan_size_mb",
	},
};

/* Process that restores the knobs at its end, and its running test. */
static pid_t guard_pid;
static pid_t *guarded_group;

static ssize_t read_text(const char *path, char *text, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, text, len - 1);
	close(fd);
	if (got >= 0)
		text[got] = '\0';
	return got;
}

static int write_text(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t done;
	int err;

	if (fd < 0)
		return -errno;
	done = write(fd, text, len);
	err = done < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* Calls @add for each number of a list such as "0-2,5". */
static void each_in_list(const char *list, void (*add)(int nr, void *arg), void *arg)
{
	char *end;
	long first, last;

	while (isdigit((unsigned char)*list)) {
		first = strtol(list, &end, 10);
		last = first;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; first <= last; first++)
			add(first, arg);
		if (*end != ',')
			return;
		list = end + 1;
	}
}

static void add_to_mask(int nr, void *arg)
{
	unsigned long *mask = arg;

	if (nr < NUMA_MAX_NODES)
		*mask |= 1UL << nr;
}

static void add_cpu(int nr, void *arg)
{
	struct numa_node *node = arg;

	if (nr >= CPU_SETSIZE)
		return;
	CPU_SET(nr, &node->cpus);
	node->nr_cpus++;
}

static unsigned long node_mask(const char *name)
{
	unsigned long mask = 0;
	char path[128];
	char text[1024];

	snprintf(path, sizeof(path), NODE_DIR "/%s", name);
	if (read_text(path, text, sizeof(text)) > 0)
		each_in_list(text, add_to_mask, &mask);
	return mask;
}

static long node_free_kb(int nid)
{
	char path[128];
	char text[4096];
	char *at;

	snprintf(path, sizeof(path), NODE_DIR "/node%d/meminfo", nid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "MemFree:");
	return at ? strtol(at + strlen("MemFree:"), NULL, 10) : 0;
}

/**
 * numa_topo_read() - find the nodes that tests can use
 * @topo: result
 *
 * Nodes without CPUs, without memory or with little free memory are counted in
 * nr_online only.
 *
 * Return: 0, or -1 if the kernel shows no nodes (built without NUMA).
 */
int numa_topo_read(struct numa_topo *topo)
{
	unsigned long online = node_mask("online");
	unsigned long usable = node_mask("has_cpu") & node_mask("has_memory");
	struct numa_node *node;
	char path[128];
	char text[4096];
	int nid;

	memset(topo, 0, sizeof(*topo));
	topo->nr_online = __builtin_popcountl(online);
	for (nid = 0; nid < NUMA_MAX_NODES; nid++) {
		if (!(usable & (1UL << nid)) || node_free_kb(nid) < MIN_FREE_KB)
			continue;
		snprintf(path, sizeof(path), NODE_DIR "/node%d/cpulist", nid);
		if (read_text(path, text, sizeof(text)) <= 0)
			continue;
		node = &topo->node[topo->nr];
		node->nid = nid;
		each_in_list(text, add_cpu, node);
		if (node->nr_cpus)
			topo->nr++;
	}
	return online ? 0 : -1;
}

/**
 * numa_why_skip() - reasons why a test cannot run here
 * @topo: the machine
 * @min_nodes: number of nodes with CPUs and memory that the test needs
 *
 * Return: the reason, or NULL if the test can run.
 */
const char *numa_why_skip(const struct numa_topo *topo, int min_nodes)
{
	static char why[96];

	if (geteuid())
		return "needs root";
	if (!numa_knob_exists(NUMA_KNOB_MODE))
		return "kernel without NUMA balancing";
	if (topo->nr >= min_nodes)
		return NULL;
	snprintf(why, sizeof(why), "needs %d nodes with CPUs and memory, have %d",
		 min_nodes, topo->nr);
	return why;
}

/**
 * numa_pin() - restrict the calling thread to some CPUs
 * @cpus: which
 *
 * Return: 0 or -1 with errno set.
 */
int numa_pin(const cpu_set_t *cpus)
{
	return sched_setaffinity(0, sizeof(*cpus), cpus);
}

/**
 * numa_node_of_cpu() - node that a CPU belongs to
 * @topo: the machine
 * @cpu: CPU number
 *
 * Return: node number, or -1 if the CPU is on no node with CPUs and memory.
 */
int numa_node_of_cpu(const struct numa_topo *topo, int cpu)
{
	int i;

	for (i = 0; i < topo->nr; i++)
		if (cpu >= 0 && CPU_ISSET(cpu, &topo->node[i].cpus))
			return topo->node[i].nid;
	return -1;
}

/**
 * numa_knob_path() - file of a knob
 * @knob: which
 *
 * Return: the sysctl if there is one, else the debugfs file, else NULL.
 */
const char *numa_knob_path(enum numa_knob knob)
{
	struct knob_state *k = &knobs[knob];

	if (!k->path && !access(k->sysctl, R_OK))
		k->path = k->sysctl;
	if (!k->path && k->debugfs && !access(k->debugfs, R_OK))
		k->path = k->debugfs;
	return k->path;
}

/**
 * numa_knob_exists() - does this kernel have the knob anywhere
 * @knob: which
 *
 * Return: true if it can be read.
 */
bool numa_knob_exists(enum numa_knob knob)
{
	return numa_knob_path(knob);
}

/**
 * numa_knob_is_sysctl() - is the knob a range-checked sysctl
 * @knob: which
 *
 * Return: false for a debugfs file or a knob that does not exist.
 */
bool numa_knob_is_sysctl(enum numa_knob knob)
{
	return numa_knob_path(knob) == knobs[knob].sysctl;
}

/**
 * numa_knob_read() - value of a knob
 * @knob: which
 * @val: result
 *
 * Return: 0 or a negative error number.
 */
int numa_knob_read(enum numa_knob knob, long *val)
{
	const char *path = numa_knob_path(knob);
	char text[32];

	if (!path || read_text(path, text, sizeof(text)) <= 0)
		return -ENOENT;
	*val = strtol(text, NULL, 10);
	return 0;
}

/**
 * numa_knob_write() - set a knob
 * @knob: which
 * @val: new value
 *
 * Return: 0 or a negative error number.
 */
int numa_knob_write(enum numa_knob knob, long val)
{
	const char *path = numa_knob_path(knob);
	char text[32];
	int len;

	if (!path)
		return -ENOENT;
	len = snprintf(text, sizeof(text), "%ld\n", val);
	return write_text(path, text, len);
}

/**
 * numa_knobs_fast() - let scans follow each other quickly
 * @mode: value of kernel.numa_balancing while the test runs
 *
 * Knobs that this kernel lacks keep their default: tests then take longer.
 */
void numa_knobs_fast(long mode)
{
	numa_knob_write(NUMA_KNOB_SCAN_DELAY, 100);
	numa_knob_write(NUMA_KNOB_PERIOD_MIN, 100);
	numa_knob_write(NUMA_KNOB_PERIOD_MAX, 1000);
	numa_knob_write(NUMA_KNOB_SCAN_SIZE, 256);
	numa_knob_write(NUMA_KNOB_MODE, mode);
}

/**
 * numa_knobs_restore() - write back what numa_guard() has read
 *
 * Safe in a signal handler. Two rounds, as the limits of the scan period depend
 * on each other and the first write may be refused.
 */
void numa_knobs_restore(void)
{
	struct knob_state *k;
	int round;

	for (round = 0; round < 2; round++)
		for (k = knobs; k < knobs + NUMA_NR_KNOBS; k++)
			if (k->path && k->saved_len > 0)
				write_text(k->path, k->saved, k->saved_len);
}

static void guard_exit(void)
{
	if (getpid() == guard_pid)
		numa_knobs_restore();
}

static void guard_signal(int sig)
{
	if (getpid() == guard_pid) {
		if (guarded_group && *guarded_group > 0)
			kill(-*guarded_group, SIGKILL);
		numa_knobs_restore();
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

/**
 * numa_guard() - save all knobs now and restore them when this program ends
 *
 * Called first in main(). Covers what no fixture teardown can: a test that is
 * killed by its timeout, and a program that gets a signal.
 */
void numa_guard(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction action = { .sa_handler = guard_signal };
	struct knob_state *k;
	void *shared;
	size_t i;

	for (i = 0; i < NUMA_NR_KNOBS; i++) {
		k = &knobs[i];
		if (numa_knob_path(i))
			k->saved_len = read_text(k->path, k->saved, sizeof(k->saved));
	}
	shared = mmap(NULL, sizeof(*guarded_group), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared != MAP_FAILED)
		guarded_group = shared;
	guard_pid = getpid();
	atexit(guard_exit);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

/**
 * numa_test_begin() - first call of a fixture's setup
 *
 * Tells the guard which process group to end before it restores the knobs.
 */
void numa_test_begin(void)
{
	if (guarded_group)
		*guarded_group = getpgrp();
}

/**
 * numa_file_key() - number that follows a key at the start of a line
 * @path: file of lines such as "name 123" or "Name:   123 kB"
 * @key: what the line starts with, including a colon if there is one
 *
 * Return: the number, or -1 if there is no such file or line.
 */
long numa_file_key(const char *path, const char *key)
{
	size_t len = strlen(key);
	FILE *f = fopen(path, "re");
	char line[256];
	long val = -1;

	if (!f)
		return -1;
	while (val < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && isspace((unsigned char)line[len]))
			val = strtol(line + len, NULL, 10);
	fclose(f);
	return val;
}

/**
 * numa_vmstat() - a counter of /proc/vmstat
 * @name: its name
 *
 * Return: its value, or -1 if there is none of that name.
 */
long numa_vmstat(const char *name)
{
	return numa_file_key("/proc/vmstat", name);
}

/**
 * numa_sched_value() - a value of /proc/PID/task/TID/sched
 * @pid: process
 * @tid: thread of it
 * @key: name of the value, such as "numa_preferred_nid"
 * @val: result
 *
 * Return: 0, or -1 if the file or the value does not exist.
 */
int numa_sched_value(pid_t pid, pid_t tid, const char *key, long *val)
{
	size_t len = strlen(key);
	char path[64];
	char line[256];
	int err = -1;
	char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/sched", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (err && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, len) || isalnum((unsigned char)line[len]))
			continue;
		at = strchr(line + len, ':');
		if (!at)
			continue;
		*val = strtol(at + 1, NULL, 10);
		err = 0;
	}
	fclose(f);
	return err;
}

/**
 * numa_thread_cpu() - CPU that a thread ran on last
 * @pid: process
 * @tid: thread of it
 *
 * Return: CPU number or -1.
 */
int numa_thread_cpu(pid_t pid, pid_t tid)
{
	char path[64];
	char text[1024];
	char *at;
	int field;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return -1;
	/* The name may hold blanks: count from its closing bracket, field 2. */
	at = strrchr(text, ')');
	for (field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : -1;
}

/**
 * numa_idle_ticks() - idle time so far
 * @cpus: CPUs to sum up
 * @ticks: result in units of 1 / sysconf(_SC_CLK_TCK) s
 *
 * Compare idle with elapsed time: busy time is counted by ticks, which a
 * virtual machine may lose.
 *
 * Return: 0 or -1.
 */
int numa_idle_ticks(const cpu_set_t *cpus, unsigned long *ticks)
{
	unsigned long idle, iowait;
	FILE *f = fopen("/proc/stat", "re");
	char line[512];
	int cpu;

	if (!f)
		return -1;
	*ticks = 0;
	while (fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3)) {
		if (sscanf(line, "cpu%d %*u %*u %*u %lu %lu", &cpu, &idle, &iowait) != 3)
			continue;
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, cpus))
			*ticks += idle + iowait;
	}
	fclose(f);
	return 0;
}

/**
 * numa_kmsg_open() - watch the kernel log from here on
 *
 * Return: a descriptor for numa_kmsg_reports(), or -1.
 */
int numa_kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static bool is_report(const char *record)
{
	static const char * const marks[] = {
		"WARNING:", "BUG:", "Oops", "Call Trace", "rcu: INFO",
		"possible recursive locking", "possible circular locking",
		"general protection fault", "refcount_t:", "Bad page", "Bad rss",
		"blocked for more than",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(marks); i++)
		if (strstr(record, marks[i]))
			return true;
	return false;
}

/**
 * numa_kmsg_reports() - complaints of the kernel since the last call
 * @fd: from numa_kmsg_open()
 * @first: text of the first one
 * @len: size of @first
 *
 * Return: number of lines that belong to a warning, a bug or a stall.
 */
int numa_kmsg_reports(int fd, char *first, size_t len)
{
	char record[8192];
	int found = 0;
	ssize_t got;

	first[0] = '\0';
	for (;;) {
		got = read(fd, record, sizeof(record) - 1);
		if (got < 0 && errno == EPIPE)
			continue;
		if (got <= 0)
			return found;
		record[got] = '\0';
		record[strcspn(record, "\n")] = '\0';
		if (is_report(record) && !found++)
			snprintf(first, len, "%s", record);
	}
}

/**
 * numa_thp_available() - can madvise(MADV_HUGEPAGE) have an effect
 *
 * Return: false if transparent huge pages are off or not built in.
 */
bool numa_thp_available(void)
{
	char text[128];

	if (read_text("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)) <= 0)
		return false;
	return !strstr(text, "[never]");
}

/**
 * numa_buf_map() - map a buffer without touching it
 * @buf: result
 * @len: size in bytes, a multiple of %NUMA_HUGE_SIZE
 * @advice: MADV_HUGEPAGE or MADV_NOHUGEPAGE
 *
 * Return: 0 or -1.
 */
int numa_buf_map(struct numa_buf *buf, size_t len, int advice)
{
	char *raw, *start;

	raw = mmap(NULL, len + NUMA_HUGE_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		return -1;
	start = (char *)(((unsigned long)raw + NUMA_HUGE_SIZE - 1) & ~(NUMA_HUGE_SIZE - 1));
	if (start > raw)
		munmap(raw, start - raw);
	munmap(start + len, raw + NUMA_HUGE_SIZE - start);
	/* Fails where huge pages are not built in; then there are none. */
	madvise(start, len, advice);
	buf->mem = (unsigned long *)start;
	buf->len = len;
	buf->seed = 0x6a09e667UL + getpid();
	buf->passes = 0;
	return 0;
}

/**
 * numa_buf_unmap() - give a buffer back
 * @buf: the buffer
 */
void numa_buf_unmap(struct numa_buf *buf)
{
	munmap(buf->mem, buf->len);
	buf->mem = NULL;
}

static size_t page_words(void)
{
	return sysconf(_SC_PAGESIZE) / sizeof(unsigned long);
}

static unsigned long word_value(const struct numa_buf *buf, size_t i)
{
	return buf->seed ^ (i * 0x9e3779b9UL);
}

/**
 * numa_buf_fill() - write the whole buffer, from the node that is to hold it
 * @buf: the buffer
 *
 * A process forked later does not get the buffer: the next write would copy the
 * shared pages, perhaps to another node, and look like a migration.
 */
void numa_buf_fill(struct numa_buf *buf)
{
	size_t words = buf->len / sizeof(*buf->mem);
	size_t i;

	buf->passes = 0;
	madvise(buf->mem, buf->len, MADV_DONTFORK);
	for (i = 0; i < words; i++)
		buf->mem[i] = word_value(buf, i);
	for (i = 0; i < words; i += page_words())
		buf->mem[i] = 0;
}

/**
 * numa_buf_read() - read some words of each page
 * @buf: the buffer
 */
void numa_buf_read(const struct numa_buf *buf)
{
	size_t words = buf->len / sizeof(*buf->mem);
	size_t i;

	for (i = 1; i < words; i += TOUCH_STEP)
		numa_load(&buf->mem[i]);
}

/**
 * numa_buf_touch() - one pass: read some words of each page and write one
 * @buf: the buffer, with one writer only
 */
void numa_buf_touch(struct numa_buf *buf)
{
	size_t words = buf->len / sizeof(*buf->mem);
	size_t step = page_words();
	size_t i, j;

	for (i = 0; i < words; i += step) {
		for (j = 1; j < step; j += TOUCH_STEP)
			numa_load(&buf->mem[i + j]);
		numa_store(&buf->mem[i], numa_load(&buf->mem[i]) + 1);
	}
	buf->passes++;
}

/**
 * numa_buf_check() - compare the whole buffer with what it must hold
 * @buf: the buffer
 *
 * Return: number of wrong words: lost writes and damaged contents.
 */
unsigned long numa_buf_check(const struct numa_buf *buf)
{
	size_t words = buf->len / sizeof(*buf->mem);
	size_t step = page_words();
	unsigned long bad = 0;
	size_t i;

	for (i = 0; i < words; i++)
		if (i % step)
			bad += buf->mem[i] != word_value(buf, i);
		else
			bad += buf->mem[i] != buf->passes;
	return bad;
}

/* Asks for the node of each @step-th byte; the caller frees the result. */
static int *query_nodes(pid_t pid, const void *mem, size_t len, size_t step)
{
	size_t n = len / step;
	void **pages = calloc(n, sizeof(*pages));
	int *status = calloc(n, sizeof(*status));
	size_t i;

	if (!pages || !status)
		goto fail;
	for (i = 0; i < n; i++)
		pages[i] = (char *)mem + i * step;
	if (syscall(SYS_move_pages, pid, n, pages, NULL, status, 0))
		goto fail;
	free(pages);
	return status;
fail:
	free(pages);
	free(status);
	return NULL;
}

/**
 * numa_placement() - count pages per node
 * @pid: process, 0 for the caller
 * @mem: start of the range in that process
 * @len: its size in bytes
 * @step: look at one page per this many bytes, 0 for each page
 * @out: result
 *
 * Return: 0 or -1.
 */
int numa_placement(pid_t pid, const void *mem, size_t len, size_t step,
		   struct numa_placement *out)
{
	size_t i;
	int *status;

	memset(out, 0, sizeof(*out));
	if (!step)
		step = sysconf(_SC_PAGESIZE);
	status = query_nodes(pid, mem, len, step);
	if (!status)
		return -1;
	for (i = 0; i < len / step; i++) {
		if (status[i] < 0 || status[i] >= NUMA_MAX_NODES) {
			out->absent++;
			continue;
		}
		out->on[status[i]]++;
		out->present++;
	}
	free(status);
	return 0;
}

/**
 * numa_percent_on() - share of a buffer of the caller that is on a node
 * @buf: the buffer
 * @nid: node number
 *
 * Return: percent of all its pages, rounded down.
 */
unsigned int numa_percent_on(const struct numa_buf *buf, int nid)
{
	struct numa_placement where;

	if (numa_placement(0, buf->mem, buf->len, 0, &where))
		return 0;
	return where.on[nid] * 100 / (where.present + where.absent);
}

/**
 * numa_snapshot() - node of each page of a buffer
 * @buf: the buffer
 *
 * Return: array for numa_count_moved(), to be freed, or NULL.
 */
int *numa_snapshot(const struct numa_buf *buf)
{
	return query_nodes(0, buf->mem, buf->len, sysconf(_SC_PAGESIZE));
}

/**
 * numa_count_moved() - pages that are no longer where they were
 * @buf: the buffer
 * @snapshot: from numa_snapshot()
 *
 * Return: number of pages, or -1 if the kernel did not say.
 */
long numa_count_moved(const struct numa_buf *buf, const int *snapshot)
{
	size_t n = buf->len / sysconf(_SC_PAGESIZE);
	int *now = numa_snapshot(buf);
	long moved = 0;
	size_t i;

	if (!now || !snapshot) {
		free(now);
		return -1;
	}
	for (i = 0; i < n; i++)
		moved += now[i] != snapshot[i];
	free(now);
	return moved;
}

/**
 * numa_now_ms() - monotonic time
 *
 * Return: milliseconds.
 */
unsigned long numa_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000UL + ts.tv_nsec / 1000000;
}

/**
 * numa_sleep_ms() - sleep
 * @ms: how long
 */
void numa_sleep_ms(unsigned long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/**
 * numa_touch_for() - keep touching a buffer
 * @buf: the buffer
 * @ms: for how long; at least one pass
 */
void numa_touch_for(struct numa_buf *buf, unsigned long ms)
{
	unsigned long end = numa_now_ms() + ms;

	do {
		numa_buf_touch(buf);
	} while (numa_now_ms() < end);
}

/**
 * numa_follow() - touch a buffer until enough of it has come to a node
 * @buf: the buffer
 * @nid: node it is to come to
 * @percent: share that ends the wait
 * @secs: bound of the wait
 *
 * Return: share of the buffer on @nid in the end, in percent.
 */
unsigned int numa_follow(struct numa_buf *buf, int nid, unsigned int percent,
			 unsigned int secs)
{
	unsigned long end = numa_now_ms() + secs * 1000UL;
	unsigned int have;

	do {
		numa_touch_for(buf, 200);
		have = numa_percent_on(buf, nid);
	} while (have < percent && numa_now_ms() < end);
	return have;
}

/**
 * numa_mbind() - set the policy of a range
 * @mem: start
 * @len: size in bytes
 * @mode: policy with flags
 * @nodes: mask of nodes
 *
 * Return: 0 or -1 with errno set.
 */
long numa_mbind(void *mem, size_t len, int mode, unsigned long nodes)
{
	return syscall(SYS_mbind, mem, len, mode, &nodes, NUMA_MAX_NODES + 1, 0);
}

/**
 * numa_set_mempolicy() - set the policy of the calling thread
 * @mode: policy with flags
 * @nodes: mask of nodes
 *
 * Return: 0 or -1 with errno set.
 */
long numa_set_mempolicy(int mode, unsigned long nodes)
{
	return syscall(SYS_set_mempolicy, mode, &nodes, NUMA_MAX_NODES + 1);
}

static int witness(const struct numa_node *from, const struct numa_node *to)
{
	struct numa_buf buf;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	numa_set_mempolicy(NUMA_MPOL_DEFAULT, 0);
	if (numa_buf_map(&buf, 4 * NUMA_MB, MADV_NOHUGEPAGE) || numa_pin(&from->cpus))
		return 2;
	numa_buf_fill(&buf);
	if (numa_pin(&to->cpus))
		return 2;
	if (numa_follow(&buf, to->nid, WITNESS_PERCENT, WITNESS_SECS) < WITNESS_PERCENT)
		return 1;
	return numa_buf_check(&buf) ? 3 : 0;
}

/**
 * numa_witness_start() - start a process whose memory is to be balanced
 * @from: node that its memory is on at first
 * @to: node that it runs on
 *
 * A test that asserts that nothing happened proves little if balancing was not
 * at work at the time. The witness ends when its own memory has moved.
 *
 * Return: its process ID or -1.
 */
pid_t numa_witness_start(const struct numa_node *from, const struct numa_node *to)
{
	pid_t pid = fork();

	if (!pid)
		_exit(witness(from, to));
	return pid;
}

/**
 * numa_witness_done() - has the witness ended
 * @pid: from numa_witness_start()
 *
 * Return: 0 while it runs, 1 if its memory followed it, -1 if that failed.
 */
int numa_witness_done(pid_t pid)
{
	int status;

	if (!waitpid(pid, &status, WNOHANG))
		return 0;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 1 : -1;
}
