// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: address spaces as groups, and where they live
 *
 * Members
 * -------
 *
 * The threads of an address space that were seen by the scanner or took hint
 * faults are its members. Their histograms add up to that of the address space.
 * Whether they are placed together is told by what they touch: a page's last
 * user is remembered with the page, and each fault says whether that was the
 * same thread or another one. The weights of both, over all of the memory and
 * over time, make the bond (numab_bond()).
 *
 * Homes
 * -----
 *
 * A home is of use only if there is a CPU for the task, so homes are given out
 * against the ledger of claims (numab_ledger.c). Who decides sees all claims of
 * others and reserves its own in the same critical section.
 *
 * Locks: numab_mm.lock, then the ledger's lock. Both are taken in task context
 * only.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "sched.h"
#include "numab.h"

#include <trace/events/numab.h>

/*
 * A task that no tick has met for so long is asleep for its group. Ticks meet a
 * task in proportion to its run time: one that runs a twentieth of the time is
 * met three times in this span on average, at the lowest tick rate of 250 Hz.
 */
#define NUMAB_ASLEEP		(HZ / 4)

/* A decision stands for three windows unless its grounds are gone. */
#define NUMAB_SETTLED		(3 * HZ)

/* Windows without a decision after which "here" is home. */
#define NUMAB_UNDECIDED_MAX	3

/* Learning passes that may be spent on finding out who shares: two windows. */
#define NUMAB_LEARN_MAX		8

static int numab_node_distance(int from, int to)
{
	return node_distance(from, to);
}

static struct numab_topology numab_topology(void)
{
	return (struct numab_topology){
		.nr		= nr_node_ids,
		.distance	= numab_node_distance,
	};
}

/* --- members --- */

static bool numab_ran_lately(const struct numab_task *nt)
{
	return numab_ran_within(nt, NUMAB_LEASE);
}

/* Running, waiting for a CPU, or met by a tick of late. */
static bool numab_awake(const struct numab_task *nt)
{
	struct task_struct *p = nt->task;

	if (READ_ONCE(p->on_rq) == TASK_ON_RQ_QUEUED && !READ_ONCE(p->se.sched_delayed))
		return true;
	return numab_ran_within(nt, NUMAB_ASLEEP);
}

/* The average of a task that sleeps stays what it was when it fell asleep. */
static u32 numab_task_demand(const struct numab_task *nt)
{
	if (!numab_awake(nt))
		return 0;
	return numab_demand(READ_ONCE(nt->task->se.avg.runnable_avg));
}

/**
 * numab_mm_get - get the NUMA balancing state of an address space
 * @mm: the address space, current's
 *
 * Context: task context, may sleep.
 *
 * Return: the state, allocated at the first call, or NULL without memory. It
 * lives as long as @mm does; no reference is taken.
 */
struct numab_mm *numab_mm_get(struct mm_struct *mm)
{
	struct numab_mm *nm = READ_ONCE(mm->numab);

	if (nm || !numab_ledger_ready())
		return nm;

	nm = kzalloc(struct_size(nm, mem, 2 * nr_node_ids), GFP_KERNEL_ACCOUNT);
	if (!nm)
		return NULL;
	nm->nodes = kcalloc(2 * nr_node_ids, sizeof(*nm->nodes), GFP_KERNEL_ACCOUNT);
	if (!nm->nodes) {
		kfree(nm);
		return NULL;
	}
	refcount_set(&nm->ref, 1);
	spin_lock_init(&nm->lock);
	INIT_LIST_HEAD(&nm->members);
	INIT_LIST_HEAD(&nm->wish.entry);
	nm->wish.nm = nm;
	numab_regions_init(nm);
	nm->gid = current->pid;
	nm->aged = jiffies;
	nm->scan.refill = jiffies;
	nm->scan.stride = 1;
	nm->scan.huge_stride = 1;

	if (cmpxchg(&mm->numab, NULL, nm)) {
		numab_mm_put(nm);
		nm = READ_ONCE(mm->numab);
	}
	return nm;
}

static void numab_mm_free_rcu(struct rcu_head *rcu)
{
	struct numab_mm *nm = container_of(rcu, struct numab_mm, rcu);

	numab_regions_free(nm);
	kfree(nm->nodes);
	kfree(nm);
}

