# SPDX-License-Identifier: GPL-2.0
"""Judge what a guest printed: is the console clean, what does the KTAP say?"""

import re
from dataclasses import dataclass, field

# Each of these on a console is a defect, whatever the tests say. KUnit taints the kernel and
# prints KTAP there, which is none.
BAD_CONSOLE = [re.compile(pattern) for pattern in (
    r"\bBUG\b",
    r"\bWARNING: ",
    r"\bOops\b",
    r"Call Trace:",
    r"Kernel panic",
    r"general protection fault",
    r"unable to handle",
    r"possible (circular|recursive|irq|deadlock)",
    r"\bINFO: possible ",
    r"\bINFO: (task|lockdep|trying)\b",
    r"\[ INFO: ",
    r"inconsistent lock state",
    r"bad unlock balance",
    r"lock held when returning",
    r"suspicious RCU usage",
    r"RCU used illegally",
    r"rcu:.*(stall|starved)",
    r"soft lockup|hard LOCKUP|hung_task|blocked for more than",
    r"scheduling while atomic",
    r"sleeping function called",
    r"\bKASAN\b|\bKCSAN\b|\bKMSAN\b|\bUBSAN\b|\bKFENCE\b",
    r"unreferenced object",
    r"new suspected memory leaks",
    r"[Bb]ad page( map| state|:)",
    r"Bad rss-counter",
    r"non-zero pgtables_bytes",
    r"list_(add|del) corruption|corrupted (list|stack)",
    r"refcount_t:",
    r"Out of memory|oom-kill",
    r"page allocation failure",
    r"segfault at|traps: ",
    r"nobody cared",
    r"sched: Unexpected|sched: RT throttling",
)]

# Lines that look bad and are not: what the kernel prints about its own switches.
HARMLESS = [re.compile(pattern) for pattern in (
    r"Command line: ",
    r"^[^a-z]*KASLR",
    r"\bbugs?:",
    r"kcsan: (enabled|selftest|strict)",
    r"kfence: initialized",
    r"RCU Tasks|rcu: .*RCU (callback|restricting|lockdep|event)",
    r"mitigation",
)]

KTAP_LINE = re.compile(r"^(?P<indent>(?:# ?|    )*)(?P<verdict>ok|not ok) (?P<number>\d+)"
                       r"(?: - | )?(?P<name>[^#]*?)\s*(?:# ?(?P<rest>.*))?$")
KTAP_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*# ?SKIP ?(.*))?$", re.I)
SKIP = re.compile(r"\bSKIP\b\s*(.*)", re.I)


def console_problems(lines):
    """The lines of a console that show a defect in the kernel."""
    return [line.rstrip() for line in lines
            if any(p.search(line) for p in BAD_CONSOLE)
            and not any(p.search(line) for p in HARMLESS)]


@dataclass
class Result:
    """One test: name, outcome ("ok", "fail", "skip") and a reason."""

    name: str
    outcome: str
    reason: str = ""
    lines: list = field(default_factory=list, repr=False)  # what it printed


@dataclass
class Ktap:
    """What a KTAP text holds: top-level results, and what is wrong with the text itself."""

    results: list = field(default_factory=list)
    problems: list = field(default_factory=list)


def nested_notes(lines):
    """Reasons for a skip and for a failure in the lines that a test printed."""
    skips, fails, remarks = [], [], []
    for line in lines:
        inner = re.sub(r"^(# ?|\s+)+", "", line).strip()
        match = SKIP.search(inner.split("#", 1)[1]) if "#" in inner else None
        if match and match.group(1):
            skips.append(match.group(1).strip())
        if inner.startswith("not ok"):
            fails.append(inner)
        if re.search(r"\.[ch]:\d+|Expected|timed out", inner):
            remarks.append(inner)
    return skips, fails, remarks


def judge(match, lines):
    """The Result of a top-level line; lines are what the test printed."""
    skips, fails, remarks = nested_notes(lines)
    name, rest = match["name"].strip(), match["rest"] or ""
    skip = SKIP.search(rest)
    result = Result(name, "ok", lines=lines)
    if match["verdict"] == "not ok":
        why = remarks[-2:] or fails[:3] or [rest or "no reason given"]
        result.outcome, result.reason = "fail", "; ".join(([rest] if rest else []) + why)
    elif skip:
        reason = skip.group(1).strip() or (skips[-1] if skips else "")
        result.outcome = "skip" if reason else "fail"
        result.reason = reason or "skipped without a reason"
    elif fails:
        result.outcome, result.reason = "fail", f"says ok, yet: {'; '.join(fails[:3])}"
    return result


def expand(result):
    """The tests within a test program, or the program itself if it has none.

    A program that fails although each of its tests passed (a crash, a time-out) stays a failure.
    """
    inner = parse_ktap([re.sub(r"^# ?", "", line) for line in result.lines])
    if result.outcome == "skip" or not inner.results or inner.problems == ["no plan line"]:
        return [result]
    found = [Result(f"{result.name}: {r.name}", r.outcome, r.reason) for r in inner.results]
    if inner.problems:
        found.append(Result(result.name, "fail", "; ".join(inner.problems)))
    elif result.outcome == "fail" and not any(r.outcome == "fail" for r in found):
        found.append(Result(result.name, "fail", result.reason))
    return found


def parse_ktap(lines):
    """Read the top level of a KTAP text.

    Text before the first version or plan line is ignored. No plan, another number of results than
    planned, a wrong number on a line: each is a problem, and a problem is a failure.
    """
    ktap, plan, seen = Ktap(), None, []
    for raw in lines:
        line = raw.rstrip("\r\n")
        planned, match = KTAP_PLAN.match(line), KTAP_LINE.match(line)
        if planned and plan is None:
            plan, seen = int(planned[1]), []
            if plan == 0:
                reason = (planned[2] or "").strip()
                ktap.results.append(Result("all", "skip" if reason else "fail",
                                           reason or "skipped without a reason"))
        elif planned:
            ktap.problems.append(f"a second plan line: {line}")
        elif match and not match["indent"]:
            ktap.results.append(judge(match, seen))
            if int(match["number"]) != len(ktap.results):
                ktap.problems.append(f"result {len(ktap.results)} has the number "
                                     f"{match['number']}")
            seen = []
        else:
            seen.append(line)
        if line.startswith("Bail out!"):
            ktap.problems.append(line)
    if plan is None:
        ktap.problems.append("no plan line")
    elif plan and plan != len(ktap.results):
        ktap.problems.append(f"{plan} tests planned, {len(ktap.results)} results seen")
    return ktap


def split_ktap(lines):
    """Cut a text into its KTAP parts, each starting at a version line of the top level."""
    parts = []
    for line in lines:
        if re.match(r"^(K?TAP) version \d+", line):
            parts.append([])
        if parts:
            parts[-1].append(line)
    return parts
