/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM numab

#if !defined(_TRACE_NUMAB_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_NUMAB_H

#include <linux/numa_balance.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

/* The values are those of the enums in kernel/sched/numab_policy.h. */
#define show_numab_intent(intent)					\
	__print_symbolic(intent, { 0, "learn" }, { 1, "place" }, { 2, "watch" })

#define show_numab_bond(bond)						\
	__print_symbolic(bond, { 0, "unknown" }, { 1, "single" }, { 2, "group" })

#define show_numab_verdict(verdict)					\
	__print_symbolic(verdict, { 0, "undecided" }, { 1, "home" },	\
			 { 2, "shared" }, { 3, "first" }, { 4, "other" },	\
			 { 5, "move" })

/* One slice of a pass over an address space. */
TRACE_EVENT(numab_scan,

	TP_PROTO(const struct numab_scan *scan, unsigned long start,
		 unsigned long end, unsigned int examined, unsigned int marked),

	TP_ARGS(scan, start, end, examined, marked),

	TP_STRUCT__entry(
		__field(unsigned long,	start)
		__field(unsigned long,	end)
		__field(unsigned int,	intent)
		__field(unsigned int,	stride)
		__field(unsigned int,	huge_stride)
		__field(unsigned int,	examined)
		__field(unsigned int,	marked)
	),

	TP_fast_assign(
		__entry->start		= start;
		__entry->end		= end;
		__entry->intent		= scan->intent;
		__entry->stride		= scan->stride;
		__entry->huge_stride	= scan->huge_stride;
		__entry->examined	= examined;
		__entry->marked		= marked;
	),

	TP_printk("start=%lx end=%lx intent=%s stride=%u/%u examined=%u marked=%u",
		  __entry->start, __entry->end,
		  show_numab_intent(__entry->intent), __entry->stride,
		  __entry->huge_stride, __entry->examined, __entry->marked)
);

/* The plan for the next pass over an address space. */
TRACE_EVENT(numab_plan,

	TP_PROTO(pid_t tgid, const struct numab_scan *scan, u64 local,
		 u64 remote, u64 failed),

	TP_ARGS(tgid, scan, local, remote, failed),

	TP_STRUCT__entry(
		__field(pid_t,		tgid)
		__field(unsigned int,	intent)
		__field(unsigned int,	stride)
		__field(unsigned int,	period_ms)
		__field(u64,		local)
		__field(u64,		remote)
		__field(u64,		failed)
	),

	TP_fast_assign(
		__entry->tgid		= tgid;
		__entry->intent		= scan->intent;
		__entry->stride		= scan->stride;
		__entry->period_ms	= scan->period_ms;
		__entry->local		= local;
		__entry->remote		= remote;
		__entry->failed		= failed;
	),

	TP_printk("tgid=%d intent=%s stride=%u period_ms=%u local=%llu remote=%llu failed=%llu",
		  __entry->tgid, show_numab_intent(__entry->intent),
		  __entry->stride, __entry->period_ms, __entry->local,
		  __entry->remote, __entry->failed)
);

/* A hinting fault and what was done with the page. */
TRACE_EVENT(numab_hint,

	TP_PROTO(const struct numab_hint *hint, int home),

	TP_ARGS(hint, home),

	TP_STRUCT__entry(
		__field(int,		nid)
		__field(int,		home)
		__field(int,		target)
		__field(int,		nr_pages)
		__field(unsigned long,	weight)
		__field(unsigned int,	verdict)
		__field(unsigned int,	along)
		__field(bool,		migrated)
		__field(bool,		failed)
	),

	TP_fast_assign(
		__entry->nid		= hint->nid;
		__entry->home		= home;
		__entry->target		= hint->target;
		__entry->nr_pages	= hint->nr_pages;
		__entry->weight		= hint->weight;
		__entry->verdict	= hint->verdict;
		__entry->along		= hint->moved_along;
		__entry->migrated	= hint->migrated;
		__entry->failed		= hint->failed;
	),

	TP_printk("nid=%d home=%d target=%d pages=%d weight=%lu verdict=%s migrated=%d along=%u failed=%d",
		  __entry->nid, __entry->home, __entry->target,
		  __entry->nr_pages, __entry->weight,
		  show_numab_verdict(__entry->verdict), __entry->migrated,
		  __entry->along, __entry->failed)
);

/* A task got a home, another one, or lost it. */
TRACE_EVENT(numab_home,

	TP_PROTO(struct task_struct *p, int old, int new, unsigned int bond,
		 unsigned int demand),

	TP_ARGS(p, old, new, bond, demand),

	TP_STRUCT__entry(
		__field(pid_t,		pid)
		__field(pid_t,		tgid)
		__field(int,		old)
		__field(int,		new)
		__field(unsigned int,	bond)
		__field(unsigned int,	demand)
	),

	TP_fast_assign(
		__entry->pid		= p->pid;
		__entry->tgid		= p->tgid;
		__entry->old		= old;
		__entry->new		= new;
		__entry->bond		= bond;
		__entry->demand		= demand;
	),

	TP_printk("pid=%d tgid=%d old=%d new=%d bond=%s demand=%u",
		  __entry->pid, __entry->tgid, __entry->old, __entry->new,
		  show_numab_bond(__entry->bond), __entry->demand)
);

/* What faults say about the threads of an address space, at the end of a window. */
TRACE_EVENT(numab_bond,

	TP_PROTO(pid_t tgid, unsigned int bond, u64 shared, u64 private,
		 unsigned int samples, unsigned int threads),

	TP_ARGS(tgid, bond, shared, private, samples, threads),

	TP_STRUCT__entry(
		__field(pid_t,		tgid)
		__field(unsigned int,	bond)
		__field(u64,		shared)
		__field(u64,		private)
		__field(unsigned int,	samples)
		__field(unsigned int,	threads)
	),

	TP_fast_assign(
		__entry->tgid		= tgid;
		__entry->bond		= bond;
		__entry->shared		= shared;
		__entry->private	= private;
		__entry->samples	= samples;
		__entry->threads	= threads;
	),

	TP_printk("tgid=%d bond=%s shared=%llu private=%llu samples=%u threads=%u",
		  __entry->tgid, show_numab_bond(__entry->bond),
		  __entry->shared, __entry->private, __entry->samples,
		  __entry->threads)
);

/* A task that is not at home tried to get there; partner 0 is no swap. */
TRACE_EVENT(numab_move,

	TP_PROTO(struct task_struct *p, int home, int dst_cpu, pid_t partner,
		 int result),

	TP_ARGS(p, home, dst_cpu, partner, result),

	TP_STRUCT__entry(
		__field(pid_t,	pid)
		__field(int,	src_cpu)
		__field(int,	home)
		__field(int,	dst_cpu)
		__field(pid_t,	partner)
		__field(int,	result)
	),

	TP_fast_assign(
		__entry->pid		= p->pid;
		__entry->src_cpu	= task_cpu(p);
		__entry->home		= home;
		__entry->dst_cpu	= dst_cpu;
		__entry->partner	= partner;
		__entry->result		= result;
	),

	TP_printk("pid=%d cpu=%d home=%d dst_cpu=%d partner=%d result=%d",
		  __entry->pid, __entry->src_cpu, __entry->home,
		  __entry->dst_cpu, __entry->partner, __entry->result)
);

#endif /* _TRACE_NUMAB_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