/**
 * numab_mm_put - drop a reference to the state of an address space
 * @nm: the state
 *
 * Context: any; does not sleep.
 */
void numab_mm_put(struct numab_mm *nm)
{
	if (refcount_dec_and_test(&nm->ref))
		call_rcu(&nm->rcu, numab_mm_free_rcu);
}

/*
 * What follows from the homes of the members. One that sleeps does not count: a
 * main thread that waits for its workers must not keep their memory back.
 */
static void numab_update_homes(struct numab_mm *nm)
{
	nodemask_t homes = NODE_MASK_NONE;
	struct numab_task *nt;
	bool together;

	lockdep_assert_held(&nm->lock);

	list_for_each_entry(nt, &nm->members, member) {
		if (READ_ONCE(nt->claim_nid) != NUMA_NO_NODE && numab_ran_lately(nt))
			node_set(nt->home, homes);
	}
	/* Faults test single bits without the lock: no bit may vanish meanwhile. */
	nm->homes = homes;
	together = nodes_weight(homes) == 1 ||
		   (nm->bond == NUMAB_BOND_GROUP && !nm->loose);
	WRITE_ONCE(nm->together, together);
}

static void numab_start_window(struct numab_task *nt, struct mm_struct *mm)
{
	nt->window_start = jiffies;
	nt->window_pass = READ_ONCE(mm->numa_scan_seq);
	nt->samples = 0;
}

static void numab_forget(struct numab_task *nt)
{
	size_t size = 2 * nr_node_ids * sizeof(*nt->hist);

	memset(nt->hist, 0, size);
	memset(nt->fresh, 0, size);
	nt->total = 0;
	nt->undecided = 0;
	nt->shared = 0;
	nt->private = 0;
	nt->bond_samples = 0;
	nt->planned_well_placed = nt->well_placed;
	nt->planned_misplaced = nt->misplaced;
	nt->planned_repaired = nt->repaired;
	nt->planned_failed = nt->failed;
}

/*
 * Learn about a new member soon, whatever the others are at: a pass that rests
 * for seconds is followed by the next one after a quarter of a second. The one
 * that is under way goes on, or threads that come and go would keep the scanner
 * at the low addresses for ever.
 */
static void numab_hasten(struct numab_mm *nm, struct mm_struct *mm)
{
	unsigned long soon = READ_ONCE(nm->scan.pass_start) + HZ / 4;

	WRITE_ONCE(nm->joined, true);
	if (READ_ONCE(mm->numa_scan_offset))
		return;
	if (time_before(soon, jiffies))
		soon = jiffies;
	if (time_before(soon, READ_ONCE(mm->numa_next_scan)))
		WRITE_ONCE(mm->numa_next_scan, soon);
}

/**
 * numab_join - make the current task a member of its address space
 * @nt: current's state
 * @mm: current's mm, with state of its own
 *
 * Context: task context, no spinlocks held.
 */
void numab_join(struct numab_task *nt, struct mm_struct *mm)
{
	struct numab_mm *nm = mm->numab;

	if (nt->nm)
		numab_leave(nt);

	refcount_inc(&nm->ref);
	numab_start_window(nt, mm);
	WRITE_ONCE(nt->claim_stamp, jiffies);

	spin_lock(&nm->lock);
	WRITE_ONCE(nt->nm, nm);
	list_add_tail(&nt->member, &nm->members);
	nm->nr_members++;
	spin_unlock(&nm->lock);

	numab_hasten(nm, mm);
}

/**
 * numab_leave - end current's membership and give back its claim
 * @nt: current's state, a member
 *
 * Context: task context, no spinlocks held.
 */
void numab_leave(struct numab_task *nt)
{
	struct numab_mm *nm = nt->nm;
	int i;

	spin_lock(&nm->lock);
	numab_ledger_lock();
	numab_claim_drop(nt);
	numab_wish_drop(&nt->wish);
	/* It may have offered what this member had claimed. */
	numab_wish_drop(&nm->wish);
	numab_ledger_unlock();

	list_del_init(&nt->member);
	nm->nr_members--;
	for (i = 0; i < 2 * nr_node_ids; i++)
		nm->mem[i] -= nt->hist[i];
	WRITE_ONCE(nt->home, NUMA_NO_NODE);
	WRITE_ONCE(nt->nm, NULL);
	numab_forget(nt);
	spin_unlock(&nm->lock);

	numab_mm_put(nm);
}

