// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: life cycle, accounting, tunables
 *
 * Model
 * -----
 *
 * A task runs best on the node that holds its memory, and memory is best held
 * by the node its users run on. Neither is given, so both are settled in two
 * steps. First the task gets a home: a node, chosen by where the task's memory
 * is, who else uses it and where there is room for its work. Then, once, its
 * memory is brought there. While a task has no home nothing is copied for it.
 *
 * Threads that use the same memory share one decision: their address space is
 * placed on one node or on the fewest that hold it. Threads with memory of
 * their own are placed each for itself.
 *
 * Example: four processes of two threads on four nodes of two CPUs, all memory
 * on node 0. The faults show that the threads of each process share. The first
 * process to decide claims both CPUs of node 0, where its memory is. For the
 * others node 0 is full; the remaining nodes are equally far from their memory,
 * so each takes the one with room that most of its threads run on. Tasks change
 * places in pairs until all are at home, and three quarters of the memory
 * follow.
 *
 * Way of the data
 * ---------------
 *
 *	tick -> task work -> scanner marks pages		mm/numa_scan.c
 *	access -> hinting fault -> judge, migrate, account	mm/numa_hint.c
 *	end of a window -> histogram -> home			numab_group.c
 *	home -> move or swap					numab_move.c
 *	next pass <- plan: what for, how dense, how soon	numab_group.c
 *
 * What is decided where numbers are enough is in numab_policy.c. This file has
 * the ends: fork, exec, exit, the tick, the counters of run queues, what users
 * read and write.
 *
 * Locks
 * -----
 *
 * mmap_lock or VMA lock > page table lock > nothing of ours. numab_mm.lock is
 * taken in task context outside any page table lock; the ledger's lock inside
 * it. No lock of ours is held while a task is moved. The run-queue counters
 * change under the run queue's lock only, see numab_rq_count().
 */
#include <linux/cpuset.h>
#include <linux/jiffies.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/sched/numa_balancing.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/task_work.h>

#include "sched.h"
#include "numab.h"

#define CREATE_TRACE_POINTS
#include <trace/events/numab.h>

/* Time before an address space is scanned first, in ms. */
unsigned int sysctl_numa_balancing_scan_delay = 1000;

/* Shortest and longest time from pass to pass over an address space, in ms. */
unsigned int sysctl_numa_balancing_scan_period_min = 1000;
unsigned int sysctl_numa_balancing_scan_period_max = 60000;

/* MB of memory whose entries are looked at within one scan period. */
unsigned int sysctl_numa_balancing_scan_size = 256;

/* Read by debugfs in either balancer; promotion is not part of this one. */
unsigned int sysctl_numa_balancing_hot_threshold = MSEC_PER_SEC;

/* --- life cycle of a task --- */

static void numab_task_work(struct callback_head *work);

/**
 * init_numa_balancing - prepare the NUMA balancing state of a new task
 * @clone_flags: how it is made
 * @p: the task; a copy of current, which nobody else knows yet
 *
 * A new task has no preference, not even its parent's: fork balancing would
 * keep all threads of a busy parent on one node as long as their average load,
 * which they do not have yet, leaves room there.
 *
 * Context: fork, before the task has its own mm.
 */
void init_numa_balancing(unsigned long clone_flags, struct task_struct *p)
{
	p->numab = NULL;
	p->numa_faults = NULL;
	RCU_INIT_POINTER(p->numa_group, NULL);
	p->numa_migrate_retry = jiffies;
	p->numa_pages_migrated = 0;
	p->total_numa_faults = 0;

	init_task_work(&p->numa_work, numab_task_work);
	/* Pointing to itself means not queued. */
	p->numa_work.next = &p->numa_work;

	p->numa_preferred_nid = NUMA_NO_NODE;
}

static struct numab_task *numab_task_alloc(struct task_struct *p)
{
	struct numab_task *nt;
	size_t nr = 2 * nr_node_ids;

	nt = kzalloc(struct_size(nt, hist, 2 * nr), GFP_KERNEL_ACCOUNT);
	if (!nt)
		return NULL;

	nt->task = p;
	nt->fresh = nt->hist + nr;
	nt->home = NUMA_NO_NODE;
	nt->settled = jiffies;
	nt->claim_nid = NUMA_NO_NODE;
	INIT_LIST_HEAD(&nt->member);
	INIT_LIST_HEAD(&nt->claim);
	INIT_LIST_HEAD(&nt->wish.entry);
	nt->wish.nt = nt;
	/* Pairs with READ_ONCE() in the tick and in readers of /proc. */
	smp_store_release(&p->numab, nt);
	return nt;
}

