// SPDX-License-Identifier: GPL-2.0
/*
 * Decisions of automatic NUMA balancing as functions of plain numbers
 *
 * Model
 * -----
 *
 * A subject (one task, or a group of tasks that use the same memory) has its
 * memory spread over the nodes in some proportion and wants to run so many
 * CPUs' worth of work. Running it on node n costs
 *
 *	cost(n) = sum over nodes m of share(m) * (distance(n, m) - 10)
 *
 * that is, the mean extra latency of an access in units of a tenth of the
 * local one. Memory can follow later, so the cost is what has to be copied or
 * to be reached from afar, whichever the mover prefers.
 *
 * Work comes before locality: a node is eligible only while the demand that is
 * claimed on it, in runnable tasks, leaves room for the subject within the
 * node's CPUs. Only where no node has that is a fair part of more demand than
 * there are CPUs accepted. Among the eligible nodes the cheapest wins, and to
 * stay at home is preferred over small gains (NUMAB_MARGIN_PART).
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>

#include "numab_policy.h"

/*
 * A decision wants one second, so that a burst of start-up does not decide for
 * hours, and 64 samples. Where the memory has fewer pages than that, a complete
 * pass has seen them all; a quarter of the samples is enough then. A task that
 * hardly touches memory is not waited for longer than three seconds.
 */
#define NUMAB_WINDOW_MS		1000
#define NUMAB_WINDOW_MAX_MS	3000
#define NUMAB_WINDOW_SAMPLES	64
#define NUMAB_WINDOW_FEW	16

/*
 * Two threads that use all of their memory alike see half of their faults on
 * memory that the other one touched last; more threads see more. Threads with
 * slices of their own see none. Half of the smallest honest value makes a
 * group, a quarter of it ends one. With 16 samples, a pair that shares all is
 * taken for strangers once in a hundred times, and asked again a window later.
 * To end a group costs more than to found one late, and asks for a full window.
 *
 * Where one node can run all of the threads, little sharing is reason enough:
 * with a twelfth of the faults on memory that another thread touched last, that
 * much is remote for good if they live apart, and nothing if they live together,
 * while the price is copied once. With a full window of samples, a true share of
 * a thirty-second passes for a twelfth once in sixty times.
 */
#define NUMAB_BOND_SAMPLES	16
#define NUMAB_UNBOND_SAMPLES	64
#define NUMAB_BOND_JOIN		4
#define NUMAB_BOND_LEAVE	8
#define NUMAB_BOND_JOIN_FIT	12
#define NUMAB_BOND_LEAVE_FIT	32

/*
 * A learning pass marks some 64 base pages for each thread. There are four of
 * them in a window, since what was marked last has yet to be touched, and who
 * shares what shows from the second time on. More than eight threads share what
 * there is: 64 samples in a window for each of 32. Huge pages are few, so that
 * 64 have to do for all. One page of 511 is the thinnest sample, one in every
 * page table. A first pass takes at most a fifth of the pages of any address
 * space that has more than five times the samples of a window.
 */
#define NUMAB_LEARN_PAGES	64
#define NUMAB_LEARN_THREADS	8U
#define NUMAB_LEARN_HUGE	64
#define NUMAB_STRIDE_MAX	511
#define NUMAB_STRIDE_FIRST	5
#define NUMAB_PAGES_PER_HUGE	512

/* A region that turns remote is to be seen within this time. */
#define NUMAB_WATCH_MS		2000U

/*
 * What is left of the certainty about a region's owner when somebody else comes
 * by. A quarter of the most that is remembered is too little to act upon, and
 * the second stranger in a row takes the region over.
 */
#define NUMAB_REGION_DOUBT	4

/* Four samples of 64 on a wrong node are a reason to look at every page. */
#define NUMAB_REMOTE_PART	16

/**
 * numab_normalise - turn samples of memory into shares of the whole
 * @topo: the machine
 * @nodes: @topo->nr nodes; @share is filled from @mem, 0 throughout where
 *	nothing was sampled
 *
 * Everything that follows works on shares, so that no decision depends on how
 * many samples were taken, and products with distances stay within 32 bits.
 */
