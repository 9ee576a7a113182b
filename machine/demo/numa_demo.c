// SPDX-License-Identifier: GPL-2.0
/*
 * Demonstration of automatic NUMA balancing: several processes, each with its
 * own memory on a node where its threads do not run. Once per second it shows
 * where memory and threads are; at the end it judges whether they came together
 * with all CPUs still at work.
 *
 *   numa_demo --procs 4 --threads 2 --mb 48 --secs 30
 *
 * Exit status: 0 if local share and busy CPUs of the last seconds are high
 * enough and no memory was damaged, 1 if not, 2 if it could not run.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numa_util.h"

#define MAX_PROCS	16
#define MAX_THREADS	64
#define WINDOW		5
/* One page of this many is asked for its node, another one each second. */
#define SAMPLE_PAGES	16
#define READ_STEP	(512 / sizeof(unsigned long))

enum wrong_node { WRONG_OFF, WRONG_ROTATE, WRONG_FIRST };

/**
 * struct options - what the command line says
 * @procs: number of processes
 * @threads: threads of each process
 * @mb: memory of each process in MB
 * @secs: guest seconds to watch
 * @want_share: local share to be reached, in percent
 * @want_busy: busy CPUs to be reached, in percent
 * @seed: start offsets and delays
 * @wrong: where each process finds its memory and starts its threads
 * @csv: file for the samples, or NULL
 */
struct options {
	int procs;
	int threads;
	int mb;
	int secs;
	int want_share;
	int want_busy;
	unsigned long seed;
	enum wrong_node wrong;
	FILE *csv;
};

/**
 * struct report - message of a process to the watching one
 * @mem: start of its memory
 * @bad: words that were wrong at the end
 * @passes: write passes over the memory
 */
struct report {
	void *mem;
	unsigned long bad;
	unsigned long passes;
};

/**
 * struct proc - a process as the watching one sees it
 * @pid: process ID
 * @go: closed to end it
 * @report: where its reports come from
 * @mem: start of its memory
 * @tid: its working threads
 * @on: node of each of them, -1 if unknown
 * @preferred: preferred node of each of them, -1 for none
 * @faults: sum of their total_numa_faults
 * @mb_on: memory per node in MB, estimated
 * @share: local share in the last samples, in percent
 */
struct proc {
	pid_t pid;
	int go;
	int report;
	void *mem;
	pid_t tid[MAX_THREADS];
	int on[MAX_THREADS];
	long preferred[MAX_THREADS];
	long faults;
	unsigned long mb_on[NUMA_MAX_NODES];
	double share;
};

/**
 * struct totals - what is counted for the whole machine
 * @ms: when
 * @idle: idle time of all CPUs in clock ticks
 * @hint_faults: since boot
 * @migrated: pages, since boot
 */
struct totals {
	unsigned long ms;
	unsigned long idle;
	long hint_faults;
	long migrated;
};

static struct options opt = {
	.procs = 4, .threads = 2, .mb = 48, .secs = 30,
	.want_share = 75, .want_busy = 95, .wrong = WRONG_ROTATE,
};

static struct numa_topo topo;
static cpu_set_t all_cpus;
static struct proc procs[MAX_PROCS];

static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "numa_demo: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

/* ---- a working process ---- */

static struct numa_buf work_buf;
static unsigned long work_stop;
static int work_nr;

/* Reads all memory of the process once; the first thread also counts in it. */
static void work_pass(size_t first, bool writes)
{
	size_t step = sysconf(_SC_PAGESIZE) / sizeof(unsigned long);
	size_t pages = work_buf.len / sysconf(_SC_PAGESIZE);
	unsigned long *page;
	size_t i, j;

	for (i = 0; i < pages; i++) {
		page = work_buf.mem + (first + i) % pages * step;
		for (j = 1; j < step; j += READ_STEP)
			numa_load(&page[j]);
		if (writes)
			numa_store(page, numa_load(page) + 1);
	}
	if (writes)
		work_buf.passes++;
}

/*
 * Node that a thread of a process starts on: where its memory is not, and the
 * threads of a process apart, as far as there are nodes for it.
 */
