/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decisions of automatic NUMA balancing as functions of plain numbers.
 *
 * Nothing in here knows a task, a run queue, an address space, a lock or the
 * clock, so that the same object is tested by KUnit, in userspace and in the
 * simulator. See Documentation/scheduler/numa-balancing-design.rst.
 */
#ifndef _KERNEL_SCHED_NUMAB_POLICY_H
#define _KERNEL_SCHED_NUMAB_POLICY_H

#include <linux/types.h>
#include <linux/numa.h>

/*
 * Demand and capacity are counted in runnable tasks: one thread that always
 * wants to run is NUMAB_UNIT, and so is a CPU that it can have for itself.
 * Utilisation would not do: eight threads that share one CPU look like one.
 */
#define NUMAB_UNIT		1024U

/* Shares of a whole are fixed point numbers with 16 bits behind the point. */
#define NUMAB_SHARE_ONE		65536U

/*
 * A node is full when its claims round to more tasks than it has CPUs. The half
 * task of slack takes up what averages miss, and tasks that run now and then:
 * counted to the unit, one that runs a tenth of the time would keep a task that
 * runs always from the last CPU of the node and leave that CPU nine tenths idle.
 */
#define NUMAB_ROOM_TOLERANCE	(NUMAB_UNIT / 2)

/*
 * What a subject that has a home wants to gain by leaving it, as a part of what
 * the distance between the old and the new node would cost if all of its memory
 * were at the other end. A decision rests on some 64 samples. A share s that is
 * measured so has a standard deviation of at most sqrt(0.25 / 64) = 1/16; the
 * difference of two costs, (2s - 1) times the distance, has one of 1/8. Two of
 * these are asked for.
 */
#define NUMAB_MARGIN_PART	4

/* Distance of a node to itself, as in the ACPI SLIT. */
#define NUMAB_DISTANCE_LOCAL	10

/**
 * struct numab_node - what a placement decision knows of one node
 * @mem: weighted samples of the subject's memory on the node, below 2^48
 * @capacity: NUMAB_UNIT for each CPU on the node that the subject may use;
 *	0 where it may use none, be it that there are none
 * @fair: what the node may be asked to take when the machine is asked for more
 *	than it has, see numab_fair_capacity(); never below @capacity
 * @claimed: units that others have claimed on the node
 * @here: units of the subject that run on the node now
 * @home: units of the subject whose home is the node now
 * @share: filled by numab_normalise(): @mem as a share of the whole
 * @grant: result of numab_spread(): units of the subject that belong here
 */
struct numab_node {
	u64 mem;
	u32 capacity;
	u32 fair;
	u32 claimed;
	u32 here;
	u32 home;
	u32 share;
	u32 grant;
};

/**
 * struct numab_topology - the machine as a decision sees it
 * @nr: number of nodes that the arrays cover
 * @distance: distance from node @from to node @to, NUMAB_DISTANCE_LOCAL if
 *	they are the same one
 */
struct numab_topology {
	int nr;
	int (*distance)(int from, int to);
};

/**
 * struct numab_window - what a task saw since its last decision
 * @elapsed_ms: time since the window began
 * @samples: hint faults taken in it
 * @passes: complete passes of the scanner over the address space in it
 */
struct numab_window {
	unsigned int elapsed_ms;
	unsigned int samples;
	unsigned int passes;
};

/**
 * struct numab_sharing - who else touches what a task touches
 * @shared: weight of faults on memory that another thread touched last
 * @private: weight of faults on memory that the same thread touched last
 * @samples: number of faults behind these weights
 * @threads: threads of the address space that took part
 * @grouped: verdict of the window before
 * @fits: one node can run all of them
 * @loose: they were no group, or a loose one, the window before
 */
struct numab_sharing {
	u64 shared;
	u64 private;
	unsigned int samples;
	unsigned int threads;
	bool grouped;
	bool fits;
	bool loose;
};

