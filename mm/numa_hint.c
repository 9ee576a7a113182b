// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic NUMA balancing: the hinting fault
 *
 * An access to an entry that the scanner (mm/numa_scan.c) made inaccessible
 * ends here. The way of such a fault:
 *
 *	check	the entry is still the one that faulted, under its lock
 *	observe	which folio, where, who was here before; count
 *	judge	stay or go, by the scheduler side (numab_judge()) and the memory
 *		policy; a folio that is to go is isolated, which holds it
 *	gather	the pages around it, marked or not, where it is known whose
 *		they are: each is judged like the first one
 *	migrate	what was isolated, with no lock but the one the fault came with
 *	repair	the entry, under its lock: accessible again, writable if it may be
 *	account	what happened, to the statistics that placement works on
 *
 * The entry keeps its mark while the folio moves. A marked entry is in no TLB,
 * so that nobody has to be interrupted for a page of one's own; restored before,
 * it would cost a shootdown of all CPUs that run the address space. The price is
 * that migration remembers the permissions of the entry that it finds, and a
 * marked one has none: the page arrives write-protected. Repair looks at the
 * entry whatever became of the migration and gives it what the VMA allows, so
 * that a write takes one fault and not two. The pages around it are not marked
 * as a rule; they cost one shootdown for all of them together.
 */
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/numa_balance.h>
#include <linux/sched.h>
#include <linux/vmstat.h>

#include "internal.h"

/*
 * The block around a fault, as far as it belongs to the same VMA; it never
 * leaves the page table. @taken has a bit for each page that was isolated; these
 * are in @folios until they are migrated.
 */
struct numab_block {
	struct list_head	folios;
	unsigned long		start;
	unsigned long		end;
	u32			taken;
};

static_assert(sizeof_field(struct numab_block, taken) * BITS_PER_BYTE >=
	      NUMAB_BLOCK_PAGES);

/*
 * The first unit of those that a fault answers for, and how many there are: one
 * huge page, or the base pages of a folio as far as it is mapped in a row.
 */
static unsigned long numab_first_unit(const struct numab_hint *hint,
				      struct vm_fault *vmf, bool huge)
{
	unsigned long page = vmf->address >> PAGE_SHIFT;

	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) && huge)
		return vmf->address >> HPAGE_PMD_SHIFT;
	return page - folio_page_idx(hint->folio, pte_page(vmf->orig_pte));
}

/*
 * How many base pages does a fault stand for? A small page of the sample for
 * all those of its stride. A large folio is marked as soon as one of its pages
 * is in the sample, so that it may stand for fewer of its kind.
 */
static unsigned long numab_weight(const struct numab_hint *hint,
				  const struct numab_mm *nm,
				  struct vm_fault *vmf, bool huge)
{
	unsigned long unit = numab_first_unit(hint, vmf, huge);
	unsigned int units = huge ? 1 : hint->nr_pages;
	unsigned int stride, phase;

	if (!nm)
		return hint->nr_pages;

	phase = READ_ONCE(nm->scan.phase);
	stride = huge ? READ_ONCE(nm->scan.huge_stride) : READ_ONCE(nm->scan.stride);
	if (numab_next_in_sample(unit, stride, phase) - unit >= units)
		return 0;
	return huge ? (unsigned long)hint->nr_pages * stride : max(units, stride);
}

/* Put the fault into words and leave a trace of it on the folio. */
static void numab_observe(struct numab_hint *hint, struct vm_fault *vmf, bool huge)
{
	struct folio *folio = hint->folio;
	struct mm_struct *mm = vmf->vma->vm_mm;
	int cpupid = cpu_pid_to_cpupid(raw_smp_processor_id(), current->pid);

	hint->addr = vmf->address & PAGE_MASK;
	hint->nid = folio_nid(folio);
	hint->nr_pages = folio_nr_pages(folio);
	hint->foreign = folio_likely_mapped_shared(folio);
	hint->weight = numab_weight(hint, READ_ONCE(mm->numab), vmf, huge);
	/*
	 * Slow memory keeps the time of the scan in the same bits, and a fault
	 * on behalf of others (see numab_decide()) must not leave a trace.
	 */
	hint->last_cpupid = LAST_CPUPID_MASK;
	if (current->mm == mm && !numab_exempt(current) &&
	    !folio_use_access_time(folio))
		hint->last_cpupid = folio_xchg_last_cpupid(folio, cpupid);

	count_vm_numa_event(NUMA_HINT_FAULTS);
	count_memcg_folio_events(folio, NUMA_HINT_FAULTS, 1);
	if (hint->nid == numa_node_id())
		count_vm_numa_event(NUMA_HINT_FAULTS_LOCAL);
}