static const struct numa_node *thread_node(int proc, int thread)
{
	if (opt.wrong == WRONG_OFF)
		return &topo.node[proc % topo.nr];
	return &topo.node[(proc + 2 + thread % (topo.nr - 1)) % topo.nr];
}

static void *work(void *arg)
{
	size_t pages = work_buf.len / sysconf(_SC_PAGESIZE);
	unsigned long nr = (unsigned long)arg;
	size_t first = nr * pages / opt.threads + opt.seed * 1009;

	numa_pin(&thread_node(work_nr, nr)->cpus);
	sched_yield();
	numa_pin(&all_cpus);
	while (!numa_load(&work_stop))
		work_pass(first, nr == 0);
	return NULL;
}

/* Node that process @nr fills its memory from. */
static const struct numa_node *memory_node(int nr)
{
	switch (opt.wrong) {
	case WRONG_ROTATE:
		return &topo.node[(nr + 1) % topo.nr];
	case WRONG_FIRST:
		return &topo.node[0];
	default:
		return &topo.node[nr % topo.nr];
	}
}

static int run_proc(int nr, int go, int out)
{
	struct report report = { };
	pthread_t thread[MAX_THREADS];
	char byte;
	long i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	numa_sleep_ms(opt.seed * (nr + 1) * 7 % 100);
	if (numa_buf_map(&work_buf, opt.mb * NUMA_MB, MADV_NORMAL))
		return 2;
	numa_pin(&memory_node(nr)->cpus);
	numa_buf_fill(&work_buf);
	report.mem = work_buf.mem;
	work_nr = nr;
	if (write(out, &report, sizeof(report)) != sizeof(report))
		return 2;
	/* All begin together, when each memory is in place. */
	if (read(go, &byte, 1) != 1)
		return 2;
	for (i = 0; i < opt.threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 2;
	numa_pin(&all_cpus);
	while (read(go, &byte, 1) > 0)
		;
	numa_store(&work_stop, 1);
	for (i = 0; i < opt.threads; i++)
		pthread_join(thread[i], NULL);
	report.bad = numa_buf_check(&work_buf);
	report.passes = work_buf.passes;
	return write(out, &report, sizeof(report)) != sizeof(report);
}

/* ---- the watching process ---- */

static void start_proc(int nr)
{
	struct proc *p = &procs[nr];
	int go[2], out[2];
	int i;

	if (pipe(go) || pipe(out))
		die("pipe: %s", strerror(errno));
	fflush(NULL);
	p->pid = fork();
	if (p->pid < 0)
		die("fork: %s", strerror(errno));
	if (!p->pid) {
		/* A copy left open here would keep another process from its end. */
		for (i = 0; i < nr; i++)
			close(procs[i].go);
		close(go[1]);
		_exit(run_proc(nr, go[0], out[1]));
	}
	close(go[0]);
	close(out[1]);
	p->go = go[1];
	p->report = out[0];
}

static void read_report(struct proc *p, struct report *report)
{
	if (read(p->report, report, sizeof(*report)) != sizeof(*report))
		die("process %d ended early", p->pid);
}

static void find_threads(struct proc *p)
{
	struct dirent *entry;
	char path[64];
	int found = 0;
	pid_t tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	while (found < opt.threads) {
		numa_sleep_ms(10);
		found = 0;
		dir = opendir(path);
		if (!dir)
			die("process %d is gone", p->pid);
		while ((entry = readdir(dir)) && found < opt.threads) {
			tid = atoi(entry->d_name);
			if (tid > 0 && tid != p->pid)
				p->tid[found++] = tid;
		}
		closedir(dir);
	}
}

static void look_at_memory(struct proc *p, int sec, struct numa_placement *where)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t offset = sec * 7 % SAMPLE_PAGES * page;
	int nid;

	if (numa_placement(p->pid, (char *)p->mem + offset, opt.mb * NUMA_MB - offset,
			   SAMPLE_PAGES * page, where))
		die("move_pages: %s", strerror(errno));
	for (nid = 0; nid < NUMA_MAX_NODES; nid++)
		p->mb_on[nid] = (where->on[nid] * opt.mb * 2 + where->present) /
				(where->present ? where->present * 2 : 1);
}

