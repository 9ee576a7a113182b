# SPDX-License-Identifier: GPL-2.0
"""Which functions of a kernel belong to which part: from System.map to the probe's symbol file."""

import re
from functools import lru_cache
from pathlib import Path

from common import Failure

# Functions whose instructions, and those of what they call, are for a part. An inner function
# takes over from an outer one. Names of the base balancer first, then those of CONFIG_NUMAB.
# A compiler may have inlined any of them; then they count for the one around them.
ROOTS = [
    ("scan", r"task_numa_work|numab_scan_(slice|vmas)"),
    ("hint", r"do_huge_pmd_numa_page|do_numa_page|numab_hint_p[tm][ed]"),
    ("copy", r"folio_mc_copy|folio_copy|copy_mc_to_kernel"),
    ("migrate", r"migrate_pages|migrate_misplaced_folio|migrate_misplaced_folio_prepare"),
    ("place", r"task_numa_(fault|free|placement|migrate|find_cpu|group|compare|assign)|"
              r"task_tick_numa|numa_migrate_preferred|update_numa_stats|update_scan_period|"
              r"update_task_scan_period|should_numa_migrate_memory|migrate_degrades_locality|"
              r"sched_setnuma|migrate_task_to|migrate_swap|migrate_swap_stop|"
              r"numab_(account|judge|judge_beside|tick|exit|task_work|task_get|join|leave|"
              r"end_window|go_home|plan_pass|pull_verdict|mm_get|mm_put|mm_free|mm_free_rcu)"),
]
# Everything else of CONFIG_NUMAB is for the part that it is called from, or else placement.
WEAK = r"numab_\w+"
# ... but for its own tests, which run before a program does.
NO_PART = r"numab_(test|prop|any|case)_\w+|numab_\w+_gen_params|numab_(setup|group_init)"
# A page fault, and what tells that it is a hint fault.
FAULT = r"handle_mm_fault"
CONFIRM = r"numa_migrate_check|do_huge_pmd_numa_page|do_numa_page|task_numa_fault|" \
          r"numab_hint_p[tm][ed]"
# Functions whose calls are counted though they are no part's. All of the above are counted too.
COUNTS = r"numa_migrate_check|change_prot_numa|migration_cpu_stop"
IRQ = r"asm_(exc|sysvec)_\w+"
IRQ_TABLES = r"irq_entries_start|spurious_entries_start"
# What reads the run queues of all CPUs, and of one, in a way that the probe knows.
QUEUED = r"nr_running"
IDLE = r"idle_cpu"
NEEDED = ("__switch_to_asm", "ret_from_fork_asm", "irq_entries_start", "handle_mm_fault",
          "nr_running", "idle_cpu")


def find_map(kernel):
    """System.map of a kernel image: beside it or where its build directory begins."""
    places = [Path(kernel).resolve().parent, *Path(kernel).resolve().parents[1:5]]
    for place in places:
        if (place / "System.map").is_file():
            return place / "System.map"
    raise Failure(f"no System.map beside {kernel} or in its build directory; "
                  "name it with --symbols")


def read_map(path):
    """Functions as a list of (start, end, name); a function ends where the next symbol begins."""
    rows = []
    for line in Path(path).read_text(encoding="ascii", errors="replace").splitlines():
        words = line.split()
        if len(words) != 3:
            raise Failure(f"{path}: '{line[:60]}' is no line of a System.map")
        rows.append((int(words[0], 16), words[1], words[2]))
    rows.sort(key=lambda row: row[0])
    functions = []
    for index, (start, kind, name) in enumerate(rows):
        if kind not in "tTwW":
            continue
        end = next((row[0] for row in rows[index + 1:index + 50] if row[0] > start), start + 1)
        functions.append((start, end, name))
    return functions


def plain(name):
    """A name without the compiler's suffix; None for a part that is jumped to."""
    if ".cold" in name:
        return None
    return name.split(".")[0]


def lines_of(name, start, end):
    """Lines of the symbol file for one function."""
    span = f"{start:x} {end:x} {name}"
    roots = [part for part, pattern in ROOTS if re.fullmatch(pattern, name)]
    yield from (f"root {part} {span}" for part in roots[:1])
    if not roots and re.fullmatch(WEAK, name) and not re.fullmatch(NO_PART, name):
        yield f"weak place {span}"
    for kind, pattern in (("fault", FAULT), ("confirm", CONFIRM), ("queued", QUEUED),
                          ("idle", IDLE), ("irq", IRQ_TABLES), ("switch", "__switch_to_asm"),
                          ("fork", "ret_from_fork_asm"), ("count", COUNTS)):
        if re.fullmatch(pattern, name):
            yield f"{kind} - {span}"
    if re.fullmatch(IRQ, name):
        yield f"irq - {start:x} {start + 1:x} {name}"


@lru_cache
def symbol_file(path):
    """Text of the symbol file for a kernel's System.map."""
    functions = [(start, end, plain(name)) for start, end, name in read_map(path)]
    names = {name for _, _, name in functions}
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise Failure(f"{path} has no {', '.join(missing)}: not an x86-64 kernel that is known")
    lines = [line for start, end, name in functions if name
             for line in lines_of(name, start, end)]
    return "".join(line + "\n" for line in lines)
