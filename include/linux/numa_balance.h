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
#include <linux/xarray.h>

struct folio;
struct numab_mm;
struct numab_node;
struct numab_task;
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
 * @moved: a task got another home: what regions remember of homes is stale
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
	bool			moved;
	nodemask_t		settled;
	unsigned int		lost;
};

/**
 * struct numab_wish - an exchange that a task or a group would like to make
 * @entry: in the ledger's list for @to; empty if there is no wish, or if it was
 *	granted
 * @nt: the task, or NULL
 * @nm: the group, or NULL
 * @to: the node where it would rather be
 * @from: the node where it would give up claims for that
 * @units: how much of them, see numab_policy.h
 * @granted: somebody has left @to for @from; read without lock
 *
 * Protected by the ledger's lock, see kernel/sched/numab_ledger.c.
 */
struct numab_wish {
	struct list_head	entry;
	struct numab_task	*nt;
	struct numab_mm		*nm;
	int			to;
	int			from;
	u32			units;
	bool			granted;
};

/**
 * struct numab_mm - NUMA balancing state of an address space
 * @ref: one reference for the mm, one for each member
 * @scan: state of the scanner
 * @lock: protects the members below; taken in task context only, inside
 *	mmap_lock, outside the claim ledger's lock
 * @members: struct numab_task of the threads that took hint faults
 * @nr_members: length of @members
 * @bond: how the members belong together, an enum numab_bond
 * @homes: nodes that are home to at least one member
 * @loose: @bond is a group, and only a common node holds it together
 * @together: all members form a group that is not loose, or have the same home;
 *	read without lock
 * @gid: number by which the group is known to users: the PID of the task that
 *	created it
 * @placed: when the group was placed last, in jiffies
 * @aged: when @shared, @private and @bond_samples were last halved, in jiffies
 * @rcu: for readers that got here through a task that then left
 * @moved: a member got another home since the last scan plan
 * @joined: a task became a member since the last scan plan
 * @learned: learning passes so far, up to a limit
 * @owed: a member got another home, and its memory was not looked at since
 * @shared: decayed weight of faults on memory another thread touched last
 * @private: decayed weight of faults on memory the same thread touched last
 * @bond_samples: decayed number of faults behind @shared and @private
 * @regions: who uses which part of the address space, see numab_region.c
 * @nr_regions: entries of @regions
 * @region_shift: size of a region in bits of the address
 * @wish: of the members, while they form a group
 * @nodes: scratch space for decisions, twice nr_node_ids of struct numab_node
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
	bool			loose;
	bool			together;
	pid_t			gid;
	unsigned long		placed;
	unsigned long		aged;
	bool			moved;
	bool			joined;
	bool			owed;
	unsigned int		learned;
	u64			shared;
	u64			private;
	unsigned int		bond_samples;

	/* Protected by the lock in @regions, but for @region_shift. */
	struct xarray		regions;
	unsigned int		nr_regions;
	unsigned int		region_shift;

	struct numab_wish	wish;
	struct numab_node	*nodes;
	struct rcu_head		rcu;
	u64			mem[];
};

/**
 * struct numab_hint - a hinting fault: what happened, and what came of it
 * @addr: address of the page
 * @folio: the folio; valid until the page table lock is dropped
 * @nid: the node it lies on; after a migration, the node it lies on then
 * @nr_pages: base pages of the folio
 * @weight: base pages that this fault stands for, given the density of the
 *	sample; 0 if the page is not in the sample
 * @last_cpupid: who took the hint fault before this one
 * @foreign: other address spaces map the folio as well
 * @target: node the folio should go to, or NUMA_NO_NODE
 * @verdict: why, an enum numab_verdict
 * @owner: whose the memory around is, an enum numab_owner
 * @home: where the memory of the task should be, or NUMA_NO_NODE
 * @block: the fault answers for the pages around as well
 * @moved_along: how many of these went to @home
 * @migrated: the folio went to @target
 * @failed: it should have, but did not
 */
struct numab_hint {
	unsigned long		addr;
	struct folio		*folio;
	int			nid;
	int			nr_pages;
	unsigned long		weight;
	int			last_cpupid;
	bool			foreign;
	int			target;
	unsigned int		verdict;
	unsigned int		owner;
	int			home;
	bool			block;
	unsigned int		moved_along;
	bool			migrated;
	bool			failed;
};

/**
 * enum numab_fate - what becomes of a page beside the one that faulted
 * @NUMAB_FATE_OPEN: its own fault will tell
 * @NUMAB_FATE_STAY: it lies where it should
 * @NUMAB_FATE_GO: it goes home too
 */
enum numab_fate {
	NUMAB_FATE_OPEN,
	NUMAB_FATE_STAY,
	NUMAB_FATE_GO,
};

#ifdef CONFIG_NUMAB

/*
 * So many pages, aligned, are moved by one fault at the most where it is known
 * whose they are, and only one of them is marked. It takes some 3,000
 * instructions to move a page, half of them to copy it, so that such a fault
 * costs 100,000, a tenth of what it costs to move a huge page, and what is spent
 * once for a fault, a migration and a TLB flush falls to a thirtieth.
 */
#define NUMAB_BLOCK_PAGES	32
#define NUMAB_BLOCK_SIZE	(NUMAB_BLOCK_PAGES * PAGE_SIZE)

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

/* kernel/sched/numab_region.c */
bool numab_region_owned(struct numab_mm *nm, unsigned long addr, int *home);

/* kernel/sched/numa_balance.c */
void numab_mm_init(struct mm_struct *mm);
void numab_mm_free(struct mm_struct *mm);
void numab_exit(struct task_struct *p);
bool numab_judge(struct numab_hint *hint);
enum numab_fate numab_judge_beside(const struct numab_hint *beside);
void numab_account(const struct numab_hint *hint);

/* mm/numa_scan.c */
void numab_scan_slice(struct mm_struct *mm);
bool numab_folio_eligible(struct vm_area_struct *vma, struct folio *folio);

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
