// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: how a task gets home
 *
 * A task moves itself, in its own task work, with no lock held. Homes are given
 * out so that there is a CPU for everybody (numab_group.c), which does not mean
 * that the CPU is free now: somebody else may still run there who belongs
 * elsewhere. In order of preference:
 *
 *	1. an idle CPU at home
 *	2. change places with a task that runs there and does not belong there,
 *	   best one whose home is here
 *	3. a CPU at home that has fewer tasks waiting than this one
 *
 * Every swap brings one task home and takes none away from home, so the number
 * of tasks away from home falls with each. A CPU is the target of one move at a
 * time (rq->numa_migrate_on).
 */
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/mmu_context.h>
#include <linux/sched/isolation.h>
#include <linux/sched/task.h>

#include "sched.h"
#include "numab.h"

#include <trace/events/numab.h>

/*
 * A try is not repeated for so long, whatever came of it. Long enough not to
 * search at each tick, short enough that a free CPU is found within a scan
 * period. Each further try doubles it, up to 3.2 s: where wake-ups and load
 * balancing keep taking a task away, to bring it back is work for nothing. A
 * task that has been at home for two windows begins anew.
 */
#define NUMAB_RETRY_MS		100
#define NUMAB_TRIES_MAX		5
#define NUMAB_AT_EASE		(2 * HZ)

/* CPUs of the home node that one search looks at. */
#define NUMAB_SEARCH_MAX	64

/*
 * What a search found, best first: an idle CPU, a partner, a shorter queue.
 * @partner is referenced.
 */
struct numab_target {
	int			idle_cpu;
	int			swap_cpu;
	int			swap_gain;
	struct task_struct	*partner;
	int			queue_cpu;
	unsigned int		queued;
};

/* Could this task run here instead, and would it be right to make it? */
static int numab_partner_gain(struct task_struct *p, struct task_struct *t, int cpu)
{
	struct numab_swap swap = {
		.src_nid	= task_node(p),
		.dst_nid	= cpu_to_node(cpu),
	};

	if (t == p || is_idle_task(t) || (t->flags & (PF_EXITING | PF_KTHREAD)))
		return 0;
	if (t->sched_class != &fair_sched_class ||
	    !cpumask_test_cpu(task_cpu(p), t->cpus_ptr))
		return 0;

	swap.partner_home = READ_ONCE(t->numa_preferred_nid);
	return numab_swap_gain(&swap);
}

static void numab_consider_swap(struct numab_target *target,
				struct task_struct *p, int cpu)
{
	struct task_struct *t;
	int gain;

	guard(rcu)();
	t = rcu_dereference(cpu_rq(cpu)->curr);
	if (!t)
		return;
	gain = numab_partner_gain(p, t, cpu);
	if (gain <= target->swap_gain)
		return;

	if (target->partner)
		put_task_struct(target->partner);
	target->partner = tryget_task_struct(t);
	target->swap_gain = target->partner ? gain : 0;
	target->swap_cpu = cpu;
}

static void numab_search(struct numab_target *target, struct task_struct *p, int nid)
{
	/* Begin elsewhere each time, or CPUs past the limit are never seen. */
	unsigned int start = get_random_u32_below(nr_cpu_ids);
	unsigned int cpu, looked = 0;

	for_each_cpu_wrap(cpu, cpumask_of_node(nid), start) {
		struct rq *rq = cpu_rq(cpu);
		unsigned int queued = READ_ONCE(rq->nr_running);

		if (looked++ == NUMAB_SEARCH_MAX)
			return;
		if (!cpumask_test_cpu(cpu, p->cpus_ptr) || !cpu_active(cpu) ||
		    READ_ONCE(rq->numa_migrate_on) ||
		    !housekeeping_cpu(cpu, HK_TYPE_DOMAIN))
			continue;
		if (available_idle_cpu(cpu)) {
			target->idle_cpu = cpu;
			return;
		}
		numab_consider_swap(target, p, cpu);
		if (queued < target->queued) {
			target->queued = queued;
			target->queue_cpu = cpu;
		}
	}
}

static void numab_move_to(struct task_struct *p, int nid, int cpu)
{
	struct rq *rq = cpu_rq(cpu);
	int ret;

	if (xchg(&rq->numa_migrate_on, 1))
		return;
	ret = migrate_task_to(p, cpu);
	WRITE_ONCE(rq->numa_migrate_on, 0);

	trace_numab_move(p, nid, cpu, 0, ret);
}

static void numab_swap_with(struct task_struct *p, int nid,
			    const struct numab_target *target)
{
	struct rq *rq = cpu_rq(target->swap_cpu);
	int ret;

	if (xchg(&rq->numa_migrate_on, 1))
		return;
	ret = migrate_swap(p, target->partner, target->swap_cpu, task_cpu(p));
	WRITE_ONCE(rq->numa_migrate_on, 0);

	trace_numab_move(p, nid, target->swap_cpu, target->partner->pid, ret);
}

static void numab_move_home(struct task_struct *p, int nid)
{
	struct numab_target target = {
		.idle_cpu	= -1,
		.queue_cpu	= -1,
		/* The move must leave the queue there no longer than this one. */
		.queued		= max(READ_ONCE(task_rq(p)->nr_running), 1U) - 1,
	};

	numab_search(&target, p, nid);

	if (target.idle_cpu >= 0)
		numab_move_to(p, nid, target.idle_cpu);
	else if (target.partner)
		numab_swap_with(p, nid, &target);
	else if (target.queue_cpu >= 0)
		numab_move_to(p, nid, target.queue_cpu);
	else
		trace_sched_stick_numa(p, task_cpu(p), NULL, -1);

	if (target.partner)
		put_task_struct(target.partner);
}

/**
 * numab_go_home - bring the current task to its home, if it is not there
 * @nt: current's state
 *
 * Also tells the load balancer and the wake-up path where home is. Tasks of
 * other classes than fair are where their class wants them.
 *
 * Context: task context, no locks held.
 */
void numab_go_home(struct numab_task *nt)
{
	struct task_struct *p = nt->task;
	int home = READ_ONCE(nt->home);

	if (home == NUMA_NO_NODE)
		return;
	if (p->numa_preferred_nid != home)
		sched_setnuma(p, home);

	if (home == task_node(p)) {
		if (time_after(jiffies, p->numa_migrate_retry + NUMAB_AT_EASE))
			nt->tries = 0;
		return;
	}
	if (p->sched_class != &fair_sched_class ||
	    time_before(jiffies, p->numa_migrate_retry))
		return;

	numab_move_home(p, home);
	p->numa_migrate_retry = jiffies + msecs_to_jiffies(NUMAB_RETRY_MS << nt->tries);
	nt->tries = min(nt->tries + 1, NUMAB_TRIES_MAX);
}
