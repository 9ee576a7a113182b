/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Automatic NUMA balancing: the scheduler's side, private to kernel/sched.
 *
 * The first part is what fair.c and core.c call, under the names that they use
 * for the base balancer, so that the callers need no change. The second part is
 * shared among numa_balance.c, numab_group.c and numab_move.c.
 */
#ifndef _KERNEL_SCHED_NUMAB_H
#define _KERNEL_SCHED_NUMAB_H

#ifdef CONFIG_NUMAB

#include <linux/numa_balance.h>
#include <linux/sched/clock.h>

#include "numab_policy.h"

/**
 * struct numab_task - NUMA balancing state of a task
 * @task: the task
 * @nm: the address space it is a member of, with a reference
 * @member: in @nm->members, protected by @nm->lock
 * @home: the node the task belongs to, or NUMA_NO_NODE; written under
 *	@nm->lock by whoever places the group, read anywhere
 * @settled: when the task was placed on its own last, in jiffies
 * @undecided: windows in a row that ended without a decision
 * @tries: tries to get home of late, up to a limit
 * @demand: units the task wants to run, as of the last window
 * @claim: in the list of claims on @claim_nid, protected by the ledger's lock
 * @claim_nid: the node that @claim_units are claimed on, or NUMA_NO_NODE
 * @claim_units: size of the claim
 * @claim_stamp: when the holder last ran, in jiffies
 * @wish: of a task that is placed on its own
 * @window_start: when the current window began, in jiffies
 * @window_pass: number of complete scanner passes at that time
 * @samples: hint faults in the window
 * @shared: weight of faults in the window on memory another thread used last
 * @private: the same for memory this thread used last
 * @bond_samples: number of faults behind these two
 * @well_placed: weight of all faults ever on pages that lay where they should
 * @misplaced: weight of all faults ever on pages that did not
 * @repaired: the part of @misplaced that was migrated
 * @failed: pages that could not be migrated
 * @planned_well_placed: @well_placed when the scanner last planned a pass
 * @planned_misplaced: @misplaced at that time
 * @planned_repaired: @repaired at that time
 * @planned_failed: @failed at that time
 * @total: sum of @hist
 * @hist: fault histogram, two counters (shared, private) for each node, folded
 *	at the end of a window: half of the old plus the new ones
 * @fresh: the same for the current window; behind @hist in memory
 *
 * Only the task itself writes, but for the members that say otherwise.
 * Allocated at the task's first scan or fault and freed with the task, since
 * /proc and the load balancer look at it from outside.
 */
struct numab_task {
	struct task_struct	*task;
	struct numab_mm		*nm;
	struct list_head	member;
	int			home;
	unsigned long		settled;
	unsigned int		undecided;
	unsigned int		tries;
	u32			demand;

	struct list_head	claim;
	int			claim_nid;
	u32			claim_units;
	unsigned long		claim_stamp;
	struct numab_wish	wish;

	unsigned long		window_start;
	int			window_pass;
	unsigned int		samples;
	u64			shared;
	u64			private;
	unsigned int		bond_samples;

	u64			well_placed;
	u64			misplaced;
	u64			repaired;
	u64			failed;
	u64			planned_well_placed;
	u64			planned_misplaced;
	u64			planned_repaired;
	u64			planned_failed;

	u64			total;
	u64			*fresh;
	u64			hist[];
};

/* --- called by fair.c and core.c --- */

void numab_tick(struct rq *rq, struct task_struct *curr);

static inline void task_tick_numa(struct rq *rq, struct task_struct *curr)
{
	numab_tick(rq, curr);
}

/*
 * A task counts as NUMA task while it has a home, and as preferred while it
 * runs there. numa_preferred_nid changes only in sched_setnuma(), which takes
 * the task off the queue for it, so that what is added here is taken off again.
 */
static inline void numab_rq_count(struct rq *rq, struct task_struct *p, int sign)
{
	int home = READ_ONCE(p->numa_preferred_nid);

	lockdep_assert_rq_held(rq);
	if (home == NUMA_NO_NODE)
		return;
	rq->nr_numa_running += sign;
	if (home == task_node(p))
		rq->nr_preferred_running += sign;
}

static inline void account_numa_enqueue(struct rq *rq, struct task_struct *p)
{
	numab_rq_count(rq, p, 1);
}

static inline void account_numa_dequeue(struct rq *rq, struct task_struct *p)
{
	numab_rq_count(rq, p, -1);
}

/* The scan period follows what the faults say; where the task runs does not matter. */
static inline void update_scan_period(struct task_struct *p, int new_cpu)
{
}