void numab_normalise(const struct numab_topology *topo, struct numab_node *nodes)
{
	u64 total = 0;
	int n;

	for (n = 0; n < topo->nr; n++)
		total += nodes[n].mem;
	for (n = 0; n < topo->nr; n++)
		nodes[n].share = total ?
			div64_u64(nodes[n].mem * NUMAB_SHARE_ONE, total) : 0;
}

/**
 * numab_access_cost - price of running on a node with memory where it is
 * @topo: the machine
 * @nodes: normalised nodes
 * @nid: the node to run on
 *
 * Return: the mean extra distance of an access, times NUMAB_SHARE_ONE; 0 if all
 * of the memory is on @nid.
 */
u32 numab_access_cost(const struct numab_topology *topo,
		      const struct numab_node *nodes, int nid)
{
	u32 cost = 0;
	int m;

	for (m = 0; m < topo->nr; m++) {
		if (nodes[m].share)
			cost += nodes[m].share *
				(topo->distance(nid, m) - NUMAB_DISTANCE_LOCAL);
	}
	return cost;
}

/**
 * numab_fair_capacity - how much demand a node may be asked to take
 * @capacity: capacity of the node
 * @total_demand: demand of all tasks on the machine
 * @total_capacity: capacity of all nodes
 *
 * Return: @capacity, or, where the machine as a whole is asked for more than
 * it has, the node's part of the demand rounded up to a whole task: rounding
 * down would leave the last task without a place on any node.
 */
u32 numab_fair_capacity(u32 capacity, u64 total_demand, u64 total_capacity)
{
	u64 part;

	if (!total_capacity || total_demand <= total_capacity + NUMAB_ROOM_TOLERANCE)
		return capacity;

	part = div64_u64(capacity * total_demand, total_capacity);
	part = DIV_ROUND_UP_ULL(part, NUMAB_UNIT) * NUMAB_UNIT;
	return min_t(u64, part, U32_MAX);
}

/**
 * numab_demand - demand of a task in runnable tasks
 * @runnable: running average of the time that the task was runnable, of
 *	NUMAB_UNIT; time spent waiting for a CPU included
 *
 * Averages never quite reach the whole. A task that is runnable for seven
 * eighths of the time wants a CPU: rounding it up keeps the missing parts of
 * many such tasks from adding up to room for one more.
 *
 * Return: the demand, at most NUMAB_UNIT.
 */
u32 numab_demand(unsigned long runnable)
{
	return runnable >= NUMAB_UNIT / 8 * 7 ? NUMAB_UNIT : runnable;
}

/**
 * numab_room - demand that a node can still take
 * @node: the node
 * @limit: demand that it may have in all, its @capacity or its @fair part
 *
 * Return: units of @limit that others have not claimed.
 */
u32 numab_room(const struct numab_node *node, u32 limit)
{
	return limit > node->claimed ? limit - node->claimed : 0;
}

static u32 numab_limit(const struct numab_node *node, bool crowded)
{
	return crowded ? max(node->fair, node->capacity) : node->capacity;
}

/* Room on a node beyond what was granted to the subject there already. */
static u32 numab_free(const struct numab_node *node, bool crowded)
{
	u32 room = numab_room(node, numab_limit(node, crowded));

	return room > node->grant ? room - node->grant : 0;
}

static bool numab_fits(const struct numab_node *node, u32 demand, bool crowded)
{
	u64 load = (u64)node->claimed + node->grant + demand;

	return node->capacity &&
	       load <= (u64)numab_limit(node, crowded) + NUMAB_ROOM_TOLERANCE;
}

/*
 * A subject is attached to the nodes that are its home; one without home to
 * those it happens to run on. The price of leaving is reckoned from the node
 * that most of the subject is at home on.
 */
struct numab_bias {
	bool has_home;
	int home;
};

static struct numab_bias numab_bias(const struct numab_topology *topo,
				    const struct numab_node *nodes)
{
	struct numab_bias bias = { .home = NUMA_NO_NODE };
	u32 most = 0;
	int n;

	for (n = 0; n < topo->nr; n++) {
		if (nodes[n].home > most) {
			most = nodes[n].home;
			bias.home = n;
			bias.has_home = true;
		}
	}
	return bias;
}