/* --- homes --- */

static void numab_set_home(struct numab_mm *nm, struct numab_task *nt, int nid)
{
	lockdep_assert_held(&nm->lock);

	nt->undecided = 0;
	if (nt->home == nid)
		return;
	trace_numab_home(nt->task, nt->home, nid, nm->bond, nt->demand);
	WRITE_ONCE(nt->home, nid);
	nt->tries = 0;
	WRITE_ONCE(nm->moved, true);
}

/* Where is a member at home, and where does it run? It has no claim now. */
static void numab_count_member(struct numab_mm *nm, const struct numab_task *nt)
{
	if (nt->home != NUMA_NO_NODE)
		nm->nodes[nt->home].home += max(nt->demand, 1U);
	nm->nodes[task_node(nt->task)].here += max(nt->demand, 1U);
}

static bool numab_may_run_on(const struct task_struct *p, int nid)
{
	return cpumask_intersects(p->cpus_ptr, cpumask_of_node(nid));
}

static void numab_close_nodes(struct numab_mm *nm, const struct task_struct *p)
{
	int n;

	for (n = 0; n < nr_node_ids; n++) {
		if (nm->nodes[n].capacity && !numab_may_run_on(p, n))
			nm->nodes[n].capacity = 0;
	}
}

static void numab_fill_mem(struct numab_mm *nm, const u64 *mem)
{
	int n;

	for (n = 0; n < nr_node_ids; n++)
		nm->nodes[n].mem = mem[2 * n] + mem[2 * n + 1];
}

/* A copy of what is known of the nodes, to see what would be if. */
static struct numab_node *numab_suppose(struct numab_mm *nm)
{
	struct numab_node *spare = nm->nodes + nr_node_ids;

	memcpy(spare, nm->nodes, nr_node_ids * sizeof(*spare));
	return spare;
}

/* What is known of the nodes if nobody had claimed anything. */
static struct numab_node *numab_suppose_empty(struct numab_mm *nm)
{
	struct numab_node *spare = numab_suppose(nm);
	int n;

	for (n = 0; n < nr_node_ids; n++)
		spare[n].claimed = 0;
	return spare;
}

/*
 * Others wish to come to this task's node and would leave another one for it,
 * which may be where it would rather be. Returns the node it goes to.
 */
static int numab_exchange_task(struct numab_mm *nm, struct numab_task *nt, int nid)
{
	struct numab_topology topo = numab_topology();
	unsigned int budget = NUMAB_WISHES_MAX;
	struct numab_wish *wish = NULL;
	struct numab_node *spare;

	while ((wish = numab_next_wish(wish, nid, nt->demand, &budget))) {
		spare = numab_suppose(nm);
		spare[wish->from].claimed -= min(spare[wish->from].claimed, wish->units);
		if (numab_pick_node(&topo, spare, nt->demand) != wish->from)
			continue;
		numab_wish_grant(wish);
		return wish->from;
	}
	return nid;
}

static void numab_wish_task(struct numab_mm *nm, struct numab_task *nt, int nid)
{
	struct numab_topology topo = numab_topology();
	int ideal = numab_pick_node(&topo, numab_suppose_empty(nm), nt->demand);

	if (ideal != NUMA_NO_NODE && ideal != nid)
		numab_wish_set(&nt->wish, ideal, nid, nt->demand);
}

/* A task with memory of its own: the one node that suits it best. */
static void numab_place_task(struct numab_mm *nm, struct numab_task *nt)
{
	struct numab_topology topo = numab_topology();
	int nid;

	lockdep_assert_held(&nm->lock);

	numab_ledger_lock();
	numab_wish_drop(&nt->wish);
	numab_claim_drop(nt);
	numab_survey(nm->nodes, nt->demand);
	numab_count_member(nm, nt);
	numab_close_nodes(nm, nt->task);
	numab_fill_mem(nm, nt->hist);
	numab_normalise(&topo, nm->nodes);
	nid = numab_pick_node(&topo, nm->nodes, nt->demand);
	if (nid == NUMA_NO_NODE)
		nid = task_node(nt->task);
	nid = numab_exchange_task(nm, nt, nid);
	numab_wish_task(nm, nt, nid);
	numab_claim_set(nt, nid, nt->demand);
	numab_ledger_unlock();

	nt->settled = jiffies;
	numab_set_home(nm, nt, nid);
	numab_update_homes(nm);
}

