// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: who counts on which node
 *
 * Claims
 * ------
 *
 * Every task with a home holds a claim on that node, in runnable tasks. Who
 * decides on a home looks at all claims of others and sets its own in one
 * critical section, so that two deciders cannot count on the same CPU. A claim
 * is a lease: it is dropped when the task leaves its address space, and whoever
 * looks for room takes away those whose holder has not run for two windows.
 *
 * Wishes
 * ------
 *
 * On a full machine nobody finds room, even where two subjects would both gain
 * from changing places: two groups with a thread each on both of two nodes, or
 * two tasks with their memory at the other's home. So who would rather be
 * elsewhere leaves a wish: to come to one node, and what it would give up on
 * another one for that. Who is at home on the wished node decides, when its own
 * decision is due, as if the offered room were free already. If it prefers to
 * go there it goes, the wish is granted, and who made it decides again soon.
 * Each of the two decides for itself and by its own memory, so no exchange is a
 * loss to either, and the same two never exchange back under equal input.
 *
 * Lock: the ledger's, taken in task context only, inside numab_mm.lock.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/mmu_context.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "sched.h"
#include "numab.h"

/* Stale claims that one look at a node takes away: bounded, and soon enough. */
#define NUMAB_EXPIRE_MAX	8

/* Claims that are looked through for those of a group whose wish is granted. */
#define NUMAB_GRANT_MAX		64

struct numab_ledger_node {
	struct list_head	claims;
	struct list_head	wishes;
	u32			claimed;
};

static struct {
	/* Protects all that is in here, and the claims and wishes of all. */
	spinlock_t			lock;
	u64				total;
	/* Units of the node with most CPUs, 0 before the first survey; read without. */
	u32				widest;
	struct numab_ledger_node	*nodes;
} ledger = {
	.lock = __SPIN_LOCK_UNLOCKED(ledger.lock),
};

/**
 * numab_ledger_init - set up the ledger
 *
 * Without memory for it no address space gets any state, and none is scanned.
 */
void __init numab_ledger_init(void)
{
	struct numab_ledger_node *nodes;
	int n;

	nodes = kcalloc(nr_node_ids, sizeof(*nodes), GFP_KERNEL);
	if (!nodes)
		return;
	for (n = 0; n < nr_node_ids; n++) {
		INIT_LIST_HEAD(&nodes[n].claims);
		INIT_LIST_HEAD(&nodes[n].wishes);
	}
	/* Pairs with READ_ONCE() in numab_ledger_ready(). */
	smp_store_release(&ledger.nodes, nodes);
}

/**
 * numab_ledger_ready - was there memory for the ledger?
 *
 * Return: true if there was.
 */
bool numab_ledger_ready(void)
{
	return READ_ONCE(ledger.nodes);
}

/**
 * numab_ledger_lock - begin to look at the ledger, or to change it
 */
void numab_ledger_lock(void)
	__acquires(&ledger.lock)
{
	spin_lock(&ledger.lock);
}

/**
 * numab_ledger_unlock - end what numab_ledger_lock() began
 */
void numab_ledger_unlock(void)
	__releases(&ledger.lock)
{
	spin_unlock(&ledger.lock);
}

/* --- claims --- */

/**
 * numab_claim_drop - give back what a task has claimed
 * @nt: the task's state; it need not have claimed anything
 *
 * Context: the ledger is locked.
 */
void numab_claim_drop(struct numab_task *nt)
{
	lockdep_assert_held(&ledger.lock);

	if (nt->claim_nid == NUMA_NO_NODE)
		return;
	ledger.nodes[nt->claim_nid].claimed -= nt->claim_units;
	ledger.total -= nt->claim_units;
	list_del_init(&nt->claim);
	WRITE_ONCE(nt->claim_nid, NUMA_NO_NODE);
	nt->claim_units = 0;
}

/**
 * numab_claim_set - claim room on a node, in place of what was claimed before
 * @nt: the task's state
 * @nid: the node
 * @units: how much, NUMAB_UNIT for one runnable task
 *
 * Context: the ledger is locked.
 */
void numab_claim_set(struct numab_task *nt, int nid, u32 units)
{
	lockdep_assert_held(&ledger.lock);

	numab_claim_drop(nt);
	WRITE_ONCE(nt->claim_nid, nid);
	nt->claim_units = units;
	list_add_tail(&nt->claim, &ledger.nodes[nid].claims);
	ledger.nodes[nid].claimed += units;
	ledger.total += units;
}

/*
 * Take away claims whose holders sleep; the oldest claims are looked at first. A
 * holder is a member of its address space until it has dropped its claim.
 */
static void numab_claims_expire(int nid)
{
	struct list_head *claims = &ledger.nodes[nid].claims;
	struct numab_task *nt, *next;
	unsigned int seen = 0;

	list_for_each_entry_safe(nt, next, claims, claim) {
		if (seen++ == NUMAB_EXPIRE_MAX)
			break;
		if (numab_ran_within(nt, NUMAB_LEASE)) {
			list_move_tail(&nt->claim, claims);
			continue;
		}
		/* Nothing may be offered that is not there any more. */
		numab_wish_drop(&nt->wish);
		numab_wish_drop(&nt->nm->wish);
		numab_claim_drop(nt);
	}
}

