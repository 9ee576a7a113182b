// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: the scanner
 *
 * The scanner makes page table entries inaccessible, so that the next access
 * takes a hinting fault (mm/numa_hint.c) and tells who uses the page and from
 * where. It runs in the context of the tasks that own the address space, on
 * their way back to user mode, in slices:
 *
 *	pass	once over the address space; what it is for and how many pages
 *		of how many it marks is planned by the scheduler side
 *		(numab_plan_pass()), and does not change during the pass
 *	slice	what one task does at one tick, bounded in entries (below)
 *
 * A slice holds mmap_lock for reading, opens one mmu_gather and finishes it
 * before it drops the lock. That order is not a matter of taste: an entry that
 * was marked but not flushed looks absent to mprotect(), which then would skip
 * the flush of a writable translation that is still cached.
 *
 * mm->numa_next_scan is the time of the next slice. Whoever moves it forward
 * owns the scanner until that time; a slice ends long before the next tick, and
 * if one does not, the owner bit below keeps a second one out.
 */
#include <linux/hugetlb.h>
#include <linux/jiffies.h>
#include <linux/ksm.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/numa_balance.h>
#include <linux/pagewalk.h>
#include <linux/sizes.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

#include <asm/tlb.h>

#include <trace/events/numab.h>

#include "internal.h"

/*
 * Bounds of a slice. Marking a page costs some 300 instructions, looking at one
 * that stays as it is about 100, so that a slice is about 100,000 at the most,
 * whatever the address space looks like. At 250 slices a second, which the tick
 * allows, 48,000 pages can be marked in one; with a third of that, to mark the
 * 192 MB of a process that is to be moved takes as long as to copy them. A huge
 * page is much dearer to fault on if it has to be copied.
 */
#define NUMAB_SLICE_EXAMINED	512
#define NUMAB_SLICE_MARKED	192
#define NUMAB_SLICE_HUGE	16
#define NUMAB_SLICE_VMAS	32

/*
 * An address space with less memory of its own lives in the second-level cache
 * of a CPU (1 MB is a small one), wherever its pages are; what would be saved is
 * less than the scan costs. Text and data of files are in many caches anyway.
 */
#define NUMAB_SMALL		(SZ_1M / PAGE_SIZE)

/* So many slices may find mmap_lock taken; the next one queues for it. */
#define NUMAB_SLICE_LOST_MAX	16

/*
 * One slice of the scanner: where it is, and what it has done. Lives on the
 * stack of numab_scan_slice(). What is known of the page table at hand:
 *
 *	home	the pages belong to this node, unless it is NUMA_NO_NODE
 *	lead	one marked page leads its block (mm/numa_hint.c): mark no more
 *	skip	below this address only pages of the sample are of interest
 */
struct numab_slice {
	const struct numab_scan	*scan;
	int			home;
	bool			lead;
	unsigned long		skip;
	struct mmu_gather	tlb;
	unsigned long		pos;
	unsigned int		examined;
	unsigned int		marked;
	unsigned int		huge;
	unsigned int		vmas;
	unsigned long		pages;
};

static bool numab_slice_over(const struct numab_slice *slice)
{
	return slice->examined >= NUMAB_SLICE_EXAMINED ||
	       slice->marked >= NUMAB_SLICE_MARKED ||
	       slice->huge >= NUMAB_SLICE_HUGE ||
	       slice->vmas >= NUMAB_SLICE_VMAS;
}

/*
 * Memory that cannot move, or whose move would help nobody: reading executable
 * or constant data of a file is served from caches, and an area without access
 * must go on faulting as it does.
 */
static bool numab_vma_eligible(struct vm_area_struct *vma)
{
	if (is_vm_hugetlb_page(vma) || (vma->vm_flags & VM_MIXEDMAP))
		return false;
	if (!vma_migratable(vma) || !vma_policy_mof(vma))
		return false;
	if (vma->vm_file && (vma->vm_flags & (VM_READ | VM_WRITE)) == VM_READ)
		return false;
	return vma_is_accessible(vma);
}

