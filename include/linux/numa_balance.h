/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Automatic NUMA balancing: what mm, fork, exec and exit share with it.
 *
 * The hooks of the scheduler need its private types and are declared in
 * kernel/sched/numab.h. For the way of the data see
 * Documentation/scheduler/numa-balancing-design.rst.
 */
#ifndef _LINUX_NUMA_BALANCE_H
#define _LINUX_NUMA_BALANCE_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/nodemask.h>
#include <linux/numa.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct folio;
struct numab_node;
struct task_struct;

/**
 * struct numab_scan - the scanner's place in an address space
 * @busy: bit 0 is set while a task works on a slice
 * @pass_start: when the current pass began, in jiffies
 * @refill: when @credit is filled up again, in jiffies
 * @credit: entries that may be looked at before @refill; a huge page that is
 *	marked counts as the pages it has
 * @period_ms: from the start of one pass to the start of the next
 * @stride: the sample takes one base page of so many
 * @huge_stride: the sample takes one huge page of so many
 * @phase: which one of @stride or @huge_stride it takes in this pass
 * @intent: what the pass is for, an enum numab_intent
 * @full: mark what is not on a node of @settled, sample or not
 * @settled: nodes whose pages need not be marked beyond the sample
 * @lost: slices in a row that did not get mmap_lock
 *
 * Written only by the task that holds bit 0 of @busy. @stride, @huge_stride and
 * @phase are read by hint faults meanwhile.
 */
struct numab_scan {
	unsigned long		busy;
	unsigned long		pass_start;
	unsigned long		refill;
	unsigned long		credit;
	unsigned int		period_ms;
	unsigned int		stride;
	unsigned int		huge_stride;
	unsigned int		phase;
	unsigned int		intent;
	bool			full;
	nodemask_t		settled;
	unsigned int		lost;
};

/**
 * struct numab_mm - NUMA balancing state of an address space
 * @ref: one reference for the mm, one for each member
 * @scan: state of the scanner
 * @lock: protects all members below; taken in task context only, inside
 *	mmap_lock, outside the claim ledger's lock
 * @members: struct numab_task of the threads that took hint faults
 * @nr_members: length of @members
 * @bond: how the members belong together, an enum numab_bond
 * @homes: nodes that are home to at least one member
 * @together: all members form a group or have the same home; read without lock
 * @gid: number by which the group is known to users: the PID of the task that
 *	created it
 * @placed: when the group was placed last, in jiffies
 * @aged: when @shared, @private and @bond_samples were last halved, in jiffies
 * @rcu: for readers that got here through a task that then left
 * @moved: a member got another home since the last scan plan
 * @joined: a task became a member since the last scan plan
 * @shared: decayed weight of faults on memory another thread touched last
 * @private: decayed weight of faults on memory the same thread touched last
 * @bond_samples: decayed number of faults behind @shared and @private
 * @nodes: scratch space for decisions, nr_node_ids of struct numab_node
 * @mem: sum of the members' histograms, two counters (shared, private) for each
 *	of nr_node_ids nodes
 */
struct numab_mm {
	refcount_t		ref;
	struct numab_scan	scan;

	/* Protects what follows, up to @nodes. */
	spinlock_t		lock;
	struct list_head	members;
	unsigned int		nr_members;
	unsigned int		bond;
	nodemask_t		homes;
	bool			together;
	pid_t			gid;
	unsigned long		placed;
	unsigned long		aged;
	bool			moved;
	bool			joined;
	u64			shared;
	u64			private;
	unsigned int		bond_samples;
	struct numab_node	*nodes;
	struct rcu_head		rcu;
	u64			mem[];
};

/**
 * struct numab_hint - a hinting fault: what happened, and what came of it
 * @folio: the folio; valid until the page table lock is dropped
 * @nid: the node it lies on; after a migration, the node it lies on then
 * @nr_pages: base pages of the folio
 * @weight: base pages that this fault stands for, given the density of the
 *	sample; 0 if the page is not in the sample
 * @last_cpupid: who took the hint fault before this one
 * @foreign: other address spaces map the folio as well
 * @target: node the folio should go to, or NUMA_NO_NODE
 * @verdict: why, an enum numab_verdict
 * @migrated: the folio went to @target
 * @failed: it should have, but did not
 */
struct numab_hint {
	struct folio		*folio;
	int			nid;
	int			nr_pages;
	unsigned long		weight;
	int			last_cpupid;
	bool			foreign;
	int			target;
	unsigned int		verdict;
	bool			migrated;
	bool			failed;
};

#ifdef CONFIG_NUMAB

extern unsigned int sysctl_numa_balancing_scan_delay;
extern unsigned int sysctl_numa_balancing_scan_period_min;
extern unsigned int sysctl_numa_balancing_scan_period_max;
extern unsigned int sysctl_numa_balancing_scan_size;

/**
 * numab_next_in_sample - find the next page that is part of the sample
 * @unit: a page's address in units of its size
 * @stride: the sample takes one page of so many
 * @phase: which one
 *
 * The scanner and the fault must agree on what the sample is, since a fault
 * weighs as much as the pages that it stands for, and one that was only marked
 * to be moved stands for nobody else.
 *
 * Return: the first page from @unit on, itself included, in the same units.
 */
static inline unsigned long numab_next_in_sample(unsigned long unit,
						 unsigned int stride,
						 unsigned int phase)
{
	unsigned int into = unit % stride, want = phase % stride;

	return unit + (want < into ? want + stride : want) - into;
}

/**
 * numab_exempt - does a task stay out of NUMA balancing?
 * @p: the task
 *
 * Kernel threads use memory of others for a while, and user workers (of vhost
 * and the like) hardly ever return to user mode, where the work is done.
 *
 * Return: true if it does.
 */
static inline bool numab_exempt(const struct task_struct *p)
{
	return p->flags & (PF_KTHREAD | PF_USER_WORKER);
}

/* kernel/sched/numab_group.c */
struct numab_mm *numab_mm_get(struct mm_struct *mm);
void numab_mm_put(struct numab_mm *nm);
void numab_plan_pass(struct mm_struct *mm);

/* kernel/sched/numa_balance.c */
void numab_mm_init(struct mm_struct *mm);
void numab_mm_free(struct mm_struct *mm);
void numab_exit(struct task_struct *p);
bool numab_judge(struct numab_hint *hint);
void numab_account(const struct numab_hint *hint);

/* mm/numa_scan.c */
void numab_scan_slice(struct mm_struct *mm);

/* mm/numa_hint.c */
vm_fault_t numab_hint_pte(struct vm_fault *vmf);
vm_fault_t numab_hint_pmd(struct vm_fault *vmf);

#else /* !CONFIG_NUMAB */

static inline void numab_mm_init(struct mm_struct *mm) { }
static inline void numab_mm_free(struct mm_struct *mm) { }
static inline void numab_exit(struct task_struct *p) { }

static inline vm_fault_t numab_hint_pte(struct vm_fault *vmf)
{
	return 0;
}

static inline vm_fault_t numab_hint_pmd(struct vm_fault *vmf)
{
	return 0;
}

#endif /* CONFIG_NUMAB */

#endif /* _LINUX_NUMA_BALANCE_H */