/* Local share: of all pairs of page and thread, those on one node. */
static void look_at_proc(struct proc *p, int sec)
{
	unsigned long local = 0, pairs = 0;
	struct numa_placement where;
	long faults;
	int i;

	look_at_memory(p, sec, &where);
	p->faults = 0;
	for (i = 0; i < opt.threads; i++) {
		p->on[i] = numa_node_of_cpu(&topo, numa_thread_cpu(p->pid, p->tid[i]));
		p->preferred[i] = -1;
		numa_sched_value(p->pid, p->tid[i], "numa_preferred_nid", &p->preferred[i]);
		if (!numa_sched_value(p->pid, p->tid[i], "total_numa_faults", &faults))
			p->faults += faults;
		pairs += where.present + where.absent;
		local += p->on[i] < 0 ? 0 : where.on[p->on[i]];
	}
	p->share = pairs ? local * 100.0 / pairs : 0;
}

static void look_at_machine(struct totals *now)
{
	now->ms = numa_now_ms();
	numa_idle_ticks(&all_cpus, &now->idle);
	now->hint_faults = numa_vmstat("numa_hint_faults");
	now->migrated = numa_vmstat("numa_pages_migrated");
}

/* Busy time between two samples, of as many CPUs as there are threads. */
static double busy_percent(const struct totals *from, const struct totals *to)
{
	double cpus = CPU_COUNT(&all_cpus);
	double wanted = opt.procs * opt.threads;
	double all = (to->ms - from->ms) * cpus;
	double idle = (to->idle - from->idle) * 1000.0 / sysconf(_SC_CLK_TCK);
	double busy;

	if (wanted > cpus)
		wanted = cpus;
	busy = (all - idle) * 100 / ((to->ms - from->ms) * wanted);
	return busy > 100 ? 100 : busy < 0 ? 0 : busy;
}

static double mean(const double *values, int from, int to)
{
	double sum = 0;
	int i;

	for (i = from; i < to; i++)
		sum += values[i];
	return to > from ? sum / (to - from) : 0;
}

/* ---- what is printed ---- */

static void print_header(void)
{
	long mode = -1;
	int i;

	numa_knob_read(NUMA_KNOB_MODE, &mode);
	printf("%d processes x %d threads, %d MB each; ", opt.procs, opt.threads, opt.mb);
	printf("%d nodes, %d CPUs, numa_balancing=%ld\n", topo.nr, CPU_COUNT(&all_cpus), mode);
	printf("MB of memory on each node; nodes that the threads run on and prefer\n"
	       "(- none); hint faults on record; share of (page, thread) pairs on one node\n\n");
	printf(" sec proc |");
	for (i = 0; i < topo.nr; i++)
		printf(" node%-2d", topo.node[i].nid);
	printf(" | %-13s | %-13s | %7s | %s\n", "threads on", "prefer", "faults", "local");
}

/* Up to 13 columns of node numbers. */
static void print_nodes(const long *nid, int n)
{
	char text[14] = "";
	size_t used = 0;
	int i;

	for (i = 0; i < n && used < sizeof(text) - 3; i++)
		if (nid[i] < 0)
			used += snprintf(text + used, sizeof(text) - used, "- ");
		else
			used += snprintf(text + used, sizeof(text) - used, "%ld ", nid[i]);
	printf(" %-13s |", text);
}

static void print_proc(int sec, int nr)
{
	struct proc *p = &procs[nr];
	long on[MAX_THREADS];
	int i;

	if (nr)
		printf("     %4d |", nr);
	else
		printf("%4d %4d |", sec, nr);
	for (i = 0; i < topo.nr; i++)
		printf(" %6lu", p->mb_on[topo.node[i].nid]);
	printf(" |");
	for (i = 0; i < opt.threads; i++)
		on[i] = p->on[i];
	print_nodes(on, opt.threads);
	print_nodes(p->preferred, opt.threads);
	printf(" %7ld | %3.0f %%\n", p->faults, p->share);
}