/**
 * numab_task_get - get the state of the current task, ready for its mm
 * @p: the current task
 *
 * Allocates the state at the first call and makes the task a member of its
 * address space. Kernel threads that borrow one, and user workers of vhost and
 * the like, which hardly ever return to user mode, stay out.
 *
 * Context: task context, may sleep. mmap_lock or a VMA lock may be held.
 *
 * Return: the state, or NULL if there is no memory for it, or if the address
 * space was not scanned yet.
 */
struct numab_task *numab_task_get(struct task_struct *p)
{
	struct numab_task *nt = p->numab;
	struct mm_struct *mm = p->mm;

	if (!mm || !READ_ONCE(mm->numab) || numab_exempt(p))
		return NULL;
	if (!nt)
		nt = numab_task_alloc(p);
	if (nt && nt->nm != mm->numab)
		numab_join(nt, mm);
	return nt;
}

/**
 * numab_exit - the task gives up its address space
 * @p: the current task, exiting
 *
 * Gives back what it has claimed. The memory stays until the task is freed.
 *
 * Context: exit_mm(), after the last access to user memory.
 */
void numab_exit(struct task_struct *p)
{
	if (p->numab && p->numab->nm)
		numab_leave(p->numab);
}

/**
 * task_numa_free - forget what is known of a task
 * @p: the task
 * @final: true if nobody else can reach it any more; false on exec, when the
 *	task has got a new address space and others may be reading
 *
 * Context: exec: task context. Final: any, softirq included.
 */
void task_numa_free(struct task_struct *p, bool final)
{
	struct numab_task *nt = p->numab;

	if (final) {
		WARN_ON_ONCE(nt && nt->nm);
		p->numab = NULL;
		kfree(nt);
		return;
	}

	if (nt && nt->nm)
		numab_leave(nt);
	p->total_numa_faults = 0;
	if (p->numa_preferred_nid != NUMA_NO_NODE)
		sched_setnuma(p, NUMA_NO_NODE);
}

/* --- life cycle of an address space --- */

/**
 * numab_mm_init - prepare the NUMA balancing state of a new address space
 * @mm: the address space; on fork it still is a copy of the parent's
 *
 * Every address space waits its own delay before the first scan, also the child
 * of a parent that forks all the time.
 */
void numab_mm_init(struct mm_struct *mm)
{
	mm->numab = NULL;
	mm->numa_next_scan = jiffies +
		msecs_to_jiffies(READ_ONCE(sysctl_numa_balancing_scan_delay));
	mm->numa_scan_offset = 0;
	mm->numa_scan_seq = 0;
}

/**
 * numab_mm_free - free the NUMA balancing state of an address space
 * @mm: the address space, which nobody uses any more
 *
 * Context: any in which __mmdrop() may run; does not sleep.
 */
void numab_mm_free(struct mm_struct *mm)
{
	if (mm->numab)
		numab_mm_put(mm->numab);
}

/* --- the tick and what it starts --- */

/* Seconds are counted in windows, tries to get home in tenths of it. */
static bool numab_task_due(const struct numab_task *nt, const struct task_struct *p)
{
	int home = READ_ONCE(nt->home);

	if (home != NUMA_NO_NODE && home != task_node(p))
		return time_after_eq(jiffies, p->numa_migrate_retry);
	return time_after_eq(jiffies, nt->window_start + HZ);
}

/* Balancing needs two nodes that tasks can run on. */
static bool numab_useful(void)
{
	return num_node_state(N_CPU) > 1;
}

/**
 * numab_tick - see whether the running task has something to do
 * @rq: its run queue, locked
 * @curr: the task; on nohz_full CPUs not the current one
 */
void numab_tick(struct rq *rq, struct task_struct *curr)
{
	struct callback_head *work = &curr->numa_work;
	struct numab_task *nt = READ_ONCE(curr->numab);
	struct mm_struct *mm = curr->mm;

	lockdep_assert_rq_held(rq);

	if (!mm || (curr->flags & PF_EXITING) || numab_exempt(curr) || work->next != work)
		return;
	if (!numab_useful())
		return;

	if (nt)
		WRITE_ONCE(nt->claim_stamp, jiffies);
	if (time_after_eq(jiffies, READ_ONCE(mm->numa_next_scan)) ||
	    (nt && numab_task_due(nt, curr)))
		task_work_add(curr, work, TWA_RESUME);
}

static void numab_task_work(struct callback_head *work)
{
	struct task_struct *p = current;
	struct numab_task *nt;

	WARN_ON_ONCE(p != container_of(work, struct task_struct, numa_work));

	work->next = work;
	/* An exiting task must not touch p->mm, see exit_task_work(). */
	if ((p->flags & PF_EXITING) || !p->mm ||
	    !static_branch_likely(&sched_numa_balancing))
		return;

	numab_scan_slice(p->mm);

	nt = numab_task_get(p);
	if (!nt || !nt->nm)
		return;
	numab_end_window(nt);
	numab_go_home(nt);
}