/*
 * Give members a home out of what was granted to the group. First those whose
 * node @at() names has something left for them, so that as few as possible
 * move; with @at NULL, whoever is left takes what is left.
 */
static int numab_at_home(const struct numab_task *nt)
{
	return nt->home;
}

static int numab_at_node(const struct numab_task *nt)
{
	return task_node(nt->task);
}

static int numab_roomiest(const struct numab_mm *nm, const struct task_struct *p)
{
	int n, best = NUMA_NO_NODE;

	for (n = 0; n < nr_node_ids; n++) {
		if (!nm->nodes[n].grant || !numab_may_run_on(p, n))
			continue;
		if (best == NUMA_NO_NODE ||
		    nm->nodes[n].grant > nm->nodes[best].grant)
			best = n;
	}
	return best;
}

static bool numab_take_grant(struct numab_mm *nm, struct numab_task *nt, int nid)
{
	struct numab_node *node;

	if (nid == NUMA_NO_NODE || !nm->nodes[nid].grant ||
	    !numab_may_run_on(nt->task, nid))
		return false;

	node = &nm->nodes[nid];
	node->grant -= min(node->grant, max(nt->demand, 1U));
	numab_claim_set(nt, nid, nt->demand);
	numab_set_home(nm, nt, nid);
	return true;
}

/* Members whose claim is already set are done; one claim marks one member. */
static void numab_assign(struct numab_mm *nm,
			 int (*at)(const struct numab_task *nt))
{
	struct numab_task *nt;

	list_for_each_entry(nt, &nm->members, member) {
		int nid;

		if (nt->claim_nid != NUMA_NO_NODE || !nt->demand)
			continue;
		nid = at ? at(nt) : numab_roomiest(nm, nt->task);
		if (numab_take_grant(nm, nt, nid) || at)
			continue;
		/* Nothing left, or not where it may run: here is home. */
		nid = task_node(nt->task);
		numab_claim_set(nt, nid, nt->demand);
		numab_set_home(nm, nt, nid);
	}
}

/*
 * As numab_exchange_task(). What a group leaves must be enough for who wished
 * to come, or nobody is served.
 */
static void numab_exchange_group(struct numab_mm *nm, u32 demand)
{
	struct numab_topology topo = numab_topology();
	unsigned int budget = NUMAB_WISHES_MAX;
	struct numab_wish *wish = NULL;
	struct numab_node *spare;
	u32 before, after;
	int n;

	for (n = 0; n < nr_node_ids; n++) {
		before = nm->nodes[n].grant;
		while (before && (wish = numab_next_wish(wish, n, before, &budget))) {
			spare = numab_suppose(nm);
			spare[wish->from].claimed -= min(spare[wish->from].claimed,
							 wish->units);
			numab_spread(&topo, spare, demand);
			after = spare[n].grant;
			if (after + wish->units > before + NUMAB_ROOM_TOLERANCE)
				continue;
			memcpy(nm->nodes, spare, nr_node_ids * sizeof(*spare));
			numab_wish_grant(wish);
			return;
		}
	}
}

/* Where would the group rather be, and what would it give up for that? */
static void numab_wish_group(struct numab_mm *nm, u32 demand)
{
	struct numab_topology topo = numab_topology();
	struct numab_node *ideal = numab_suppose_empty(nm);
	int n, to = NUMA_NO_NODE, from = NUMA_NO_NODE;
	u32 lack = 0, excess = 0;

	numab_spread(&topo, ideal, demand);
	for (n = 0; n < nr_node_ids; n++) {
		u32 want = ideal[n].grant, have = nm->nodes[n].grant;

		if (want > have && want - have > lack) {
			lack = want - have;
			to = n;
		}
		if (have > want && have - want > excess) {
			excess = have - want;
			from = n;
		}
	}
	if (min(lack, excess) > NUMAB_ROOM_TOLERANCE)
		numab_wish_set(&nm->wish, to, from, min(lack, excess));
}