static void print_second(int sec, double share, const struct totals *last,
			 const struct totals *now)
{
	int i;

	for (i = 0; i < opt.procs; i++)
		print_proc(sec, i);
	printf("      all | local %.0f %%, ", share);
	if (sec)
		printf("CPUs busy %.1f %%, %ld pages moved, %ld hint faults\n",
		       busy_percent(last, now), now->migrated - last->migrated,
		       now->hint_faults - last->hint_faults);
	else
		printf("as it begins\n");
	fflush(stdout);
}

static void csv_header(void)
{
	int i;

	if (!opt.csv)
		return;
	fprintf(opt.csv, "second,process");
	for (i = 0; i < topo.nr; i++)
		fprintf(opt.csv, ",mb_node%d", topo.node[i].nid);
	for (i = 0; i < opt.threads; i++)
		fprintf(opt.csv, ",thread%d_on,thread%d_prefers", i, i);
	fprintf(opt.csv, ",task_faults,local_percent,busy_percent,pages_migrated,hint_faults\n");
}

static void csv_second(int sec, const struct totals *last, const struct totals *now)
{
	struct proc *p;
	int i, j;

	if (!opt.csv)
		return;
	for (i = 0; i < opt.procs; i++) {
		p = &procs[i];
		fprintf(opt.csv, "%d,%d", sec, i);
		for (j = 0; j < topo.nr; j++)
			fprintf(opt.csv, ",%lu", p->mb_on[topo.node[j].nid]);
		for (j = 0; j < opt.threads; j++)
			fprintf(opt.csv, ",%d,%ld", p->on[j], p->preferred[j]);
		fprintf(opt.csv, ",%ld,%.2f,%.2f,%ld,%ld\n", p->faults, p->share,
			sec ? busy_percent(last, now) : 0, now->migrated - last->migrated,
			now->hint_faults - last->hint_faults);
	}
	fflush(opt.csv);
}

/* ---- the whole ---- */

static double sample(int sec, const struct totals *last, struct totals *now)
{
	double sum = 0;
	int i;

	look_at_machine(now);
	for (i = 0; i < opt.procs; i++) {
		look_at_proc(&procs[i], sec);
		sum += procs[i].share;
	}
	print_second(sec, sum / opt.procs, last, now);
	csv_second(sec, last, now);
	return sum / opt.procs;
}

static void start_all(void)
{
	struct report report;
	int i;

	for (i = 0; i < opt.procs; i++)
		start_proc(i);
	for (i = 0; i < opt.procs; i++) {
		read_report(&procs[i], &report);
		procs[i].mem = report.mem;
	}
	for (i = 0; i < opt.procs; i++)
		if (write(procs[i].go, "", 1) != 1)
			die("process %d ended early", procs[i].pid);
	for (i = 0; i < opt.procs; i++)
		find_threads(&procs[i]);
}

/* Ends all processes; returns the number of damaged words. */
static unsigned long stop_all(void)
{
	unsigned long bad = 0;
	struct report report;
	int i;

	for (i = 0; i < opt.procs; i++)
		close(procs[i].go);
	for (i = 0; i < opt.procs; i++) {
		read_report(&procs[i], &report);
		bad += report.bad;
		waitpid(procs[i].pid, NULL, 0);
	}
	return bad;
}

static int judge(double before, double after, double busy, const struct totals *first,
		 const struct totals *last, unsigned long bad)
{
	const char *comma = "";

	printf("\nlocal share %.0f %% -> %.0f %%, busy CPUs in the last %d s %.1f %%, ",
	       before, after, WINDOW, busy);
	printf("pages migrated %ld, hint faults %ld: ", last->migrated - first->migrated,
	       last->hint_faults - first->hint_faults);
	if (after >= opt.want_share && busy >= opt.want_busy && !bad) {
		printf("PASS\n");
		return 0;
	}
	printf("FAIL\nwhy: ");
	if (after < opt.want_share) {
		printf("local share of the last %d s is below %d %%", WINDOW, opt.want_share);
		comma = ", ";
	}
	if (busy < opt.want_busy) {
		printf("%sCPUs were idle: below %d %% busy", comma, opt.want_busy);
		comma = ", ";
	}
	if (bad)
		printf("%s%lu words of memory are wrong", comma, bad);
	printf("\n");
	return 1;
}

