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
 *		policy; a folio that is to go is isolated
 *	restore	the entry, with its write permission, still under the lock
 *	migrate	the folio, with no lock but the one the fault came with
 *	account	what happened, to the statistics that placement works on
 *
 * The entry is restored before the migration, not after a failed one. So there
 * is one way out for all cases, nobody has to look at the entry again, and a
 * writable page is still writable at its new place: migration remembers the
 * permission of the entry it finds, and a marked entry has none.
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
 * How many base pages does a fault stand for? A small page of the sample for
 * all those of its stride. A large folio is marked as soon as one of its pages
 * is, so that it may stand for fewer of its kind.
 */
static unsigned long numab_weight(const struct numab_hint *hint,
				  const struct numab_mm *nm,
				  unsigned long addr, bool huge)
{
	const struct numab_scan *scan;
	unsigned int stride, phase;

	if (!nm)
		return hint->nr_pages;

	scan = &nm->scan;
	phase = READ_ONCE(scan->phase);
	stride = huge ? READ_ONCE(scan->huge_stride) : READ_ONCE(scan->stride);
	if (!numab_in_sample(addr >> (huge ? HPAGE_PMD_SHIFT : PAGE_SHIFT),
			     stride, phase))
		return 0;
	return huge ? (unsigned long)hint->nr_pages * stride :
		      max_t(unsigned long, hint->nr_pages, stride);
}

/* Put the fault into words and leave a trace of it on the folio. */
static void numab_observe(struct numab_hint *hint, struct vm_fault *vmf, bool huge)
{
	struct folio *folio = hint->folio;
	struct mm_struct *mm = vmf->vma->vm_mm;
	int cpupid = cpu_pid_to_cpupid(raw_smp_processor_id(), current->pid);

	hint->nid = folio_nid(folio);
	hint->nr_pages = folio_nr_pages(folio);
	hint->foreign = folio_likely_mapped_shared(folio);
	hint->weight = numab_weight(hint, READ_ONCE(mm->numab),
				    vmf->address, huge);
	/* Slow memory keeps the time of the scan in the same bits. */
	hint->last_cpupid = folio_use_access_time(folio) ? LAST_CPUPID_MASK :
			    folio_xchg_last_cpupid(folio, cpupid);

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

/* The entry is back and its lock dropped: migrate and account. */
static void numab_conclude(struct numab_hint *hint, struct vm_area_struct *vma)
{
	if (!hint->folio || current->mm != vma->vm_mm)
		return;

	if (hint->target != NUMA_NO_NODE && !hint->failed) {
		if (migrate_misplaced_folio(hint->folio, vma, hint->target)) {
			hint->failed = true;
		} else {
			hint->migrated = true;
			hint->nid = hint->target;
		}
	}
	numab_account(hint);
}

/* Give an entry back what the VMA allows, the write bit too if it may have it. */
static void numab_restore_pte(struct vm_fault *vmf, unsigned long addr, pte_t *ptep)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t old = ptep_modify_prot_start(vma, addr, ptep);
	pte_t pte = pte_modify(old, vma->vm_page_prot);

	if (addr == (vmf->address & PAGE_MASK))
		pte = pte_mkyoung(pte);
	if (!pte_write(pte) && vma_wants_manual_pte_write_upgrade(vma) &&
	    can_change_pte_writable(vma, addr, pte))
		pte = pte_mkwrite(pte, vma);

	ptep_modify_prot_commit(vma, addr, ptep, old, pte);
	update_mmu_cache_range(vmf, vma, addr, ptep, 1);
}

/*
 * One fault answers for the whole of a large folio: restore all of its marked
 * entries that lie in this VMA and this page table.
 */
static void numab_restore_folio(struct vm_fault *vmf, struct folio *folio)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long here = vmf->address & PAGE_MASK;
	unsigned long before = folio_page_idx(folio, pte_page(vmf->orig_pte));
	unsigned long after = folio_nr_pages(folio) - before;
	unsigned long table = ALIGN_DOWN(here, PMD_SIZE);
	unsigned long addr, end;
	pte_t *ptep;

	before = min3(before, (here - table) >> PAGE_SHIFT,
		      (here - vma->vm_start) >> PAGE_SHIFT);
	after = min3(after, (table + PMD_SIZE - here) >> PAGE_SHIFT,
		     (vma->vm_end - here) >> PAGE_SHIFT);
	addr = here - before * PAGE_SIZE;
	end = here + after * PAGE_SIZE;

	for (ptep = vmf->pte - before; addr < end; ptep++, addr += PAGE_SIZE) {
		pte_t pte = ptep_get(ptep);

		if (pte_present(pte) && pte_protnone(pte) &&
		    pfn_folio(pte_pfn(pte)) == folio)
			numab_restore_pte(vmf, addr, ptep);
	}
}

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
	struct folio *folio;

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
	}

	if (folio && folio_test_large(folio))
		numab_restore_folio(vmf, folio);
	else
		numab_restore_pte(vmf, vmf->address & PAGE_MASK, vmf->pte);
	pte_unmap_unlock(vmf->pte, vmf->ptl);

	numab_conclude(&hint, vma);
	return 0;
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static void numab_restore_pmd(struct vm_fault *vmf, unsigned long haddr)
{
	struct vm_area_struct *vma = vmf->vma;
	pmd_t pmd = pmd_modify(pmdp_get(vmf->pmd), vma->vm_page_prot);

	pmd = pmd_mkyoung(pmd);
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

	numab_restore_pmd(vmf, haddr);
	spin_unlock(vmf->ptl);

	numab_conclude(&hint, vma);
	return 0;
}
#endif /* CONFIG_TRANSPARENT_HUGEPAGE */