/**
 * enum numab_bond - how the threads of an address space belong together
 * @NUMAB_BOND_UNKNOWN: not enough was seen to tell
 * @NUMAB_BOND_SINGLE: each thread has memory of its own and goes its own way
 * @NUMAB_BOND_GROUP: they use the same memory and are placed together
 */
enum numab_bond {
	NUMAB_BOND_UNKNOWN,
	NUMAB_BOND_SINGLE,
	NUMAB_BOND_GROUP,
};

/**
 * enum numab_intent - what a pass of the scanner is for
 * @NUMAB_INTENT_LEARN: find out who uses what; a sample is enough
 * @NUMAB_INTENT_PLACE: bring memory to the homes of its users; besides the
 *	sample, all that lies on a wrong node is marked
 * @NUMAB_INTENT_WATCH: all is well; a thin sample tells when that changes
 */
enum numab_intent {
	NUMAB_INTENT_LEARN,
	NUMAB_INTENT_PLACE,
	NUMAB_INTENT_WATCH,
};

/**
 * struct numab_scan_input - what the plan for the next pass is made from
 * @period_min_ms: shortest time from pass to pass, a tunable; learning passes
 *	come four times as often
 * @period_max_ms: longest time from pass to pass, a tunable
 * @period_ms: the period in use
 * @resident: resident pages of the address space
 * @threads: threads that use it
 * @stride: the density in use, a sample of one page of so many
 * @local: weight of faults since the last plan whose page was well placed
 * @remote: weight of faults since the last plan whose page was not
 * @repaired: the part of @remote whose page was brought home by the fault
 * @intent: what the pass since the last plan was for
 * @failed: pages that could not be migrated since the last plan
 * @undecided: true while any of the threads has no home
 * @moved: true if a thread got another home since the last plan
 */
struct numab_scan_input {
	unsigned int period_min_ms;
	unsigned int period_max_ms;
	unsigned int period_ms;
	unsigned long resident;
	unsigned int threads;
	unsigned int stride;
	u64 local;
	u64 remote;
	u64 repaired;
	enum numab_intent intent;
	u64 failed;
	bool undecided;
	bool moved;
};

/**
 * struct numab_scan_plan - how the scanner works through the next pass
 * @intent: what the pass is for
 * @stride: the sample is one base page of so many, at least 1
 * @huge_stride: the sample is one huge page of so many, at least 1
 * @full: mark what lies on a wrong node also where it is not in the sample
 * @period_ms: time from the start of this pass to the start of the next
 */
struct numab_scan_plan {
	enum numab_intent intent;
	unsigned int stride;
	unsigned int huge_stride;
	bool full;
	unsigned int period_ms;
};

/**
 * enum numab_owner - whose is a region of memory, as seen by a task?
 * @NUMAB_OWNER_UNKNOWN: several tasks use it, or not enough was seen of it
 * @NUMAB_OWNER_SELF: this task uses it, and nobody else
 * @NUMAB_OWNER_OTHER: one other task uses it, and nobody else
 */
enum numab_owner {
	NUMAB_OWNER_UNKNOWN,
	NUMAB_OWNER_SELF,
	NUMAB_OWNER_OTHER,
};

/* Faults in a row by one task after which a region is its own. */
#define NUMAB_REGION_PRIVATE	8U

/* No more than that is remembered, so that a change of hands is seen. */
#define NUMAB_REGION_CERTAIN	15U

/**
 * struct numab_region - who takes the hint faults in a region of memory
 * @owner: the task, as a number that tells the tasks of a process apart
 * @run: certainty that it is this one alone, up to NUMAB_REGION_CERTAIN; 0 if
 *	nothing is known
 * @home: home of @owner when it was seen last, or NUMA_NO_NODE
 */
struct numab_region {
	unsigned int owner;
	unsigned int run;
	int home;
};