/* What one node has to offer; offers are compared member by member. */
struct numab_offer {
	int nid;
	u32 whole;	/* whole tasks that it can take, if that matters */
	u32 cost;	/* access cost, and the price of leaving home */
	u32 tie;	/* attachment of the subject */
	u32 room;
};

static struct numab_offer numab_make_offer(const struct numab_topology *topo,
					   const struct numab_node *nodes,
					   const struct numab_bias *bias,
					   int n, bool crowded)
{
	const struct numab_node *node = &nodes[n];
	struct numab_offer offer = {
		.nid	= n,
		.cost	= numab_access_cost(topo, nodes, n),
		.tie	= bias->has_home ? node->home : node->here,
		.room	= numab_free(node, crowded),
	};
	int far;

	if (bias->has_home && !node->home) {
		far = topo->distance(bias->home, n) - NUMAB_DISTANCE_LOCAL;
		offer.cost += NUMAB_SHARE_ONE / NUMAB_MARGIN_PART * far;
	}
	return offer;
}

/* Is @a better than @b? Equal offers go to the lower node number. */
static bool numab_better(const struct numab_offer *a, const struct numab_offer *b)
{
	if (b->nid == NUMA_NO_NODE)
		return true;
	if (a->whole != b->whole)
		return a->whole > b->whole;
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->tie != b->tie)
		return a->tie > b->tie;
	return a->room > b->room;
}

/* The cheapest node that can take all of @demand. */
static int numab_cheapest(const struct numab_topology *topo,
			  const struct numab_node *nodes, u32 demand, bool crowded)
{
	struct numab_bias bias = numab_bias(topo, nodes);
	struct numab_offer best = { .nid = NUMA_NO_NODE };
	int n;

	for (n = 0; n < topo->nr; n++) {
		struct numab_offer offer;

		if (!numab_fits(&nodes[n], demand, crowded))
			continue;
		offer = numab_make_offer(topo, nodes, &bias, n, crowded);
		if (numab_better(&offer, &best))
			best = offer;
	}
	return best.nid;
}

/*
 * The next node for a group that no single node can hold: the one that takes
 * most whole tasks, since the fewest nodes are the fewest borders.
 */
static int numab_roomiest(const struct numab_topology *topo,
			  const struct numab_node *nodes, bool crowded)
{
	struct numab_bias bias = numab_bias(topo, nodes);
	struct numab_offer best = { .nid = NUMA_NO_NODE };
	int n;

	for (n = 0; n < topo->nr; n++) {
		struct numab_offer offer;

		if (!nodes[n].capacity || !numab_free(&nodes[n], crowded))
			continue;
		offer = numab_make_offer(topo, nodes, &bias, n, crowded);
		offer.whole = (offer.room + NUMAB_ROOM_TOLERANCE) / NUMAB_UNIT;
		if (numab_better(&offer, &best))
			best = offer;
	}
	return best.nid;
}

/**
 * numab_pick_node - choose the one node that a subject should live on
 * @topo: the machine
 * @nodes: normalised nodes
 * @demand: units that the subject wants to run
 *
 * The cheapest node with room for all of the demand wins; another node than the
 * home has to be cheaper by a margin. Equal nodes are told apart by attachment,
 * then by room, then by number, so that the result is stable under equal input.
 * Only if no node has room for it within its CPUs, the fair parts are looked at.
 *
 * Return: a node, or NUMA_NO_NODE if no single node has room.
 */
int numab_pick_node(const struct numab_topology *topo,
		    const struct numab_node *nodes, u32 demand)
{
	int n = numab_cheapest(topo, nodes, demand, false);

	return n != NUMA_NO_NODE ? n : numab_cheapest(topo, nodes, demand, true);
}

/* Grant what fits, on as few nodes as can be; returns what is left over. */
static u32 numab_grant(const struct numab_topology *topo, struct numab_node *nodes,
		       u32 left, bool crowded)
{
	u32 part;
	int n;

	while (left) {
		n = numab_cheapest(topo, nodes, left, crowded);
		if (n != NUMA_NO_NODE) {
			nodes[n].grant += left;
			return 0;
		}
		n = numab_roomiest(topo, nodes, crowded);
		if (n == NUMA_NO_NODE)
			break;
		part = min(left, numab_free(&nodes[n], crowded));
		nodes[n].grant += part;
		left -= part;
	}
	return left;
}