/*
 * Shall the folio go, and may it? If so it is isolated, which holds a
 * reference. A fault on behalf of somebody else's address space (ptrace,
 * process_vm_writev) says nothing about who uses the memory.
 */
static void numab_decide(struct numab_hint *hint, struct vm_fault *vmf,
			 unsigned long addr)
{
	lockdep_assert_held(vmf->ptl);

	if (current->mm != vmf->vma->vm_mm || !numab_judge(hint))
		return;

	hint->target = mpol_misplaced(hint->folio, vmf, addr);
	if (hint->target == NUMA_NO_NODE)
		return;
	if (migrate_misplaced_folio_prepare(hint->folio, vmf->vma, hint->target))
		hint->failed = true;
}

/* A fault that observed a folio is accounted once, at the node it ended on. */
static void numab_conclude(const struct numab_hint *hint, struct vm_area_struct *vma)
{
	if (hint->nr_pages && current->mm == vma->vm_mm)
		numab_account(hint);
}

static bool numab_goes(const struct numab_hint *hint)
{
	return hint->target != NUMA_NO_NODE && !hint->failed;
}

static void numab_migrate_folio(struct numab_hint *hint, struct vm_area_struct *vma)
{
	if (migrate_misplaced_folio(hint->folio, vma, hint->target)) {
		hint->failed = true;
	} else {
		hint->migrated = true;
		hint->nid = hint->target;
	}
	/* Isolation held the folio until here. */
	hint->folio = NULL;
}

/*
 * Give a present entry what the VMA allows, the write bit too if it may have it.
 * That takes away nothing, so nothing has to be flushed.
 */
static void numab_repair_pte(struct vm_fault *vmf, unsigned long addr, pte_t *ptep)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t old = ptep_modify_prot_start(vma, addr, ptep);
	pte_t pte = pte_modify(old, vma->vm_page_prot);

	if (addr == (vmf->address & PAGE_MASK))
		pte = pte_mkyoung(pte);
	if (pte_write(old) ||
	    (!pte_write(pte) && vma_wants_manual_pte_write_upgrade(vma) &&
	     can_change_pte_writable(vma, addr, pte)))
		pte = pte_mkwrite(pte, vma);

	ptep_modify_prot_commit(vma, addr, ptep, old, pte);
	update_mmu_cache_range(vmf, vma, addr, ptep, 1);
}

/*
 * One fault answers for the whole of a large folio: repair all of its marked
 * entries that lie in this VMA and this page table.
 */
static void numab_repair_folio(struct vm_fault *vmf, struct folio *folio, pte_t here)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long at = vmf->address & PAGE_MASK;
	unsigned long before = folio_page_idx(folio, pte_page(here));
	unsigned long after = folio_nr_pages(folio) - before;
	unsigned long table = ALIGN_DOWN(at, PMD_SIZE);
	unsigned long addr, end;
	pte_t *ptep;

	before = min3(before, (at - table) >> PAGE_SHIFT,
		      (at - vma->vm_start) >> PAGE_SHIFT);
	after = min3(after, (table + PMD_SIZE - at) >> PAGE_SHIFT,
		     (vma->vm_end - at) >> PAGE_SHIFT);
	addr = at - before * PAGE_SIZE;
	end = at + after * PAGE_SIZE;

	for (ptep = vmf->pte - before; addr < end; ptep++, addr += PAGE_SIZE) {
		pte_t pte = ptep_get(ptep);

		if (pte_present(pte) && pte_protnone(pte) &&
		    pfn_folio(pte_pfn(pte)) == folio)
			numab_repair_pte(vmf, addr, ptep);
	}
}

