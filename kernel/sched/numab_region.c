// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: who uses which part of an address space
 *
 * An address space is cut into regions of equal size, and for each one in which
 * hinting faults were seen a word remembers which thread took them, how certain
 * that is, and where that thread is at home. A region of one thread is known
 * page by page from a few samples: its pages may go to their home many at a
 * time, and the scanner can tell which of them lie there already.
 *
 * The words are values of an xarray, keyed by address. They do not follow
 * munmap() or mremap(): what is said of memory that is gone is contradicted by
 * the first faults on what comes in its place, and until then does no more harm
 * than a wrong guess about a page that nobody was seen at.
 *
 * Lock: the xarray's, taken in task context outside any page table lock. It is
 * of the kind that keeps softirqs out, since the array may be freed in one.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/xarray.h>

#include "sched.h"
#include "numab.h"

/* Larger address spaces get larger regions. Some nine bytes are used for one. */
#define NUMAB_REGIONS_MAX	4096

/*
 * Samples that one pass should take in a region, when it takes so many in all
 * or one page of so many, whichever is more; see numab_plan_scan().
 */
#define NUMAB_REGION_SAMPLES	4
#define NUMAB_REGION_PASS	512
#define NUMAB_REGION_STRIDE	511UL

/*
 * A word: 4 bits of certainty, 11 of the home (0: none), 15 of the thread. Two
 * threads of a process whose PIDs are 32,768 apart are taken for one.
 */
#define NUMAB_RUN_BITS		4
#define NUMAB_HOME_BITS		11
#define NUMAB_OWNER_BITS	15

static_assert(NUMAB_RUN_BITS + NUMAB_HOME_BITS + NUMAB_OWNER_BITS < BITS_PER_LONG);
static_assert(BIT(NUMAB_HOME_BITS) > MAX_NUMNODES);
static_assert(BIT(NUMAB_RUN_BITS) > NUMAB_REGION_CERTAIN);

static unsigned int numab_owner(const struct task_struct *p)
{
	return p->pid & (BIT(NUMAB_OWNER_BITS) - 1);
}

static void *numab_region_pack(const struct numab_region *region)
{
	unsigned long word = region->owner;

	word = word << NUMAB_HOME_BITS | (region->home + 1);
	word = word << NUMAB_RUN_BITS | region->run;
	return xa_mk_value(word);
}

static struct numab_region numab_region_unpack(const void *entry)
{
	unsigned long word = xa_is_value(entry) ? xa_to_value(entry) : 0;

	return (struct numab_region){
		.run	= word & (BIT(NUMAB_RUN_BITS) - 1),
		.home	= (int)(word >> NUMAB_RUN_BITS & (BIT(NUMAB_HOME_BITS) - 1)) - 1,
		.owner	= word >> (NUMAB_RUN_BITS + NUMAB_HOME_BITS),
	};
}

static struct numab_region numab_region_get(struct numab_mm *nm, unsigned long addr)
{
	return numab_region_unpack(xa_load(&nm->regions,
					   addr >> READ_ONCE(nm->region_shift)));
}

/**
 * numab_regions_init - prepare the regions of an address space
 * @nm: its state
 */
void numab_regions_init(struct numab_mm *nm)
{
	xa_init_flags(&nm->regions, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	nm->region_shift = PMD_SHIFT;
}

/**
 * numab_regions_free - forget all regions
 * @nm: the state of the address space
 *
 * Context: any but hard interrupts.
 */
void numab_regions_free(struct numab_mm *nm)
{
	xa_destroy(&nm->regions);
}

/* Start again with regions of another size. */
static void numab_regions_resize(struct numab_mm *nm, unsigned int shift)
{
	xa_destroy(&nm->regions);
	nm->nr_regions = 0;
	WRITE_ONCE(nm->region_shift, shift);
}

/**
 * numab_regions_fit - choose the size of regions to fit the address space
 * @nm: its state
 * @resident: its resident pages
 *
 * Regions that are too small for the sample that a learning pass takes for many
 * threads are made larger; what was known is learned again. They never get
 * smaller, and small regions are better: one that several threads have a part
 * of is nobody's.
 *
 * Context: task context; the caller has the scanner.
 */
void numab_regions_fit(struct numab_mm *nm, unsigned long resident)
{
	unsigned long pages = min(resident / NUMAB_REGION_PASS, NUMAB_REGION_STRIDE) *
			      NUMAB_REGION_SAMPLES;
	unsigned int shift = PAGE_SHIFT + order_base_2(max(pages, 1UL));

	if (READ_ONCE(nm->nr_regions) > NUMAB_REGIONS_MAX)
		shift = max(shift, nm->region_shift + 1);
	if (shift > nm->region_shift)
		numab_regions_resize(nm, shift);
}

/**
 * numab_region_used - note that the current task took a hint fault in a region
 * @nm: the state of its address space
 * @addr: where
 * @home: the task's home, or NUMA_NO_NODE
 *
 * Context: task context, no page table lock held; may sleep. Without memory the
 * region stays unknown.
 */
void numab_region_used(struct numab_mm *nm, unsigned long addr, int home)
{
	struct numab_region region;
	unsigned long index;
	void *old;

	xa_lock_bh(&nm->regions);
	index = addr >> READ_ONCE(nm->region_shift);
	old = xa_load(&nm->regions, index);
	/* The next pass makes them larger. */
	if (!old && nm->nr_regions > NUMAB_REGIONS_MAX)
		goto unlock;
	region = numab_region_unpack(old);
	numab_region_note(&region, numab_owner(current), home);
	if (!xa_is_err(__xa_store(&nm->regions, index, numab_region_pack(&region),
				  GFP_KERNEL)) && !old)
		WRITE_ONCE(nm->nr_regions, nm->nr_regions + 1);
unlock:
	xa_unlock_bh(&nm->regions);
}

/**
 * numab_region_of_current - is a region the current task's own?
 * @nm: the state of its address space
 * @addr: an address in the region
 *
 * Context: any.
 *
 * Return: an enum numab_owner.
 */
enum numab_owner numab_region_of_current(struct numab_mm *nm, unsigned long addr)
{
	struct numab_region region = numab_region_get(nm, addr);

	if (!numab_region_private(&region))
		return NUMAB_OWNER_UNKNOWN;
	return region.owner == numab_owner(current) ? NUMAB_OWNER_SELF : NUMAB_OWNER_OTHER;
}

/**
 * numab_region_owned - is a region used by one thread only?
 * @nm: the state of the address space
 * @addr: an address in the region
 * @home: set to the home of that thread as of its last fault there, which may
 *	be NUMA_NO_NODE
 *
 * Context: any.
 *
 * Return: true if it is; otherwise @home is left alone.
 */
bool numab_region_owned(struct numab_mm *nm, unsigned long addr, int *home)
{
	struct numab_region region = numab_region_get(nm, addr);

	if (!numab_region_private(&region))
		return false;
	*home = region.home;
	return true;
}