/**
 * numab_folio_eligible - can a folio move, and would it help?
 * @vma: where it is mapped
 * @folio: the folio
 *
 * A folio is worth a fault if it can move (not pinned for DMA, not dirty in the
 * page cache, not KSM) and if the answer is of use to one address space:
 * private memory that others map is copied on write sooner or later.
 *
 * Context: the page table lock that keeps @folio mapped is held.
 *
 * Return: true if it is.
 */
bool numab_folio_eligible(struct vm_area_struct *vma, struct folio *folio)
{
	if (folio_is_zone_device(folio) || folio_test_ksm(folio))
		return false;
	if (folio_is_file_lru(folio) && folio_test_dirty(folio))
		return false;
	if (is_cow_mapping(vma->vm_flags) &&
	    (folio_maybe_dma_pinned(folio) || folio_likely_mapped_shared(folio)))
		return false;
	return true;
}

/* In the sample, or in need of a move? */
static bool numab_wanted(const struct numab_slice *slice, struct folio *folio,
			 bool in_sample)
{
	int nid = folio_nid(folio);

	return in_sample || (nid != slice->home && !node_isset(nid, slice->scan->settled));
}

/* The folio of an entry that is to be marked, or NULL. */
static struct folio *numab_pte_eligible(struct vm_area_struct *vma,
					unsigned long addr, pte_t pte,
					const struct numab_slice *slice)
{
	const struct numab_scan *scan = slice->scan;
	unsigned long page = addr >> PAGE_SHIFT;
	bool in_sample = numab_next_in_sample(page, scan->stride, scan->phase) == page;
	struct folio *folio;

	if (!pte_present(pte) || pte_protnone(pte))
		return NULL;

	folio = vm_normal_folio(vma, addr, pte);
	if (!folio || !numab_wanted(slice, folio, in_sample) ||
	    !numab_folio_eligible(vma, folio))
		return NULL;
	return folio;
}

/* Either all of the threads share a home, or the memory is one thread's. */
static void numab_look_up(struct numab_slice *slice, struct mm_struct *mm,
			  unsigned long addr)
{
	const struct numab_scan *scan = slice->scan;

	slice->home = NUMA_NO_NODE;
	slice->lead = scan->full && (!nodes_empty(scan->settled) ||
				     numab_region_owned(mm->numab, addr, &slice->home));
	/* That is where the pages of a task that has moved belonged before. */
	if (scan->moved)
		slice->home = NUMA_NO_NODE;
	slice->skip = scan->full ? 0 : ULONG_MAX;
}

/* The first address from @addr on that is to be looked at. */
static unsigned long numab_next(const struct numab_slice *slice, unsigned long addr)
{
	const struct numab_scan *scan = slice->scan;
	unsigned long page;

	if (addr >= slice->skip)
		return addr;
	page = numab_next_in_sample(addr >> PAGE_SHIFT, scan->stride, scan->phase);
	return min(page << PAGE_SHIFT, slice->skip);
}

static void numab_mark_pte(struct numab_slice *slice, struct vm_area_struct *vma,
			   unsigned long addr, pte_t *ptep)
{
	pte_t old = ptep_modify_prot_start(vma, addr, ptep);
	pte_t new = pte_modify(old, PAGE_NONE);

	ptep_modify_prot_commit(vma, addr, ptep, old, new);
	if (pte_needs_flush(old, new))
		tlb_flush_pte_range(&slice->tlb, addr, PAGE_SIZE);
}

/*
 * Go over one page table from @addr until @end or until the slice is over.
 * Without @mark only look, up to the first entry that is to be marked. Returns
 * whether there was one.
 */
static bool numab_walk_ptes(struct numab_slice *slice, pmd_t *pmd,
			    unsigned long addr, unsigned long end,
			    struct vm_area_struct *vma, bool mark)
{
	struct folio *folio;
	pte_t *start, *ptep;
	unsigned long first;
	bool found = false;
	spinlock_t *ptl;