/* What is mapped at the fault's address now, be it the old or the new page. */
static void numab_repair(struct vm_fault *vmf)
{
	unsigned long addr = vmf->address & PAGE_MASK;
	pte_t pte = ptep_get(vmf->pte);
	struct folio *folio;

	lockdep_assert_held(vmf->ptl);

	if (!pte_present(pte))
		return;
	folio = vm_normal_folio(vmf->vma, addr, pte_modify(pte, vmf->vma->vm_page_prot));
	if (folio && folio_test_large(folio))
		numab_repair_folio(vmf, folio, pte);
	/* Alone, or moved: then it is accessible, but may lack the write bit. */
	if (pte_protnone(ptep_get(vmf->pte)) || !pte_write(ptep_get(vmf->pte)))
		numab_repair_pte(vmf, addr, vmf->pte);
}

/* --- the pages around --- */

static void numab_block_init(struct numab_block *block, struct vm_fault *vmf)
{
	unsigned long start = ALIGN_DOWN(vmf->address, NUMAB_BLOCK_SIZE);

	INIT_LIST_HEAD(&block->folios);
	block->start = max(start, vmf->vma->vm_start);
	block->end = min(start + NUMAB_BLOCK_SIZE, vmf->vma->vm_end);
	block->taken = 0;
}

/* The entry of another address in the page table that the fault is in. */
static pte_t *numab_block_pte(struct vm_fault *vmf, unsigned long addr)
{
	long pages = (long)(addr - (vmf->address & PAGE_MASK)) / (long)PAGE_SIZE;

	return vmf->pte + pages;
}

static u32 numab_block_bit(unsigned long addr)
{
	return BIT(addr / PAGE_SIZE % NUMAB_BLOCK_PAGES);
}

/*
 * The folio of an entry, if the block may decide about it. A marked page of the
 * sample takes a fault of its own, since that is what it is marked for.
 */
static struct folio *numab_beside(struct vm_fault *vmf, unsigned long addr, pte_t pte)
{
	const struct numab_scan *scan = &vmf->vma->vm_mm->numab->scan;
	unsigned long page = addr >> PAGE_SHIFT;
	struct folio *folio;

	if (!pte_present(pte))
		return NULL;
	if (pte_protnone(pte)) {
		if (numab_next_in_sample(page, READ_ONCE(scan->stride),
					 READ_ONCE(scan->phase)) == page)
			return NULL;
		pte = pte_modify(pte, vmf->vma->vm_page_prot);
	}
	folio = vm_normal_folio(vmf->vma, addr, pte);
	if (!folio || folio_test_large(folio) || folio_is_zone_device(folio) ||
	    folio_use_access_time(folio))
		return NULL;
	return folio;
}

static enum numab_fate numab_fate(const struct numab_hint *hint, struct folio *folio)
{
	struct numab_hint beside = {
		.nid	= folio_nid(folio),
		.owner	= hint->owner,
	};

	if (beside.nid == hint->home)
		return NUMAB_FATE_STAY;
	beside.foreign = folio_likely_mapped_shared(folio);
	beside.last_cpupid = folio_last_cpupid(folio);
	return numab_judge_beside(&beside);
}

/* Isolate a folio that goes home with the one that faulted. */
static void numab_take_along(struct numab_block *block, const struct numab_hint *hint,
			     struct vm_fault *vmf, struct folio *folio, unsigned long addr)
{
	if (!numab_folio_eligible(vmf->vma, folio) ||
	    mpol_misplaced(folio, vmf, addr) != hint->home ||
	    migrate_misplaced_folio_prepare(folio, vmf->vma, hint->home))
		return;
	list_add_tail(&folio->lru, &block->folios);
	block->taken |= numab_block_bit(addr);
}

/*
 * Decide about the pages of the block. Those that lie where they should get
 * their access back, those that go are isolated, the others stay as they are.
 */