static int parse_number(const char *text, int min, int max)
{
	char *end;
	long val = strtol(text, &end, 10);

	if (end == text || *end || val < min || val > max)
		die("'%s' is not a number from %d to %d", text, min, max);
	return val;
}

static enum wrong_node parse_wrong_node(const char *text)
{
	if (!strcmp(text, "rotate"))
		return WRONG_ROTATE;
	if (!strcmp(text, "first"))
		return WRONG_FIRST;
	if (!strcmp(text, "off"))
		return WRONG_OFF;
	die("--wrong-node is rotate, first or off");
	return WRONG_OFF;
}

static FILE *csv_file(const char *name)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "we") : stdout;

	if (!f)
		die("%s: %s", name, strerror(errno));
	return f;
}

static void print_usage(void)
{
	printf("usage: numa_demo [OPTION]...\n"
	       "  --procs N          processes (4)\n"
	       "  --threads N        threads of each process (2)\n"
	       "  --mb N             memory of each process in MB, even (48)\n"
	       "  --secs N           seconds to watch (30)\n"
	       "  --want-share N     local share to be reached in percent (75)\n"
	       "  --want-busy N      busy CPUs to be reached in percent (95)\n"
	       "  --wrong-node HOW   rotate: memory of each process on another node, none of its\n"
	       "                     threads there (the default); first: all memory on the first\n"
	       "                     node; off: all in place from the beginning\n"
	       "  --seed N           other start offsets and delays (0)\n"
	       "  --csv FILE         write the samples to FILE, - for standard output\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "procs", required_argument, NULL, 'p' },
		{ "threads", required_argument, NULL, 't' },
		{ "mb", required_argument, NULL, 'm' },
		{ "secs", required_argument, NULL, 's' },
		{ "want-share", required_argument, NULL, 'w' },
		{ "want-busy", required_argument, NULL, 'b' },
		{ "wrong-node", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'r' },
		{ "csv", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case 'p':
			opt.procs = parse_number(optarg, 1, MAX_PROCS);
			break;
		case 't':
			opt.threads = parse_number(optarg, 1, MAX_THREADS);
			break;
		case 'm':
			opt.mb = parse_number(optarg, 2, 1 << 20) & ~1;
			break;
		case 's':
			opt.secs = parse_number(optarg, WINDOW + 1, 3600);
			break;
		case 'w':
			opt.want_share = parse_number(optarg, 0, 100);
			break;
		case 'b':
			opt.want_busy = parse_number(optarg, 0, 100);
			break;
		case 'n':
			opt.wrong = parse_wrong_node(optarg);
			break;
		case 'r':
			opt.seed = parse_number(optarg, 0, 1 << 20);
			break;
		case 'c':
			opt.csv = csv_file(optarg);
			break;
		case 'h':
			print_usage();
			exit(0);
		default:
			print_usage();
			exit(2);
		}
	if (optind < argc)
		die("'%s' is not an option", argv[optind]);
}

int main(int argc, char **argv)
{
	struct totals *totals;
	unsigned long bad;
	double *share;
	int sec;

	parse(argc, argv);
	if (numa_topo_read(&topo) || topo.nr < 2)
		die("needs two nodes with CPUs and memory");
	if (sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		die("sched_getaffinity: %s", strerror(errno));
	totals = calloc(opt.secs + 1, sizeof(*totals));
	share = calloc(opt.secs + 1, sizeof(*share));
	if (!totals || !share)
		die("no memory");

	print_header();
	csv_header();
	start_all();
	share[0] = sample(0, &totals[0], &totals[0]);
	for (sec = 1; sec <= opt.secs; sec++) {
		unsigned long due = totals[0].ms + sec * 1000UL;
		unsigned long now = numa_now_ms();

		if (now < due)
			numa_sleep_ms(due - now);
		share[sec] = sample(sec, &totals[sec - 1], &totals[sec]);
	}
	bad = stop_all();
	return judge(share[0], mean(share, opt.secs + 1 - WINDOW, opt.secs + 1),
		     busy_percent(&totals[opt.secs - WINDOW], &totals[opt.secs]),
		     &totals[0], &totals[opt.secs], bad);
}