/**
 * numab_spread - place a group on one node, or on the fewest that hold it
 * @topo: the machine
 * @nodes: normalised nodes; @grant is the result, in units
 * @demand: units that all members together want to run
 *
 * Return: the units granted in all; less than @demand only if the machine has
 * no room for the rest.
 */
u32 numab_spread(const struct numab_topology *topo, struct numab_node *nodes,
		 u32 demand)
{
	u32 left;
	int n;

	for (n = 0; n < topo->nr; n++)
		nodes[n].grant = 0;

	left = numab_grant(topo, nodes, demand, false);
	if (left)
		left = numab_grant(topo, nodes, left, true);
	return demand - left;
}

/**
 * numab_window_over - has a task seen enough for a decision?
 * @w: what it saw
 *
 * Return: true at the end of a window.
 */
bool numab_window_over(const struct numab_window *w)
{
	if (w->elapsed_ms < NUMAB_WINDOW_MS)
		return false;
	if (w->elapsed_ms >= NUMAB_WINDOW_MAX_MS)
		return true;
	return w->samples >= NUMAB_WINDOW_SAMPLES ||
	       (w->passes && w->samples >= NUMAB_WINDOW_FEW);
}

/* Which part of the faults has to be on shared memory? */
static unsigned int numab_bond_part(const struct numab_sharing *s)
{
	if (s->fits)
		return s->grouped ? NUMAB_BOND_LEAVE_FIT : NUMAB_BOND_JOIN_FIT;
	return s->grouped ? NUMAB_BOND_LEAVE : NUMAB_BOND_JOIN;
}

/**
 * numab_bond - do the threads of an address space belong together?
 * @s: what their faults said
 *
 * Weights are compared, not pages: one page that all threads touch says next
 * to nothing, however often it is touched.
 *
 * Return: the bond.
 */
enum numab_bond numab_bond(const struct numab_sharing *s)
{
	u64 all = s->shared + s->private;
	bool few = s->samples < NUMAB_UNBOND_SAMPLES;

	if (s->threads <= 1)
		return NUMAB_BOND_SINGLE;
	if (s->samples < NUMAB_BOND_SAMPLES || !all)
		return NUMAB_BOND_UNKNOWN;
	if (s->shared * NUMAB_BOND_JOIN >= all)
		return NUMAB_BOND_GROUP;
	if (few && s->fits && !s->grouped)
		return NUMAB_BOND_UNKNOWN;
	if (s->shared * numab_bond_part(s) >= all)
		return NUMAB_BOND_GROUP;
	return few && s->grouped ? NUMAB_BOND_UNKNOWN : NUMAB_BOND_SINGLE;
}

/**
 * numab_bond_loose - does only a common node hold a group together?
 * @s: what their faults said
 *
 * A loose group is one because it may fit on one node. Where it does not get
 * one, most of each member's memory is its own and belongs to its own home, not
 * to any home of the group.
 *
 * Return: true if it does.
 */
bool numab_bond_loose(const struct numab_sharing *s)
{
	unsigned int part = s->loose ? NUMAB_BOND_JOIN : NUMAB_BOND_LEAVE;

	return s->shared * part < s->shared + s->private;
}

/* The thinnest sample of @units that still has @wanted of them. */
static unsigned int numab_stride(unsigned long units, unsigned int wanted)
{
	return clamp(units / wanted, 1UL, (unsigned long)NUMAB_STRIDE_MAX);
}

/* The same, but at most a fifth of the units where there are enough of them. */
static unsigned int numab_first_stride(unsigned long units, unsigned int wanted)
{
	unsigned int stride = numab_stride(units, wanted);

	if (units > NUMAB_STRIDE_FIRST * NUMAB_WINDOW_SAMPLES)
		stride = max_t(unsigned int, stride, NUMAB_STRIDE_FIRST);
	return stride;
}

