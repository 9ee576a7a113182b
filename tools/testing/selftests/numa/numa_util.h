/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared helpers of the NUMA balancing selftests: topology, knobs, counters,
 * buffers whose contents and placement can be checked.
 */
#ifndef NUMA_UTIL_H
#define NUMA_UTIL_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NUMA_MAX_NODES		64
#define NUMA_MB			(1024UL * 1024)
#define NUMA_HUGE_SIZE		(2 * NUMA_MB)

/* Policy values that older libc headers lack; no libnuma is needed. */
#define NUMA_MPOL_DEFAULT	0
#define NUMA_MPOL_BIND		2
#define NUMA_MPOL_INTERLEAVE	3
#define NUMA_MPOL_F_BALANCING	0x2000

/**
 * enum numa_knob - the tunables of NUMA balancing that tests change
 * @NUMA_KNOB_MODE: kernel.numa_balancing
 * @NUMA_KNOB_SCAN_DELAY: age at which a task is first scanned, in ms
 * @NUMA_KNOB_PERIOD_MIN: shortest time between two scans, in ms
 * @NUMA_KNOB_PERIOD_MAX: longest time between two scans, in ms
 * @NUMA_KNOB_SCAN_SIZE: size of one scan, in MB
 * @NUMA_NR_KNOBS: number of the above
 */
enum numa_knob {
	NUMA_KNOB_MODE,
	NUMA_KNOB_SCAN_DELAY,
	NUMA_KNOB_PERIOD_MIN,
	NUMA_KNOB_PERIOD_MAX,
	NUMA_KNOB_SCAN_SIZE,
	NUMA_NR_KNOBS,
};

/**
 * struct numa_node - a node that tests can use
 * @nid: node number
 * @nr_cpus: number of online CPUs on it
 * @cpus: those CPUs
 */
struct numa_node {
	int nid;
	int nr_cpus;
	cpu_set_t cpus;
};

/**
 * struct numa_topo - nodes of the machine
 * @nr_online: number of online nodes of any kind
 * @nr: number of nodes with both CPUs and memory
 * @node: those nodes, by rising node number
 */
struct numa_topo {
	int nr_online;
	int nr;
	struct numa_node node[NUMA_MAX_NODES];
};

/**
 * struct numa_placement - where the pages of a range are
 * @on: pages per node number
 * @present: sum of @on
 * @absent: pages that are not mapped, or on their way at the time
 */
struct numa_placement {
	unsigned long on[NUMA_MAX_NODES];
	unsigned long present;
	unsigned long absent;
};

/**
 * struct numa_buf - anonymous memory with contents that can be verified
 * @mem: start, aligned to %NUMA_HUGE_SIZE
 * @len: size in bytes
 * @seed: what the contents are derived from
 * @passes: number of completed write passes; word 0 of each page holds it
 */
struct numa_buf {
	unsigned long *mem;
	size_t len;
	unsigned long seed;
	unsigned long passes;
};

/* topology */
int numa_topo_read(struct numa_topo *topo);
const char *numa_why_skip(const struct numa_topo *topo, int min_nodes);
int numa_pin(const cpu_set_t *cpus);
int numa_node_of_cpu(const struct numa_topo *topo, int cpu);

/* knobs */
void numa_guard(void);
void numa_test_begin(void);
bool numa_knob_exists(enum numa_knob knob);
bool numa_knob_is_sysctl(enum numa_knob knob);
const char *numa_knob_path(enum numa_knob knob);
int numa_knob_read(enum numa_knob knob, long *val);
int numa_knob_write(enum numa_knob knob, long val);
void numa_knobs_fast(long mode);
void numa_knobs_restore(void);

/* what the kernel reports */
long numa_file_key(const char *path, const char *key);
long numa_vmstat(const char *name);
int numa_sched_value(pid_t pid, pid_t tid, const char *key, long *val);
int numa_thread_cpu(pid_t pid, pid_t tid);
int numa_idle_ticks(const cpu_set_t *cpus, unsigned long *ticks);
int numa_kmsg_open(void);
int numa_kmsg_reports(int fd, char *first, size_t len);
bool numa_thp_available(void);

/* buffers and placement */
int numa_buf_map(struct numa_buf *buf, size_t len, int advice);
void numa_buf_unmap(struct numa_buf *buf);
void numa_buf_fill(struct numa_buf *buf);
void numa_buf_touch(struct numa_buf *buf);
void numa_buf_read(const struct numa_buf *buf);
unsigned long numa_buf_check(const struct numa_buf *buf);
int numa_placement(pid_t pid, const void *mem, size_t len, size_t step,
		   struct numa_placement *out);
unsigned int numa_percent_on(const struct numa_buf *buf, int nid);
int *numa_snapshot(const struct numa_buf *buf);
long numa_count_moved(const struct numa_buf *buf, const int *snapshot);
unsigned int numa_follow(struct numa_buf *buf, int nid, unsigned int percent,
			 unsigned int secs);
long numa_mbind(void *mem, size_t len, int mode, unsigned long nodes);
long numa_set_mempolicy(int mode, unsigned long nodes);

/* time, and a process that proves that balancing is at work */
unsigned long numa_now_ms(void);
void numa_sleep_ms(unsigned long ms);
void numa_touch_for(struct numa_buf *buf, unsigned long ms);
pid_t numa_witness_start(const struct numa_node *from, const struct numa_node *to);
int numa_witness_done(pid_t pid);

/**
 * numa_load() - read a word that another thread may write
 * @word: where to read
 *
 * Return: the value; the access is neither torn nor optimised away.
 */
static inline unsigned long numa_load(const unsigned long *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/**
 * numa_store() - write a word that another thread may read
 * @word: where to write
 * @val: what
 */
static inline void numa_store(unsigned long *word, unsigned long val)
{
	__atomic_store_n(word, val, __ATOMIC_RELAXED);
}

#endif /* NUMA_UTIL_H */
