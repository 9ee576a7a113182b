// SPDX-License-Identifier: GPL-2.0
/*
 * A time of day that stands still, to be preloaded into QEMU.
 *
 * QEMU lets its TLBs shrink when they were hardly used for 100 ms of the host's time. What the
 * smaller TLB forgets the guest may notice: a write to a page that has become writable faults or
 * not, depending on whether the old entry is still there. So the host's load reached into the
 * guest. With this clock the TLBs grow with the guest's use of them and never shrink. Nothing else
 * asks for the time of day in a guest with "-rtc clock=vm"; timers use clock_gettime().
 */
#include <stddef.h>
#include <sys/time.h>

/**
 * gettimeofday - the beginning of 2026, as the guest's clock
 * @now: where it goes
 * @zone: unused
 *
 * Return: 0.
 */
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	*now = (struct timeval) { .tv_sec = 1767225600 };
	return 0;
}