	addr = numab_next(slice, addr);
	if (addr >= end)
		return false;

	start = pte_offset_map_lock(vma->vm_mm, pmd, addr, &ptl);
	if (!start)
		return false;

	tlb_change_page_size(&slice->tlb, PAGE_SIZE);
	flush_tlb_batched_pending(vma->vm_mm);
	arch_enter_lazy_mmu_mode();
	for (first = addr; addr < end; addr = numab_next(slice, addr + PAGE_SIZE)) {
		if (numab_slice_over(slice))
			break;
		ptep = start + ((addr - first) >> PAGE_SHIFT);
		slice->examined++;
		folio = numab_pte_eligible(vma, addr, ptep_get(ptep), slice);
		if (!folio)
			continue;
		found = true;
		if (!mark)
			break;
		numab_mark_pte(slice, vma, addr, ptep);
		slice->marked++;
		slice->pages++;
		/* A fault takes along small folios only. */
		if (slice->lead && !folio_test_large(folio))
			slice->skip = ALIGN(addr + PAGE_SIZE, NUMAB_BLOCK_SIZE);
	}
	arch_leave_lazy_mmu_mode();
	pte_unmap_unlock(start, ptl);

	slice->pos = min(addr, end);
	return found;
}

/*
 * A huge page is marked whole or not at all: a range that ends inside would
 * have to split it. change_huge_pmd() checks everything again under its lock.
 */
static bool numab_huge_eligible(struct vm_area_struct *vma, pmd_t *pmd,
				unsigned long addr, unsigned long end,
				const struct numab_slice *slice)
{
	const struct numab_scan *scan = slice->scan;
	unsigned long unit = addr >> HPAGE_PMD_SHIFT;
	bool in_sample = numab_next_in_sample(unit, scan->huge_stride,
					      scan->phase) == unit;
	bool eligible = false;
	struct folio *folio;
	spinlock_t *ptl;

	if (end - addr != HPAGE_PMD_SIZE || !(in_sample || scan->full))
		return false;

	ptl = pmd_trans_huge_lock(pmd, vma);
	if (!ptl)
		return false;
	if (pmd_present(*pmd) && !pmd_protnone(*pmd)) {
		folio = vm_normal_folio_pmd(vma, addr, *pmd);
		eligible = folio && numab_wanted(slice, folio, in_sample) &&
			   numab_folio_eligible(vma, folio);
	}
	spin_unlock(ptl);
	return eligible;
}

static void numab_mark_huge(struct numab_slice *slice, struct vm_area_struct *vma,
			    pmd_t *pmd, unsigned long addr)
{
	if (change_huge_pmd(&slice->tlb, vma, pmd, addr, PAGE_NONE,
			    MM_CP_PROT_NUMA) != HPAGE_PMD_NR)
		return;

	slice->huge++;
	slice->pages += HPAGE_PMD_NR;
	count_vm_numa_event(NUMA_HUGE_PTE_UPDATES);
}

/* A secondary MMU hears of a range only if something in it will change. */
static void numab_scan_ptes(struct numab_slice *slice, pmd_t *pmd,
			    unsigned long addr, unsigned long end,
			    struct vm_area_struct *vma)
{
	struct mmu_notifier_range range;
	bool notify = mm_has_notifiers(vma->vm_mm);

	slice->examined++;
	slice->pos = end;
	if (notify) {
		if (!numab_walk_ptes(slice, pmd, addr, end, vma, false))
			return;
		addr = slice->pos;
	}

	mmu_notifier_range_init(&range, MMU_NOTIFY_PROTECTION_VMA, 0,
				vma->vm_mm, addr, end);
	if (notify)
		mmu_notifier_invalidate_range_start(&range);
	slice->pos = end;
	numab_walk_ptes(slice, pmd, addr, end, vma, true);
	if (notify)
		mmu_notifier_invalidate_range_end(&range);
}

static void numab_scan_huge(struct numab_slice *slice, pmd_t *pmd,
			    unsigned long addr, unsigned long end,
			    struct vm_area_struct *vma)
{
	struct mmu_notifier_range range;