/*
 * Threads that use the same memory: all on one node, or on the fewest. Members
 * that sleep are left out; they join again when they run.
 */
static void numab_place_group(struct numab_mm *nm)
{
	struct numab_topology topo = numab_topology();
	struct numab_task *nt;
	u32 demand = 0;

	lockdep_assert_held(&nm->lock);

	numab_ledger_lock();
	numab_wish_drop(&nm->wish);
	list_for_each_entry(nt, &nm->members, member) {
		numab_wish_drop(&nt->wish);
		numab_claim_drop(nt);
		nt->demand = numab_task_demand(nt);
		demand += nt->demand;
	}
	numab_survey(nm->nodes, demand);
	list_for_each_entry(nt, &nm->members, member)
		numab_count_member(nm, nt);
	numab_close_nodes(nm, current);
	numab_fill_mem(nm, nm->mem);
	numab_normalise(&topo, nm->nodes);
	numab_spread(&topo, nm->nodes, demand);
	numab_exchange_group(nm, demand);
	numab_wish_group(nm, demand);
	numab_assign(nm, numab_at_home);
	numab_assign(nm, numab_at_node);
	numab_assign(nm, NULL);
	numab_ledger_unlock();

	nm->placed = jiffies;
	numab_update_homes(nm);
}

/* The only node a task may run on, or NUMA_NO_NODE if it has a choice. */
static int numab_only_node(const struct task_struct *p)
{
	int nid = task_node(p);

	return cpumask_subset(p->cpus_ptr, cpumask_of_node(nid)) ? nid : NUMA_NO_NODE;
}

static void numab_pin(struct numab_mm *nm, struct numab_task *nt, int nid)
{
	numab_ledger_lock();
	numab_wish_drop(&nt->wish);
	numab_wish_drop(&nm->wish);
	numab_claim_set(nt, nid, nt->demand);
	numab_ledger_unlock();
	numab_set_home(nm, nt, nid);
	numab_update_homes(nm);
}

/* --- windows --- */

/*
 * Half of what was known plus what is new. A window without a sample teaches
 * nothing and is not allowed to wear away what is known.
 */
static void numab_fold(struct numab_mm *nm, struct numab_task *nt)
{
	u64 total = 0;
	int i;

	lockdep_assert_held(&nm->lock);

	if (!nt->samples)
		return;
	for (i = 0; i < 2 * nr_node_ids; i++) {
		u64 hist = nt->hist[i] / 2 + nt->fresh[i];

		WRITE_ONCE(nm->mem[i], nm->mem[i] + hist - nt->hist[i]);
		WRITE_ONCE(nt->hist[i], hist);
		nt->fresh[i] = 0;
		total += hist;
	}
	nt->total = total;
	nt->task->total_numa_faults = total;
}

/* Evidence of sharing ages with time, not with the number of members. */
static void numab_fold_sharing(struct numab_mm *nm, struct numab_task *nt)
{
	lockdep_assert_held(&nm->lock);

	if (time_after_eq(jiffies, nm->aged + HZ)) {
		nm->shared /= 2;
		nm->private /= 2;
		nm->bond_samples /= 2;
		nm->aged = jiffies;
	}
	/* While there is only one thread, private says nothing. */
	if (nm->nr_members > 1) {
		nm->shared += nt->shared;
		nm->private += nt->private;
		nm->bond_samples += nt->bond_samples;
	}
	nt->shared = 0;
	nt->private = 0;
	nt->bond_samples = 0;
}

/*
 * Could one node run all members at a time? Most of many may be asleep. A lone
 * member is no group, and is spared the walk.
 */
static bool numab_fits_node(const struct numab_mm *nm)
{
	u32 capacity = numab_widest_node();
	const struct numab_task *nt;
	u32 demand = 0;

	lockdep_assert_held(&nm->lock);

	if (nm->nr_members <= 1)
		return true;
	list_for_each_entry(nt, &nm->members, member) {
		demand += numab_task_demand(nt);
		if (demand > capacity)
			return false;
	}
	return true;
}