static void numab_gather(struct numab_block *block, const struct numab_hint *hint,
			 struct vm_fault *vmf)
{
	unsigned long addr;

	lockdep_assert_held(vmf->ptl);

	for (addr = block->start; addr < block->end; addr += PAGE_SIZE) {
		pte_t *ptep = numab_block_pte(vmf, addr);
		struct folio *folio;

		if (addr == hint->addr)
			continue;
		folio = numab_beside(vmf, addr, ptep_get(ptep));
		if (!folio)
			continue;

		switch (numab_fate(hint, folio)) {
		case NUMAB_FATE_GO:
			numab_take_along(block, hint, vmf, folio, addr);
			break;
		case NUMAB_FATE_STAY:
			if (pte_protnone(ptep_get(ptep)))
				numab_repair_pte(vmf, addr, ptep);
			break;
		case NUMAB_FATE_OPEN:
			break;
		}
	}
}

/*
 * migrate_pages() does not say which pages it could not move, so look at where
 * they are. One that failed before it was unmapped has its mark still.
 */
static void numab_arrive_one(struct numab_hint *hint, struct vm_fault *vmf,
			     unsigned long addr)
{
	pte_t *ptep = numab_block_pte(vmf, addr);
	pte_t pte = ptep_get(ptep);
	struct folio *folio;

	if (!pte_present(pte) || pte_protnone(pte))
		return;
	if (!pte_write(pte))
		numab_repair_pte(vmf, addr, ptep);

	folio = vm_normal_folio(vmf->vma, addr, pte);
	if (!folio || folio_nid(folio) != hint->home)
		return;
	if (addr != hint->addr) {
		hint->moved_along++;
		return;
	}
	hint->migrated = true;
	hint->failed = false;
	hint->nid = hint->home;
}

static void numab_arrive(const struct numab_block *block, struct numab_hint *hint,
			 struct vm_fault *vmf)
{
	unsigned long addr;

	lockdep_assert_held(vmf->ptl);

	for (addr = block->start; block->taken && addr < block->end; addr += PAGE_SIZE) {
		if (block->taken & numab_block_bit(addr))
			numab_arrive_one(hint, vmf, addr);
	}
}

/* As migrate_misplaced_folio() does for one: no reclaim on behalf of a fault. */
static void numab_migrate_block(struct numab_block *block, struct vm_area_struct *vma,
				int nid)
{
	struct migration_target_control to = {
		.nid		= nid,
		.gfp_mask	= (GFP_HIGHUSER_MOVABLE & ~__GFP_RECLAIM) |
				  __GFP_THISNODE | __GFP_NOMEMALLOC |
				  __GFP_NORETRY | __GFP_NOWARN,
		.reason		= MR_NUMA_MISPLACED,
	};
	unsigned int moved = 0;

	if (migrate_pages(&block->folios, alloc_migration_target, NULL,
			  (unsigned long)&to, MIGRATE_ASYNC, MR_NUMA_MISPLACED, &moved))
		putback_movable_pages(&block->folios);

	count_vm_numa_events(NUMA_PAGE_MIGRATE, moved);
	count_memcg_events_mm(vma->vm_mm, NUMA_PAGE_MIGRATE, moved);
}

/* The page that faulted goes with its block, if both go to the same node. */
static void numab_join_block(struct numab_block *block, struct numab_hint *hint)
{
	if (!block->taken || !numab_goes(hint) || hint->target != hint->home ||
	    folio_test_large(hint->folio))
		return;
	list_add(&hint->folio->lru, &block->folios);
	block->taken |= numab_block_bit(hint->addr);
	hint->folio = NULL;
	/* Unless it is seen to have arrived. */
	hint->failed = true;
}

static void numab_migrate(struct numab_block *block, struct numab_hint *hint,
			  struct vm_area_struct *vma)
{
	numab_join_block(block, hint);
	if (block->taken)
		numab_migrate_block(block, vma, hint->home);
	if (numab_goes(hint))
		numab_migrate_folio(hint, vma);
}

/* --- the fault --- */

