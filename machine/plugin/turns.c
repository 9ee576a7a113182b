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
 * QEMU's main thread runs the guest's timers too, when it happens to be awake at the end of a turn;
 * then all CPUs are asked to exit instead of one, and from there on two runs of the same guest
 * differ. The main thread is needed only while all CPUs are idle, to go on to the next timer. So
 * it is kept waiting while any CPU has something to do.
 *
 * Another request that comes when the host likes is the one to let readers of shared memory come
 * to a quiet point. The thread of the CPUs does that at each end of a turn anyway, so it is taken
 * out.
 *
 * QEMU exports what is needed for all that but does not declare it for plugins. The names are weak:
 * where one is missing the probe stops.
 */
#include <unistd.h>

#include "probe.h"

/* Long enough for a trip through QEMU's loop (some microseconds) to be 1 % of it. */
#define TURN	(1 << 14)

/* How often the main thread looks whether it is needed: an idle spell costs the host about that. */
#define PARKED_US	200

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
struct AioContext *qemu_get_aio_context(void) __attribute__((weak));
void aio_bh_schedule_oneshot_full(struct AioContext *ctx, void (*function)(void *data), void *data,
				  const char *name) __attribute__((weak));
void qemu_mutex_lock_iothread_impl(const char *file, int line) __attribute__((weak));
void qemu_mutex_unlock_iothread(void) __attribute__((weak));
bool all_cpu_threads_idle(void) __attribute__((weak));
int qemu_shutdown_requested_get(void) __attribute__((weak));
int qemu_reset_requested_get(void) __attribute__((weak));

static struct CPUState *cpus[MAX_CPUS], *twins[MAX_CPUS];
static volatile bool parked;

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

/*
 * Runs in the main thread. Idle must be seen twice: a CPU that halts is idle some time before its
 * instructions are accounted.
 */
static void park(void *data)
{
	unsigned int idle = 0;

	parked = true;
	while (idle < 2 && !qemu_shutdown_requested_get() && !qemu_reset_requested_get()) {
		qemu_mutex_unlock_iothread();
		usleep(PARKED_US);
		qemu_mutex_lock_iothread_impl(__FILE__, __LINE__);
		idle = all_cpu_threads_idle() ? idle + 1 : 0;
	}
	if (idle >= 2)
		aio_bh_schedule_oneshot_full(qemu_get_aio_context(), park, NULL, "numa_probe");
}

/* Does QEMU export everything? */
static bool exported(void)
{
	return rcu_add_force_rcu_notifier && rcu_remove_force_rcu_notifier && qemu_get_cpu &&
	       cpu_exit && qemu_get_aio_context && aio_bh_schedule_oneshot_full &&
	       qemu_mutex_lock_iothread_impl && qemu_mutex_unlock_iothread &&
	       all_cpu_threads_idle && qemu_shutdown_requested_get && qemu_reset_requested_get;
}

/**
 * turns_init - prepare; runs in the thread of the CPUs, when the kernel begins
 *
 * The firmware would wait for work that only the main thread does.
 */
void turns_init(void)
{
	unsigned int cpu;

	if (!exported())
		stop("this QEMU does not let the probe give CPUs their turns");
	no_requests();
	aio_bh_schedule_oneshot_full(qemu_get_aio_context(), park, NULL, "numa_probe");
	while (!parked)
		usleep(PARKED_US);
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
	cpu->turn = TURN + (cpu->turn < TURN ? cpu->turn : TURN);
	if (twins[vcpu])
		cpu_exit(twins[vcpu]);
}