static void numab_change_bond(struct numab_mm *nm, enum numab_bond bond)
{
	lockdep_assert_held(&nm->lock);

	WRITE_ONCE(nm->bond, bond);
	numab_ledger_lock();
	numab_wish_drop(&nm->wish);
	numab_ledger_unlock();
	/* What was placed apart is to be placed together, and at once. */
	nm->placed = jiffies - NUMAB_SETTLED;
}

static void numab_update_bond(struct numab_mm *nm)
{
	struct numab_sharing sharing = {
		.shared		= nm->shared,
		.private	= nm->private,
		.samples	= nm->bond_samples,
		.threads	= nm->nr_members,
		.grouped	= nm->bond == NUMAB_BOND_GROUP,
		.fits		= numab_fits_node(nm),
		.loose		= nm->bond != NUMAB_BOND_GROUP || nm->loose,
	};
	enum numab_bond bond = numab_bond(&sharing);
	bool loose = bond == NUMAB_BOND_GROUP && numab_bond_loose(&sharing);

	trace_numab_bond(task_tgid_nr(current), bond, nm->shared, nm->private,
			 nm->bond_samples, nm->nr_members);
	/* Converged memory is sampled thinly: keep the last verdict. */
	if (bond == NUMAB_BOND_UNKNOWN || (bond == nm->bond && loose == nm->loose))
		return;

	nm->loose = loose;
	if (bond != nm->bond)
		numab_change_bond(nm, bond);
	numab_update_homes(nm);
}

/* Is the group's placement due, or can its members go on as they are? */
static bool numab_group_due(const struct numab_mm *nm, const struct numab_task *nt)
{
	if (nt->home == NUMA_NO_NODE || READ_ONCE(nt->claim_nid) == NUMA_NO_NODE)
		return true;
	return READ_ONCE(nm->wish.granted) ||
	       time_after_eq(jiffies, nm->placed + NUMAB_SETTLED);
}

static bool numab_task_due(const struct numab_task *nt)
{
	if (nt->home == NUMA_NO_NODE || READ_ONCE(nt->claim_nid) == NUMA_NO_NODE)
		return true;
	return READ_ONCE(nt->wish.granted) ||
	       time_after_eq(jiffies, nt->settled + NUMAB_SETTLED);
}

static void numab_decide(struct numab_mm *nm, struct numab_task *nt)
{
	switch (nm->bond) {
	case NUMAB_BOND_GROUP:
		if (numab_group_due(nm, nt))
			numab_place_group(nm);
		break;
	case NUMAB_BOND_SINGLE:
		if (numab_task_due(nt))
			numab_place_task(nm, nt);
		break;
	case NUMAB_BOND_UNKNOWN:
		if (++nt->undecided >= NUMAB_UNDECIDED_MAX)
			numab_pin(nm, nt, task_node(nt->task));
		break;
	}
}

/**
 * numab_end_window - end the current task's window if it has seen enough
 * @nt: current's state, a member
 *
 * Folds the window into the histograms and decides on a home. A task that can
 * run on one node only is at home there without further ado, and one that may
 * no longer run at home has none.
 *
 * Context: task context, no locks held.
 */
void numab_end_window(struct numab_task *nt)
{
	struct task_struct *p = nt->task;
	struct numab_mm *nm = nt->nm;
	struct numab_window w = {
		.elapsed_ms	= jiffies_to_msecs(jiffies - nt->window_start),
		.samples	= nt->samples,
		.passes		= READ_ONCE(p->mm->numa_scan_seq) - nt->window_pass,
	};
	bool over = numab_window_over(&w);
	int only = numab_only_node(p);
	int home = READ_ONCE(nt->home);
	bool pinned = only != NUMA_NO_NODE && only != home;
	bool banned = home != NUMA_NO_NODE && !numab_may_run_on(p, home);

	if (!over && !pinned && !banned)
		return;

	spin_lock(&nm->lock);
	nt->demand = numab_task_demand(nt);
	if (over) {
		numab_fold(nm, nt);
		numab_fold_sharing(nm, nt);
		numab_update_bond(nm);
		numab_start_window(nt, p->mm);
	}
	if (only != NUMA_NO_NODE)
		numab_pin(nm, nt, only);
	else if (banned)
		numab_place_task(nm, nt);
	else if (over)
		numab_decide(nm, nt);
	spin_unlock(&nm->lock);

	/* The plan is stale: let the next tick make a new one. */
	if (READ_ONCE(nm->moved))
		WRITE_ONCE(p->mm->numa_next_scan, jiffies);
}

