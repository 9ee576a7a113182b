// SPDX-License-Identifier: GPL-2.0
/*
 * Keep the turns of the CPUs free of the host's time.
 *
 * When QEMU wants to free memory that readers may still use (a hash table of translated blocks has
 * grown, say), it asks the thread that runs the CPUs to come to a quiet point soon. That cuts the
 * turn of the CPU that happens to run, at a moment that the host decides, and from there on two
 * runs of the same guest differ. The thread comes to a quiet point at each end of a turn anyway, so
 * the request is taken out. QEMU exports what is needed for that but does not declare it for
 * plugins; where it is missing, turns stay as they are.
 */
#include "probe.h"

/* QEMU's Notifier: a function and a list entry. */
struct notifier {
	void (*notify)(struct notifier *notifier, void *data);
	struct notifier *next;
	struct notifier **prev;
};

void rcu_add_force_rcu_notifier(struct notifier *notifier) __attribute__((weak));
void rcu_remove_force_rcu_notifier(struct notifier *notifier) __attribute__((weak));

static void ignore(struct notifier *notifier, void *data)
{
}

/**
 * turns_protect - take out the requests that cut turns; runs in the thread of the CPUs
 *
 * A notifier of ours is put in front of the list to find those that are on it.
 *
 * Return: false if this QEMU does not let us.
 */
bool turns_protect(void)
{
	struct notifier probe_end = { .notify = ignore };
	struct notifier *other;

	if (!rcu_add_force_rcu_notifier || !rcu_remove_force_rcu_notifier)
		return false;
	rcu_add_force_rcu_notifier(&probe_end);
	while ((other = probe_end.next)) {
		rcu_remove_force_rcu_notifier(other);
		if (probe_end.next == other)
			stop("QEMU's list of notifiers is not what was expected");
	}
	rcu_remove_force_rcu_notifier(&probe_end);
	return true;
}