/*
 * Of memory that threads use in turns of a power of two pages, an even stride
 * would show one thread's pages only.
 */
static unsigned int numab_odd(unsigned int stride)
{
	return (stride - 1) | 1;
}

/* A sample that is large enough to decide by. */
static void numab_plan_sample(const struct numab_scan_input *in,
			      struct numab_scan_plan *plan)
{
	unsigned int threads = clamp(in->threads, 1U, NUMAB_LEARN_THREADS);
	unsigned long huge = in->resident / NUMAB_PAGES_PER_HUGE;

	plan->stride = numab_odd(numab_first_stride(in->resident,
						    NUMAB_LEARN_PAGES * threads));
	plan->huge_stride = numab_first_stride(huge, NUMAB_LEARN_HUGE);
}

static void numab_plan_learn(const struct numab_scan_input *in,
			     struct numab_scan_plan *plan)
{
	numab_plan_sample(in, plan);
	plan->intent = NUMAB_INTENT_LEARN;
	plan->full = false;
	/* Who shares what shows from the second pass on: four in a window. */
	plan->period_ms = max(in->period_min_ms / 4, 1U);
}

static void numab_plan_place(const struct numab_scan_input *in,
			     struct numab_scan_plan *plan)
{
	numab_plan_sample(in, plan);
	plan->intent = NUMAB_INTENT_PLACE;
	plan->full = true;
	plan->period_ms = in->period_min_ms;
	/* Where migration fails, asking again soon only costs more. */
	if (in->failed > in->remote / 2)
		plan->period_ms = min(2 * max(in->period_ms, in->period_min_ms),
				      in->period_max_ms);
}

static void numab_plan_watch(const struct numab_scan_input *in,
			     struct numab_scan_plan *plan)
{
	unsigned int ceiling = min(in->period_max_ms, NUMAB_WATCH_MS);
	unsigned int thinnest = numab_stride(in->resident, NUMAB_WINDOW_SAMPLES);

	plan->intent = NUMAB_INTENT_WATCH;
	plan->full = false;
	plan->stride = numab_odd(min(2 * in->stride + 1, thinnest));
	plan->huge_stride = numab_stride(in->resident / NUMAB_PAGES_PER_HUGE,
					 NUMAB_WINDOW_SAMPLES);
	plan->period_ms = max(min(2 * in->period_ms, ceiling), in->period_min_ms);
}

/**
 * numab_plan_scan - decide how the next pass of the scanner is done
 * @in: what came of the passes before
 * @plan: the result
 *
 * Converged memory backs off in density, not in visits: the period ends at
 * NUMAB_WATCH_MS while the sample gets thinner down to a window's worth.
 */
void numab_plan_scan(const struct numab_scan_input *in,
		     struct numab_scan_plan *plan)
{
	u64 seen = in->local + in->remote;
	u64 remote = in->remote;

	/*
	 * A sample that was found on a wrong node stands for others that are
	 * there still. After a pass that marked them all, it stands for itself.
	 */
	if (in->intent == NUMAB_INTENT_PLACE)
		remote -= min(remote, in->repaired);

	if (in->undecided)
		numab_plan_learn(in, plan);
	else if (in->moved || (remote && remote * NUMAB_REMOTE_PART >= seen))
		numab_plan_place(in, plan);
	else
		numab_plan_watch(in, plan);
}

/**
 * numab_region_note - learn from a hint fault who uses a region
 * @region: the region
 * @owner: who took the fault
 * @home: its home, or NUMA_NO_NODE
 */
void numab_region_note(struct numab_region *region, unsigned int owner, int home)
{
	if (region->run && region->owner != owner) {
		region->run /= NUMAB_REGION_DOUBT;
		if (region->run)
			return;
	}
	region->owner = owner;
	region->home = home;
	region->run = min(region->run + 1, NUMAB_REGION_CERTAIN);
}

/**
 * numab_region_private - is a region used by one task only?
 * @region: the region
 *
 * Two tasks that use it alike take eight faults in a row by chance once in 128
 * times, and then the pages that the other one used last stay all the same.
 *
 * Return: true if it is, as far as can be told.
 */
bool numab_region_private(const struct numab_region *region)
{
	return region->run >= NUMAB_REGION_PRIVATE;
}