/* --- hinting faults --- */

/* Memory can follow to a home only if that has memory the task may use. */
static int numab_memory_home(const struct numab_task *nt)
{
	int home = READ_ONCE(nt->home);

	if (home == NUMA_NO_NODE || !node_state(home, N_MEMORY) ||
	    !node_isset(home, cpuset_current_mems_allowed))
		return NUMA_NO_NODE;
	return home;
}

static void numab_describe(const struct numab_hint *hint, struct numab_page *page)
{
	const struct numab_task *nt = current->numab;
	const struct numab_mm *nm = READ_ONCE(current->mm->numab);
	int last = hint->last_cpupid;

	page->nid = hint->nid;
	page->home = NUMA_NO_NODE;
	page->foreign = hint->foreign;
	page->seen = !cpupid_pid_unset(last);
	page->same_task = page->seen && cpupid_match_pid(current, last);
	page->last_nid = page->seen ? cpupid_to_nid(last) : NUMA_NO_NODE;
	if (!nt || !nm || nt->nm != nm)
		return;

	page->home = numab_memory_home(nt);
	page->owner = hint->owner;
	page->together = READ_ONCE(nm->together);
	page->apart = READ_ONCE(nm->bond) == NUMAB_BOND_SINGLE;
	page->at_group_home = page->together && node_isset(hint->nid, nm->homes);
}

/**
 * numab_judge - should this page move to the home of the current task?
 * @hint: the fault; @verdict, @owner, @home and @block are filled in
 *
 * Context: a hinting fault on current's own memory, page table lock held.
 *
 * Return: true if it should.
 */
bool numab_judge(struct numab_hint *hint)
{
	struct numab_mm *nm = READ_ONCE(current->mm->numab);
	struct numab_page page = { };

	if (!static_branch_likely(&sched_numa_balancing))
		return false;

	if (nm)
		hint->owner = numab_region_of_current(nm, hint->addr);
	numab_describe(hint, &page);
	hint->verdict = numab_page_verdict(&page);
	hint->home = page.home;
	hint->block = numab_page_block(&page, hint->verdict);
	return hint->verdict == NUMAB_PAGE_MOVE;
}

/**
 * numab_judge_beside - what is to become of a page beside one that was judged?
 * @beside: the page, with @owner as it is for the one that was judged
 *
 * Context: as numab_judge(), which has let the fault answer for a block.
 *
 * Return: its fate.
 */
enum numab_fate numab_judge_beside(const struct numab_hint *beside)
{
	struct numab_page page = { };

	numab_describe(beside, &page);
	switch (numab_page_verdict(&page)) {
	case NUMAB_PAGE_MOVE:
		return NUMAB_FATE_GO;
	case NUMAB_PAGE_HOME:
	case NUMAB_PAGE_SHARED:
		return NUMAB_FATE_STAY;
	default:
		return NUMAB_FATE_OPEN;
	}
}

/**
 * should_numa_migrate_memory - may a page go to the node it is used from?
 * @p: the task that uses it, current
 * @folio: the folio
 * @src_nid: where it is
 * @dst_cpu: the CPU it is used from
 *
 * Called by mpol_misplaced() for policies that follow the CPU. The page has
 * been judged before; what is left is that the task must be at home, since
 * memory does not follow a task that is only passing through.
 *
 * Return: true if it may.
 */
bool should_numa_migrate_memory(struct task_struct *p, struct folio *folio,
				int src_nid, int dst_cpu)
{
	return p->numab && READ_ONCE(p->numab->home) == cpu_to_node(dst_cpu);
}

/* What the last user tells about sharing, unless it was in another process. */
static void numab_note_sharing(struct numab_task *nt, const struct numab_hint *hint,
			       bool same_task)
{
	if (cpupid_pid_unset(hint->last_cpupid) || hint->foreign || !hint->weight)
		return;

	nt->bond_samples++;
	if (same_task)
		nt->private += hint->weight;
	else
		nt->shared += hint->weight;
}

/* Was the page where it should be? Undecided cases count for neither side. */
static void numab_note_placement(struct numab_task *nt, const struct numab_hint *hint)
{
	u64 failed = hint->failed ? hint->nr_pages : 0;
	u64 repaired = hint->migrated ? hint->weight : 0;

	switch (hint->verdict) {
	case NUMAB_PAGE_HOME:
	case NUMAB_PAGE_SHARED:
		WRITE_ONCE(nt->well_placed, nt->well_placed + hint->weight);
		break;
	case NUMAB_PAGE_FIRST:
		if (!hint->foreign)
			WRITE_ONCE(nt->misplaced, nt->misplaced + hint->weight);
		break;
	case NUMAB_PAGE_MOVE:
		/* The memory policy is against it, or the task is not at home yet. */
		if (hint->target == NUMA_NO_NODE && hint->home == numa_node_id())
			break;
		WRITE_ONCE(nt->misplaced, nt->misplaced + hint->weight);
		WRITE_ONCE(nt->repaired, nt->repaired + repaired);
		WRITE_ONCE(nt->failed, nt->failed + failed);
		break;
	}
}