/* --- the scanner's plan --- */

/*
 * Tasks may have their homes, by affinity, before it is known which of them
 * uses what. To mark all pages then would only tell who uses each of them.
 */
static bool numab_bond_awaited(const struct numab_mm *nm)
{
	return nm->bond == NUMAB_BOND_UNKNOWN && nm->nr_members > 1 &&
	       nm->learned < NUMAB_LEARN_MAX;
}

static void numab_scan_input(struct numab_mm *nm, struct mm_struct *mm,
			     struct numab_scan_input *in)
{
	struct numab_task *nt;

	lockdep_assert_held(&nm->lock);

	in->period_min_ms = READ_ONCE(sysctl_numa_balancing_scan_period_min);
	in->period_max_ms = READ_ONCE(sysctl_numa_balancing_scan_period_max);
	in->period_ms = nm->scan.period_ms;
	in->stride = nm->scan.stride;
	in->resident = get_mm_rss(mm);
	in->threads = atomic_read(&mm->mm_users);
	in->moved = nm->moved || nm->owed;
	in->intent = nm->scan.intent;
	in->undecided = list_empty(&nm->members) || numab_bond_awaited(nm);

	list_for_each_entry(nt, &nm->members, member) {
		u64 well_placed = READ_ONCE(nt->well_placed);
		u64 misplaced = READ_ONCE(nt->misplaced);
		u64 repaired = READ_ONCE(nt->repaired);
		u64 failed = READ_ONCE(nt->failed);

		in->local += well_placed - nt->planned_well_placed;
		in->remote += misplaced - nt->planned_misplaced;
		in->repaired += repaired - nt->planned_repaired;
		in->failed += failed - nt->planned_failed;
		nt->planned_well_placed = well_placed;
		nt->planned_misplaced = misplaced;
		nt->planned_repaired = repaired;
		nt->planned_failed = failed;
		/*
		 * Nobody waits for a sleeper, for longer than one window, or
		 * for a task whose class has no tick for it.
		 */
		if (nt->home == NUMA_NO_NODE && !nt->undecided && numab_awake(nt) &&
		    nt->task->sched_class == &fair_sched_class)
			in->undecided = true;
	}
}

/**
 * numab_plan_pass - plan the next pass of the scanner over an address space
 * @mm: the address space, current's, with state of its own
 *
 * Context: task context; the caller has the scanner (bit 0 of scan.busy).
 */
void numab_plan_pass(struct mm_struct *mm)
{
	struct numab_mm *nm = mm->numab;
	struct numab_scan *scan = &nm->scan;
	struct numab_scan_input in = { };
	struct numab_scan_plan plan;

	spin_lock(&nm->lock);
	numab_scan_input(nm, mm, &in);
	numab_plan_scan(&in, &plan);
	if (plan.intent == NUMAB_INTENT_WATCH)
		WRITE_ONCE(scan->phase, scan->phase + 1);
	if (plan.full && nm->together)
		scan->settled = nm->homes;
	else
		nodes_clear(scan->settled);
	if (plan.intent == NUMAB_INTENT_LEARN && nm->nr_members > 1 &&
	    nm->learned < NUMAB_LEARN_MAX)
		nm->learned++;
	nm->owed = in.moved && plan.intent != NUMAB_INTENT_PLACE;
	WRITE_ONCE(nm->moved, false);
	WRITE_ONCE(nm->joined, false);
	spin_unlock(&nm->lock);

	numab_regions_fit(nm, in.resident);
	scan->intent = plan.intent;
	scan->moved = in.moved;
	WRITE_ONCE(scan->full, plan.full);
	scan->period_ms = plan.period_ms;
	WRITE_ONCE(scan->stride, plan.stride);
	WRITE_ONCE(scan->huge_stride, plan.huge_stride);
	trace_numab_plan(task_tgid_nr(current), scan, in.local, in.remote, in.failed);
}