	slice->examined++;
	slice->pos = end;
	if (!numab_huge_eligible(vma, pmd, addr, end, slice))
		return;

	mmu_notifier_range_init(&range, MMU_NOTIFY_PROTECTION_VMA, 0,
				vma->vm_mm, addr, end);
	mmu_notifier_invalidate_range_start(&range);
	numab_mark_huge(slice, vma, pmd, addr);
	mmu_notifier_invalidate_range_end(&range);
}

static int numab_pmd_entry(pmd_t *pmd, unsigned long addr, unsigned long end,
			   struct mm_walk *walk)
{
	struct numab_slice *slice = walk->private;
	pmd_t pmdval = pmdp_get_lockless(pmd);

	numab_look_up(slice, walk->mm, addr);
	if (pmd_trans_huge(pmdval))
		numab_scan_huge(slice, pmd, addr, end, walk->vma);
	else if (pmd_present(pmdval) && !pmd_devmap(pmdval))
		numab_scan_ptes(slice, pmd, addr, end, walk->vma);
	else
		slice->pos = end;

	walk->action = ACTION_CONTINUE;
	return numab_slice_over(slice);
}

/* Holes cost time as well: 64 GiB of nothing are 32,768 entries. */
static int numab_hole(unsigned long addr, unsigned long end, int depth,
		      struct mm_walk *walk)
{
	struct numab_slice *slice = walk->private;

	slice->examined++;
	slice->pos = end;
	return numab_slice_over(slice);
}

static const struct mm_walk_ops numab_walk_ops = {
	.pmd_entry	= numab_pmd_entry,
	.pte_hole	= numab_hole,
	.walk_lock	= PGWALK_RDLOCK,
};

/* Account a slice and charge it to the credit of the period. */
static void numab_slice_done(struct mm_struct *mm, struct numab_scan *scan,
			     const struct numab_slice *slice, unsigned long start)
{
	unsigned long looked = slice->examined + slice->pages - slice->marked;

	scan->credit -= min(scan->credit, looked);
	if (slice->pages) {
		count_vm_numa_events(NUMA_PTE_UPDATES, slice->pages);
		count_memcg_events_mm(mm, NUMA_PTE_UPDATES, slice->pages);
	}
	trace_numab_scan(scan, start, slice->pos, slice->examined,
			 slice->marked + slice->huge);
}

/*
 * One slice, from where the last one ended. Returns true when it came to the
 * end of the address space.
 */
static bool numab_scan_vmas(struct mm_struct *mm, struct numab_scan *scan)
{
	unsigned long start = mm->numa_scan_offset;
	struct numab_slice slice = { .scan = scan, .pos = start };
	struct vm_area_struct *vma;

	VMA_ITERATOR(vmi, mm, start);

	tlb_gather_mmu(&slice.tlb, mm);
	for_each_vma(vmi, vma) {
		slice.pos = max(slice.pos, vma->vm_start);
		slice.vmas++;
		if (numab_vma_eligible(vma)) {
			tlb_start_vma(&slice.tlb, vma);
			walk_page_range(mm, slice.pos, vma->vm_end,
					&numab_walk_ops, &slice);
			tlb_end_vma(&slice.tlb, vma);
		} else {
			slice.pos = vma->vm_end;
		}
		if (numab_slice_over(&slice))
			break;
		slice.pos = vma->vm_end;
	}
	tlb_finish_mmu(&slice.tlb);

	numab_slice_done(mm, scan, &slice, start);
	WRITE_ONCE(mm->numa_scan_offset, slice.pos);
	return !vma;
}

/* Time of the next slice: the next tick, unless the credit is used up. */
static unsigned long numab_next_slice(const struct numab_scan *scan)
{
	return scan->credit ? jiffies + 1 : scan->refill;
}

