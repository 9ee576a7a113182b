# SPDX-License-Identifier: GPL-2.0
"""Which functions of a kernel belong to which part: from System.map to the probe's symbol file."""

import re
from pathlib import Path

from common import Failure

# Functions whose instructions, and those of what they call, are for a part. An inner function
# takes over from an outer one. Names of the base balancer first, then those of CONFIG_NUMAB.
ROOTS = [
    ("scan", r"task_numa_work|numab_scan_\w+"),
    ("hint", r"do_huge_pmd_numa_page|do_numa_page|numab_hint_\w+"),
    ("copy", r"folio_mc_copy|folio_copy|copy_mc_to_kernel"),
    ("migrate", r"migrate_pages|migrate_misplaced_folio|migrate_misplaced_folio_prepare"),
    ("place", r"task_numa_fault|task_numa_free|task_numa_migrate|should_numa_migrate_memory|"
              r"sched_setnuma|migrate_swap|migrate_swap_stop|"
              r"numab_(account|judge|tick|exit|join|leave|place|assign|task_work)\w*"),
]
# Everything else of CONFIG_NUMAB is placement unless it is called from one of the above.
WEAK = r"numab_\w+"
# A page fault, and what tells that it is a hint fault.
FAULT = r"handle_mm_fault"
CONFIRM = r"numa_migrate_check|do_huge_pmd_numa_page|task_numa_fault|numab_hint_\w+"
COUNTS = [("task_moves", r"migrate_task_to"), ("task_swaps", r"migrate_swap"),
          ("faults", FAULT), ("scans", r"task_numa_work|numab_scan_slice")]
IRQ = r"asm_(exc|sysvec)_\w+"
IRQ_TABLES = r"irq_entries_start|spurious_entries_start"
IDLE = r"do_idle|default_idle_call|arch_cpu_idle"
NEEDED = ("__switch_to_asm", "ret_from_fork_asm", "irq_entries_start", "handle_mm_fault")


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
    if not roots and re.fullmatch(WEAK, name):
        yield f"weak place {span}"
    for kind, pattern in (("fault", FAULT), ("confirm", CONFIRM), ("idle", IDLE),
                          ("irq", IRQ_TABLES), ("switch", "__switch_to_asm"),
                          ("fork", "ret_from_fork_asm")):
        if re.fullmatch(pattern, name):
            yield f"{kind} - {span}"
    if re.fullmatch(IRQ, name):
        yield f"irq - {start:x} {start + 1:x} {name}"
    for count, pattern in COUNTS:
        if re.fullmatch(pattern, name):
            yield f"count {count} {span}"


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