/* For how long has a CPU been idle, as its last attempt to find work tells? */
static inline unsigned int numab_idle_us(int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	u64 since = READ_ONCE(rq->nr_running) ? 0 : READ_ONCE(rq->idle_stamp);
	s64 idle = since ? (s64)(sched_clock_cpu(cpu) - since) : 0;

	return clamp_t(s64, div_s64(idle, NSEC_PER_USEC), 0, UINT_MAX);
}

/**
 * numab_pull - what does locality say to a move by the load balancer?
 * @p: the task
 * @src_cpu: the CPU it would leave
 * @dst_cpu: the CPU it would go to
 *
 * Context: the rq lock of @src_cpu is held.
 *
 * Return: 1 if the move takes @p from its home without need, 0 if it brings it
 * home, -1 if locality has nothing to say.
 */
static inline int numab_pull(struct task_struct *p, int src_cpu, int dst_cpu)
{
	struct numab_pull pull = {
		.src_nid	= cpu_to_node(src_cpu),
		.dst_nid	= cpu_to_node(dst_cpu),
		.home		= READ_ONCE(p->numa_preferred_nid),
		.queued		= cpu_rq(src_cpu)->nr_running,
		.idle_us	= numab_idle_us(dst_cpu),
	};

	if (!static_branch_likely(&sched_numa_balancing))
		return -1;
	return numab_pull_verdict(&pull);
}

/**
 * numab_keeps - must active balance leave a running task where it is?
 * @p: the task
 * @src_cpu: the CPU it runs on
 * @dst_cpu: the CPU it would go to
 *
 * Active balance stops a task that runs, to spread load. Where that task is
 * alone on its CPU and at home nothing waits for the CPU it has, so there is no
 * work to be gained, only locality to be lost.
 *
 * Context: the rq lock of @src_cpu is held.
 *
 * Return: true to refuse the move.
 */
static inline bool numab_keeps(struct task_struct *p, int src_cpu, int dst_cpu)
{
	/* The task itself, and the stopper that would move it. */
	return cpu_rq(src_cpu)->nr_running <= 2 &&
	       READ_ONCE(p->numa_preferred_nid) == cpu_to_node(src_cpu) &&
	       cpu_to_node(src_cpu) != cpu_to_node(dst_cpu) &&
	       static_branch_likely(&sched_numa_balancing);
}

/* --- numa_balance.c --- */

struct numab_task *numab_task_get(struct task_struct *p);

/* --- numab_region.c --- */

void numab_regions_init(struct numab_mm *nm);
void numab_regions_free(struct numab_mm *nm);
void numab_regions_fit(struct numab_mm *nm, unsigned long resident);
void numab_region_used(struct numab_mm *nm, unsigned long addr, int home);
enum numab_owner numab_region_of_current(struct numab_mm *nm, unsigned long addr);

/* --- numab_ledger.c --- */

/* A claim outlives two windows without run time, not more. */
#define NUMAB_LEASE		(2 * HZ)

/**
 * numab_ran_within - has a tick met a task of late?
 * @nt: the task's state
 * @time: how late, in jiffies
 *
 * Return: true if one has.
 */
static inline bool numab_ran_within(const struct numab_task *nt, unsigned long time)
{
	return time_before(jiffies, READ_ONCE(nt->claim_stamp) + time);
}

/* Wishes that one decision may look at. */
#define NUMAB_WISHES_MAX	8

void numab_ledger_init(void);
bool numab_ledger_ready(void);
void numab_ledger_lock(void);
void numab_ledger_unlock(void);
void numab_claim_drop(struct numab_task *nt);
void numab_claim_set(struct numab_task *nt, int nid, u32 units);
u32 numab_widest_node(void);
void numab_survey(struct numab_node *nodes, u64 demand);
void numab_wish_drop(struct numab_wish *wish);
void numab_wish_set(struct numab_wish *wish, int to, int from, u32 units);
struct numab_wish *numab_next_wish(struct numab_wish *wish, int to, u32 units,
				   unsigned int *budget);
void numab_wish_grant(struct numab_wish *wish);

/* --- numab_group.c --- */

void numab_join(struct numab_task *nt, struct mm_struct *mm);
void numab_leave(struct numab_task *nt);
void numab_end_window(struct numab_task *nt);

/* --- numab_move.c --- */

void numab_go_home(struct numab_task *nt);

#else /* !CONFIG_NUMAB */

struct task_struct;

static inline bool numab_keeps(struct task_struct *p, int src_cpu, int dst_cpu)
{
	return false;
}

#endif /* CONFIG_NUMAB */

#endif /* _KERNEL_SCHED_NUMAB_H */