/* CPUs of a node that a task may be placed on. */
static unsigned int numab_node_cpus(int nid)
{
	const struct cpumask *cpus = housekeeping_cpumask(HK_TYPE_DOMAIN);
	unsigned int cpu, nr = 0;

	for_each_cpu_and(cpu, cpumask_of_node(nid), cpus)
		nr += cpu_active(cpu);
	return nr;
}

/**
 * numab_widest_node - how much can the node with the most CPUs run?
 *
 * Context: any.
 *
 * Return: units, as of the last survey.
 */
u32 numab_widest_node(void)
{
	u32 widest = READ_ONCE(ledger.widest);
	int n;

	/* Nobody has decided anything yet. */
	if (!widest) {
		for_each_online_node(n)
			widest = max(widest, numab_node_cpus(n) * NUMAB_UNIT);
	}
	return widest;
}

/**
 * numab_survey - look at the machine before a decision
 * @nodes: nr_node_ids nodes, filled with capacities and claims
 * @demand: what the subject wants; it has no claims now
 *
 * Capacities are shared out fairly if there is not enough.
 *
 * Context: the ledger is locked.
 */
void numab_survey(struct numab_node *nodes, u64 demand)
{
	u32 widest = 0;
	u64 total = 0;
	int n;

	lockdep_assert_held(&ledger.lock);

	for (n = 0; n < nr_node_ids; n++) {
		struct numab_node *node = &nodes[n];

		memset(node, 0, sizeof(*node));
		if (!node_online(n))
			continue;
		numab_claims_expire(n);
		node->capacity = numab_node_cpus(n) * NUMAB_UNIT;
		node->claimed = ledger.nodes[n].claimed;
		total += node->capacity;
		widest = max(widest, node->capacity);
	}
	WRITE_ONCE(ledger.widest, widest);
	for (n = 0; n < nr_node_ids; n++)
		nodes[n].fair = numab_fair_capacity(nodes[n].capacity,
						    ledger.total + demand, total);
}

/* --- wishes --- */

/**
 * numab_wish_drop - take back a wish
 * @wish: the wish; it need not have been made
 *
 * Context: the ledger is locked.
 */
void numab_wish_drop(struct numab_wish *wish)
{
	lockdep_assert_held(&ledger.lock);

	list_del_init(&wish->entry);
	WRITE_ONCE(wish->granted, false);
}

/**
 * numab_wish_set - make a wish
 * @wish: the wish, none so far
 * @to: the node where the subject would rather be
 * @from: the node where it would give up its claims for that
 * @units: how much of them
 *
 * Context: the ledger is locked.
 */
void numab_wish_set(struct numab_wish *wish, int to, int from, u32 units)
{
	lockdep_assert_held(&ledger.lock);

	wish->to = to;
	wish->from = from;
	wish->units = units;
	list_add_tail(&wish->entry, &ledger.nodes[to].wishes);
}

/**
 * numab_next_wish - who else wishes to come to a node?
 * @wish: the wish looked at last, NULL for the first
 * @to: the node
 * @units: what could be given up there
 * @budget: how many wishes the decision may still look at
 *
 * A wish for more than @units is passed over.
 *
 * Context: the ledger is locked.
 *
 * Return: the next wish, or NULL.
 */
struct numab_wish *numab_next_wish(struct numab_wish *wish, int to, u32 units,
				   unsigned int *budget)
{
	struct list_head *wishes = &ledger.nodes[to].wishes;

	lockdep_assert_held(&ledger.lock);

	wish = list_prepare_entry(wish, wishes, entry);
	list_for_each_entry_continue(wish, wishes, entry) {
		if (!*budget)
			break;
		(*budget)--;
		if (wish->units <= units + NUMAB_ROOM_TOLERANCE)
			return wish;
	}
	return NULL;
}

static bool numab_wished(const struct numab_wish *wish, const struct numab_task *nt)
{
	return wish->nt ? nt == wish->nt : nt->nm == wish->nm;
}

/**
 * numab_wish_grant - tell who made a wish that there is room now
 * @wish: the wish
 *
 * What was offered for it is given up and claimed where it was wished for, so
 * that nobody else comes first. The owner's next decision sorts out whose homes
 * these are.
 *
 * Context: the ledger is locked.
 */
void numab_wish_grant(struct numab_wish *wish)
{
	struct list_head *claims = &ledger.nodes[wish->from].claims;
	struct numab_task *nt, *next;
	unsigned int seen = 0;
	u32 moved = 0;

	lockdep_assert_held(&ledger.lock);

	list_for_each_entry_safe(nt, next, claims, claim) {
		if (seen++ == NUMAB_GRANT_MAX || moved >= wish->units)
			break;
		if (!numab_wished(wish, nt))
			continue;
		moved += nt->claim_units;
		numab_claim_set(nt, wish->to, nt->claim_units);
	}
	list_del_init(&wish->entry);
	/* Its owner looks without the lock whether a decision is due. */
	WRITE_ONCE(wish->granted, true);
}