/**
 * numab_hint_pte - handle a hinting fault on a base page
 * @vmf: the fault; @vmf->pte is mapped, @vmf->ptl not yet taken
 *
 * Context: the fault handler; mmap_lock or the VMA's lock is held for reading.
 * May sleep.
 *
 * Return: 0; the access is tried again.
 */
vm_fault_t numab_hint_pte(struct vm_fault *vmf)
{
	struct numab_hint hint = { .target = NUMA_NO_NODE };
	struct vm_area_struct *vma = vmf->vma;
	struct numab_block block;
	struct folio *folio;

	numab_block_init(&block, vmf);
	spin_lock(vmf->ptl);
	if (unlikely(!pte_same(ptep_get(vmf->pte), vmf->orig_pte))) {
		pte_unmap_unlock(vmf->pte, vmf->ptl);
		return 0;
	}

	folio = vm_normal_folio(vma, vmf->address,
				pte_modify(vmf->orig_pte, vma->vm_page_prot));
	if (folio && !folio_is_zone_device(folio)) {
		hint.folio = folio;
		numab_observe(&hint, vmf, false);
		numab_decide(&hint, vmf, vmf->address);
		if (hint.block && hint.home == numa_node_id())
			numab_gather(&block, &hint, vmf);
	}

	if (numab_goes(&hint) || block.taken) {
		pte_unmap_unlock(vmf->pte, vmf->ptl);
		numab_migrate(&block, &hint, vma);
		vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd,
					       vmf->address, &vmf->ptl);
	}
	if (vmf->pte) {
		numab_arrive(&block, &hint, vmf);
		numab_repair(vmf);
		pte_unmap_unlock(vmf->pte, vmf->ptl);
	}

	numab_conclude(&hint, vma);
	return 0;
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static void numab_repair_pmd(struct vm_fault *vmf, unsigned long haddr)
{
	struct vm_area_struct *vma = vmf->vma;
	pmd_t old = pmdp_get(vmf->pmd), pmd;

	lockdep_assert_held(vmf->ptl);

	if (!pmd_present(old) || !pmd_trans_huge(old) ||
	    (pmd_write(old) && !pmd_protnone(old)))
		return;

	pmd = pmd_mkyoung(pmd_modify(old, vma->vm_page_prot));
	if (!pmd_write(pmd) && vma_wants_manual_pte_write_upgrade(vma) &&
	    can_change_pmd_writable(vma, vmf->address, pmd))
		pmd = pmd_mkwrite(pmd, vma);

	set_pmd_at(vma->vm_mm, haddr, vmf->pmd, pmd);
	update_mmu_cache_pmd(vma, vmf->address, vmf->pmd);
}

/**
 * numab_hint_pmd - handle a hinting fault on a huge page
 * @vmf: the fault; @vmf->orig_pmd is what was found
 *
 * Context: as numab_hint_pte().
 *
 * Return: 0; the access is tried again.
 */
vm_fault_t numab_hint_pmd(struct vm_fault *vmf)
{
	struct numab_hint hint = { .target = NUMA_NO_NODE };
	unsigned long haddr = vmf->address & HPAGE_PMD_MASK;
	struct vm_area_struct *vma = vmf->vma;

	vmf->ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	if (unlikely(!pmd_same(pmdp_get(vmf->pmd), vmf->orig_pmd))) {
		spin_unlock(vmf->ptl);
		return 0;
	}

	hint.folio = vm_normal_folio_pmd(vma, haddr,
					 pmd_modify(vmf->orig_pmd, vma->vm_page_prot));
	if (hint.folio) {
		numab_observe(&hint, vmf, true);
		numab_decide(&hint, vmf, haddr);
	}

	if (numab_goes(&hint)) {
		spin_unlock(vmf->ptl);
		numab_migrate_folio(&hint, vma);
		vmf->ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	}
	numab_repair_pmd(vmf, haddr);
	spin_unlock(vmf->ptl);

	numab_conclude(&hint, vma);
	return 0;
}
#endif /* CONFIG_TRANSPARENT_HUGEPAGE */