static void numab_refill(struct numab_scan *scan)
{
	unsigned int mb = max(READ_ONCE(sysctl_numa_balancing_scan_size), 1U);

	if (time_before(jiffies, scan->refill))
		return;
	scan->credit = (unsigned long)mb << (20 - PAGE_SHIFT);
	scan->refill = jiffies + max(msecs_to_jiffies(scan->period_ms), 1UL);
}

static void numab_pass_done(struct mm_struct *mm, struct numab_mm *nm)
{
	struct numab_scan *scan = &nm->scan;
	unsigned long period = max(msecs_to_jiffies(scan->period_ms), 1UL);
	unsigned long next = scan->pass_start + period;
	unsigned long rest = jiffies + min(period / 2 + 1, HZ / 4UL);

	WRITE_ONCE(mm->numa_scan_offset, 0);
	WRITE_ONCE(mm->numa_scan_seq, mm->numa_scan_seq + 1);
	if (READ_ONCE(nm->joined))
		next = scan->pass_start + min(period, HZ / 4UL);
	/* What was marked last needs time to be used, or it is not counted. */
	if (time_before(next, rest))
		next = rest;
	/* A task has got another home during the last slice: that cannot wait. */
	if (READ_ONCE(nm->moved))
		next = jiffies + 1;
	WRITE_ONCE(mm->numa_next_scan, next);
}

/* The end of the last pass, or a task has moved and what was planned is stale. */
static void numab_pass_begin(struct mm_struct *mm, struct numab_scan *scan)
{
	WRITE_ONCE(mm->numa_scan_offset, 0);
	WRITE_ONCE(scan->pass_start, jiffies);
	numab_plan_pass(mm);
}

/*
 * mmap() in a loop must not keep the scanner out for ever, and the scanner must
 * not add to a queue that is there already: try, and queue once in a while.
 */
static bool numab_lock(struct mm_struct *mm, struct numab_scan *scan)
{
	if (mmap_read_trylock(mm)) {
		scan->lost = 0;
		return true;
	}
	if (++scan->lost < NUMAB_SLICE_LOST_MAX || mmap_read_lock_killable(mm))
		return false;
	scan->lost = 0;
	return true;
}

/* Not worth it (yet)? Once it was, its state is there, and it goes on. */
static bool numab_small(struct mm_struct *mm)
{
	return !READ_ONCE(mm->numab) &&
	       get_mm_counter(mm, MM_ANONPAGES) + get_mm_counter(mm, MM_SHMEMPAGES) <
	       NUMAB_SMALL;
}

/* Be the one to do this slice. The winner has the scanner for a tick. */
static bool numab_win_slice(struct mm_struct *mm)
{
	unsigned long due = READ_ONCE(mm->numa_next_scan);

	if (time_before(jiffies, due))
		return false;
	return try_cmpxchg(&mm->numa_next_scan, &due, jiffies + 1);
}

/**
 * numab_scan_slice - do the next slice of the scan of an address space
 * @mm: the current task's mm
 *
 * Context: task context of a task that owns @mm, no locks held. May sleep.
 * Does nothing if the slice is not due, if another task does it, or if memory
 * for the state of the scanner cannot be had; the next tick tries again.
 */
void numab_scan_slice(struct mm_struct *mm)
{
	struct numab_mm *nm;
	struct numab_scan *scan;
	bool end;

	if (!numab_win_slice(mm))
		return;
	if (numab_small(mm)) {
		WRITE_ONCE(mm->numa_next_scan, jiffies + HZ);
		return;
	}

	nm = numab_mm_get(mm);
	if (!nm)
		return;

	scan = &nm->scan;
	if (test_and_set_bit_lock(0, &scan->busy))
		return;

	if (numab_lock(mm, scan)) {
		if (!mm->numa_scan_offset || READ_ONCE(nm->moved))
			numab_pass_begin(mm, scan);
		numab_refill(scan);
		end = numab_scan_vmas(mm, scan);
		mmap_read_unlock(mm);
		if (end)
			numab_pass_done(mm, nm);
		else
			WRITE_ONCE(mm->numa_next_scan, numab_next_slice(scan));
	}
	clear_bit_unlock(0, &scan->busy);
}