/**
 * struct numab_page - what is known of a page when it takes a hint fault
 * @nid: node it lies on
 * @home: home of the faulting task, or NUMA_NO_NODE
 * @at_group_home: true if @nid is a home of any of the threads, and @together
 * @together: true if all threads of the address space form a group that is not
 *	loose, or have the same home, so that no thread's memory belongs elsewhere
 * @apart: true if the threads of the address space were seen to have memory of
 *	their own
 * @owner: whose the region around the page is
 * @foreign: true if other address spaces map the page as well
 * @seen: true if the page took a hint fault before
 * @same_task: true if it was this task that took it
 * @last_nid: node of the CPU that took it
 */
struct numab_page {
	int nid;
	int home;
	bool at_group_home;
	bool together;
	bool apart;
	enum numab_owner owner;
	bool foreign;
	bool seen;
	bool same_task;
	int last_nid;
};

/**
 * enum numab_verdict - what is done with a page, and why
 * @NUMAB_PAGE_UNDECIDED: stays, the task's home is not known yet
 * @NUMAB_PAGE_HOME: stays, it lies where it should
 * @NUMAB_PAGE_SHARED: stays, it lies at another home of those who share it
 * @NUMAB_PAGE_FIRST: stays, one more fault has to confirm who uses it
 * @NUMAB_PAGE_OTHER: stays, somebody elsewhere used it last
 * @NUMAB_PAGE_MOVE: goes to the task's home
 */
enum numab_verdict {
	NUMAB_PAGE_UNDECIDED,
	NUMAB_PAGE_HOME,
	NUMAB_PAGE_SHARED,
	NUMAB_PAGE_FIRST,
	NUMAB_PAGE_OTHER,
	NUMAB_PAGE_MOVE,
};

/**
 * struct numab_swap - a pair of tasks that could change places
 * @src_nid: node of the task that wants to move
 * @dst_nid: its home, where the partner runs now
 * @partner_home: home of the partner, or NUMA_NO_NODE
 */
struct numab_swap {
	int src_nid;
	int dst_nid;
	int partner_home;
};

/**
 * struct numab_pull - a task that the load balancer would move between nodes
 * @src_nid: node it runs or waits on
 * @dst_nid: node it would go to
 * @home: its home, or NUMA_NO_NODE
 * @queued: tasks on the CPU that it would leave, the running one included
 * @idle_us: for how long the CPU that it would go to has been idle; 0 if it is
 *	not
 */
struct numab_pull {
	int src_nid;
	int dst_nid;
	int home;
	unsigned int queued;
	unsigned int idle_us;
};

void numab_normalise(const struct numab_topology *topo, struct numab_node *nodes);
u32 numab_access_cost(const struct numab_topology *topo,
		      const struct numab_node *nodes, int nid);
u32 numab_fair_capacity(u32 capacity, u64 total_demand, u64 total_capacity);
u32 numab_demand(unsigned long runnable);
u32 numab_room(const struct numab_node *node, u32 limit);
int numab_pick_node(const struct numab_topology *topo,
		    const struct numab_node *nodes, u32 demand);
u32 numab_spread(const struct numab_topology *topo, struct numab_node *nodes,
		 u32 demand);
bool numab_window_over(const struct numab_window *w);
enum numab_bond numab_bond(const struct numab_sharing *s);
bool numab_bond_loose(const struct numab_sharing *s);
void numab_plan_scan(const struct numab_scan_input *in,
		     struct numab_scan_plan *plan);
void numab_region_note(struct numab_region *region, unsigned int owner, int home);
bool numab_region_private(const struct numab_region *region);
enum numab_verdict numab_page_verdict(const struct numab_page *page);
bool numab_page_block(const struct numab_page *page, enum numab_verdict verdict);
int numab_swap_gain(const struct numab_swap *swap);
int numab_pull_verdict(const struct numab_pull *pull);

#endif /* _KERNEL_SCHED_NUMAB_POLICY_H */