/* A page that is used by others too moves only if the last user agrees. */
static enum numab_verdict numab_foreign_verdict(const struct numab_page *page)
{
	if (!page->seen)
		return NUMAB_PAGE_FIRST;
	if (page->last_nid != page->home)
		return NUMAB_PAGE_OTHER;
	return NUMAB_PAGE_MOVE;
}

/**
 * numab_page_verdict - what to do with a page that took a hint fault
 * @page: what is known of it
 *
 * Tasks settle first, pages follow: nothing is copied for a task without home.
 * A page of threads that live together goes with the first of them that comes
 * by, and so does one that nobody was seen at before if the threads have memory
 * of their own as a rule. Else the same thread has to come twice in a row: the
 * chance that a stranger's access is taken for ownership falls with the square
 * of its share (the two-stage filter of AutoNUMA and the 2013 series). Where a
 * region is known to be one task's, its first fault on a page is enough, and a
 * stranger's counts for nothing.
 *
 * Return: the verdict.
 */
enum numab_verdict numab_page_verdict(const struct numab_page *page)
{
	if (page->home == NUMA_NO_NODE)
		return NUMAB_PAGE_UNDECIDED;
	if (page->nid == page->home)
		return NUMAB_PAGE_HOME;
	if (page->at_group_home)
		return NUMAB_PAGE_SHARED;
	if (page->foreign)
		return numab_foreign_verdict(page);
	if (page->together)
		return NUMAB_PAGE_MOVE;
	if (page->owner == NUMAB_OWNER_OTHER)
		return NUMAB_PAGE_OTHER;
	if (!page->seen)
		return page->apart || page->owner == NUMAB_OWNER_SELF ?
			NUMAB_PAGE_MOVE : NUMAB_PAGE_FIRST;
	return page->same_task ? NUMAB_PAGE_MOVE : NUMAB_PAGE_OTHER;
}

/**
 * numab_page_block - does a fault answer for the pages around it as well?
 * @page: what is known of the page
 * @verdict: what is done with it
 *
 * It does where it is known whose they are: all of the group's, or this task's.
 * Each of them still gets a verdict of its own.
 *
 * Return: true if it does.
 */
bool numab_page_block(const struct numab_page *page, enum numab_verdict verdict)
{
	if (page->foreign || !(page->together || page->owner == NUMAB_OWNER_SELF))
		return false;
	return verdict == NUMAB_PAGE_HOME || verdict == NUMAB_PAGE_SHARED ||
	       verdict == NUMAB_PAGE_MOVE;
}

/**
 * numab_swap_gain - what is gained if two tasks change places
 * @swap: the pair; the task that asks gets home by it
 *
 * Return: number of tasks that come home, less those that lose theirs; 0 or
 * less means that the pair must not be swapped.
 */
int numab_swap_gain(const struct numab_swap *swap)
{
	int gain = 1;

	if (swap->partner_home == swap->dst_nid)
		gain--;
	else if (swap->partner_home == swap->src_nid)
		gain++;
	return gain;
}

/*
 * A queue of two is gone in a moment more often than not: a kernel thread that
 * runs for some microseconds is no reason to leave home. But no CPU stays idle
 * for longer than a tick at 250 Hz where somebody waits, and none at all where
 * more than one does.
 */
#define NUMAB_HOLD_QUEUED	2
#define NUMAB_HOLD_US		4000

/**
 * numab_pull_verdict - may the load balancer move a task between nodes?
 * @pull: the move
 *
 * Work before locality: home is a reason to stay for a moment only.
 *
 * Return: 1 if it would take the task from its home and can wait, 0 if it would
 * bring it home, -1 if locality has nothing to say.
 */
int numab_pull_verdict(const struct numab_pull *pull)
{
	if (pull->home == NUMA_NO_NODE || pull->src_nid == pull->dst_nid)
		return -1;
	if (pull->home == pull->dst_nid)
		return 0;
	if (pull->home == pull->src_nid && pull->queued <= NUMAB_HOLD_QUEUED &&
	    pull->idle_us < NUMAB_HOLD_US)
		return 1;
	return -1;
}
