// SPDX-License-Identifier: GPL-2.0
/*
 * Give the CPUs equal turns, and keep the host's time out of them.
 *
 * QEMU runs the guest's CPUs in turn in one thread. By itself it ends a turn when the guest's next
 * timer is due. Ticks are not spread evenly (skew_tick=1 takes the first half of a period), so the
 * CPU that runs last before the gap gets half of all instructions. Here a turn has a length, and
 * what a timer cuts off is added to the CPU's next one.
 *
 * When a turn does end with a timer, QEMU would go on to the next CPU without running the timer,
 * and that CPU would have no time at all. A CPU that is asked to exit beforehand makes QEMU take
 * its longer way, by the timers. The twin, a CPU behind each real one that is never started, is
 * asked: it has nothing to lose.
 *
 * When QEMU wants to free memory that readers may still use (a hash table of translated blocks has
 * grown, say), it may ask the thread that runs the CPUs to come to a quiet point. That would cut
 * the turn of the CPU that happens to run, at a moment that the host decides, and from there on
 * two runs of the same guest differ. The thread comes to a quiet point at each end of a turn
 * anyway, so the request is taken out. fixed_clock.c is the other half of that.
 *
 * QEMU exports what is needed for all that but does not declare it for plugins. The names are weak:
 * where one is missing the probe stops.
 */
#include "probe.h"

/* Long enough for a trip through QEMU's loop (some microseconds) to be 1 % of it. */
#define TURN	(1 << 14)

/* QEMU's Notifier: a function and a list entry. */
struct notifier {
	void (*notify)(struct notifier *notifier, void *data);
	struct notifier *next;
	struct notifier **prev;
};

struct CPUState;

void rcu_add_force_rcu_notifier(struct notifier *notifier) __attribute__((weak));
void rcu_remove_force_rcu_notifier(struct notifier *notifier) __attribute__((weak));
struct CPUState *qemu_get_cpu(int index) __attribute__((weak));
void cpu_exit(struct CPUState *cpu) __attribute__((weak));

static struct CPUState *cpus[MAX_CPUS], *twins[MAX_CPUS];

static void ignore(struct notifier *notifier, void *data)
{
}

/* Take out the requests that cut turns: a notifier of ours in front of the list finds them. */
static void no_requests(void)
{
	struct notifier ours = { .notify = ignore };
	struct notifier *other;

	rcu_add_force_rcu_notifier(&ours);
	while ((other = ours.next)) {
		rcu_remove_force_rcu_notifier(other);
		if (ours.next == other)
			stop("QEMU's list of notifiers is not what was expected");
	}
	rcu_remove_force_rcu_notifier(&ours);
}

/**
 * turns_init - prepare; runs in the thread of the CPUs, when all of them exist
 */
void turns_init(void)
{
	unsigned int cpu;

	if (!rcu_add_force_rcu_notifier || !rcu_remove_force_rcu_notifier || !qemu_get_cpu ||
	    !cpu_exit)
		stop("this QEMU does not let the probe give CPUs their turns");
	no_requests();
	for (cpu = 0; cpu < probe.nr_cpus; cpu++) {
		cpus[cpu] = qemu_get_cpu(cpu);
		twins[cpu] = qemu_get_cpu(probe.nr_cpus + cpu);
		if (!cpus[cpu] || (!twins[cpu] && probe.nr_cpus > 1))
			stop("CPU %u or its twin is missing", cpu);
	}
}

/**
 * turns_next - a CPU begins its turn, or has used it up
 * @vcpu: the CPU
 */
void turns_next(unsigned int vcpu)
{
	struct cpu *cpu = &probe.cpu[vcpu];

	/* The firmware starts all CPUs; later on, a twin would be in no figure. */
	if (vcpu >= probe.nr_cpus && probe.begun)
		stop("CPU %u runs, the options tell of %u", vcpu, probe.nr_cpus);
	if (cpu == probe.running && cpus[vcpu])
		cpu_exit(cpus[vcpu]);
	probe.running = cpu;
	queues_note();
	cpu->turn = TURN + (cpu->turn < TURN ? cpu->turn : TURN);
	if (twins[vcpu])
		cpu_exit(twins[vcpu]);
}