/**
 * numab_account - account a hinting fault
 * @hint: what happened, complete
 *
 * Context: a hinting fault on current's own memory, no page table lock held;
 * may sleep.
 */
void numab_account(const struct numab_hint *hint)
{
	struct task_struct *p = current;
	bool seen = !cpupid_pid_unset(hint->last_cpupid);
	bool same_task = !seen || cpupid_match_pid(p, hint->last_cpupid);
	struct numab_task *nt;

	if (!static_branch_likely(&sched_numa_balancing))
		return;

	nt = numab_task_get(p);
	if (!nt || !nt->nm)
		return;

	nt->samples += !!hint->weight;
	nt->fresh[2 * hint->nid + same_task] += hint->weight;
	numab_note_sharing(nt, hint, same_task);
	numab_note_placement(nt, hint);
	if (hint->weight && !hint->foreign)
		numab_region_used(nt->nm, hint->addr, numab_memory_home(nt));
	if (hint->migrated)
		p->numa_pages_migrated += hint->nr_pages;
	p->numa_pages_migrated += hint->moved_along;
	trace_numab_hint(hint, nt->home);
}

/* --- what users see --- */

/**
 * task_numa_group_id - number of the group a task belongs to
 * @p: the task
 *
 * Return: the PID of the task that opened the group, 0 if @p is in none.
 */
pid_t task_numa_group_id(struct task_struct *p)
{
	struct numab_task *nt = READ_ONCE(p->numab);
	struct numab_mm *nm;
	pid_t gid = 0;

	rcu_read_lock();
	nm = nt ? READ_ONCE(nt->nm) : NULL;
	if (nm && READ_ONCE(nm->bond) == NUMAB_BOND_GROUP)
		gid = nm->gid;
	rcu_read_unlock();
	return gid;
}

#ifdef CONFIG_SCHED_DEBUG
/**
 * show_numa_stats - print the fault histograms of a task and of its group
 * @p: the task
 * @m: where to print
 */
void show_numa_stats(struct task_struct *p, struct seq_file *m)
{
	struct numab_task *nt = READ_ONCE(p->numab);
	struct numab_mm *nm;
	int n;

	rcu_read_lock();
	nm = nt ? READ_ONCE(nt->nm) : NULL;
	for_each_online_node(n) {
		print_numa_stats(m, n, nt ? READ_ONCE(nt->hist[2 * n]) : 0,
				 nt ? READ_ONCE(nt->hist[2 * n + 1]) : 0,
				 nm ? READ_ONCE(nm->mem[2 * n]) : 0,
				 nm ? READ_ONCE(nm->mem[2 * n + 1]) : 0);
	}
	rcu_read_unlock();
}
#endif /* CONFIG_SCHED_DEBUG */

#ifdef CONFIG_SYSCTL
/* An hour: longer than that is off, and milliseconds stay within 32 bits. */
static unsigned int numab_ms_limit = 60 * 60 * MSEC_PER_SEC;
/* Ten passes a second; more would be all that a task does. */
static unsigned int numab_period_limit = 100;
/* 64 GB in one period is every page of a large machine in a minute. */
static unsigned int numab_size_limit = 65536;

static struct ctl_table numab_sysctls[] = {
	{
		.procname	= "numa_balancing_scan_delay_ms",
		.data		= &sysctl_numa_balancing_scan_delay,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &numab_ms_limit,
	},
	{
		.procname	= "numa_balancing_scan_period_min_ms",
		.data		= &sysctl_numa_balancing_scan_period_min,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &numab_period_limit,
		.extra2		= &sysctl_numa_balancing_scan_period_max,
	},
	{
		.procname	= "numa_balancing_scan_period_max_ms",
		.data		= &sysctl_numa_balancing_scan_period_max,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &sysctl_numa_balancing_scan_period_min,
		.extra2		= &numab_ms_limit,
	},
	{
		.procname	= "numa_balancing_scan_size_mb",
		.data		= &sysctl_numa_balancing_scan_size,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= &numab_size_limit,
	},
};
#endif /* CONFIG_SYSCTL */

static int __init numab_setup(void)
{
	numab_ledger_init();
#ifdef CONFIG_SYSCTL
	register_sysctl_init("kernel", numab_sysctls);
#endif
	return 0;
}
late_initcall(numab_setup);
