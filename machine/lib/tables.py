# SPDX-License-Identifier: GPL-2.0
"""Tables of a benchmark, for a terminal and in Markdown."""

import figures

# Share of the mean number of instructions that a CPU should have had; beyond it is worth a note.
FAIR = (0.9, 1.1)
PARTS = ("scan", "hint", "copy", "migrate", "place", "rest")


def percent(value):
    """A share as a percentage."""
    return f"{100 * value:.0f}" if abs(value) < 0.99 or value >= 0.995 else f"{100 * value:.1f}"


def tenth(value):
    """One digit behind the point."""
    return f"{value:.1f}"


def hundredth_percent(value):
    """A small share as a percentage with two digits."""
    return f"{100 * value:.2f}"


def count(value):
    """A number of things; large ones in thousands or millions."""
    if abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{value / 1e3:.0f}k" if abs(value) < 10_000_000 else f"{value / 1e6:.0f}M"


# Heading, name in the summary, format.
COLUMNS = (("local %", "local_share", percent), ("last third %", "local_share_last", percent),
           ("T95 s", "t95_s", tenth), ("vs pinned %", "modelled_vs_pinned", percent),
           ("last third %", "modelled_vs_pinned_last", percent),
           ("vs off %", "modelled_vs_off", percent), ("kernel + %", "overhead_pct", tenth),
           ("PTE updates", "pte_updates", count), ("hint faults", "hint_faults", count),
           ("moved", "pages_migrated", count), ("oracle", "oracle_pages", count),
           ("moves", "task_moves", count), ("swaps", "task_swaps", count),
           ("busy", "busy_cpus", tenth), ("idle-q %", "idle_while_queued", hundredth_percent))


def cell(spread, form, none="-"):
    """Median, and the range if there is one."""
    if spread["median"] is None:
        return none
    middle = form(spread["median"])
    ends = [none if spread[name] is None else form(spread[name]) for name in ("min", "max")]
    return middle if ends == [middle, middle] else f"{middle} ({ends[0]}..{ends[1]})"


def main_row(entry):
    """Cells of a row of the main table."""
    cells = [cell(entry[name], form, "never" if name == "t95_s" and
                  entry["local_share"]["median"] is not None else "-")
             for _, name, form in COLUMNS]
    return [entry["thp"], entry["mode"], *cells, str(len(entry["seeds"]))]


def parts_row(entry):
    """Cells of a row of the table of kernel parts."""
    parts = entry["overhead_parts_pct"]
    names = list(PARTS) + [name for name in parts if name not in PARTS]
    cells = [cell(parts[name], tenth) if name in parts else "-" for name in names]
    return [entry["thp"], entry["mode"], *cells, cell(entry["overhead_pct"], tenth)]


MAIN_HEAD = ["THP", "mode", *(title for title, _, _ in COLUMNS), "seeds"]
PARTS_HEAD = ["THP", "mode", *PARTS, "all"]


def sections(entries):
    """Entries by workload and topology."""
    found = {}
    for entry in entries:
        found.setdefault((entry["workload"], entry["topology"]), []).append(entry)
    for members in found.values():
        members.sort(key=lambda e: e["thp"])    # stable: modes stay in their order
    return found


def widths(head, rows):
    """Width of each column."""
    return [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]


def line(cells, sizes, left=2):
    """Cells in columns; the first are names, the others numbers."""
    return "  ".join(text.ljust(size) if i < left else text.rjust(size)
                     for i, (text, size) in enumerate(zip(cells, sizes))).rstrip()


def aligned(head, groups, left=2):
    """A table for a terminal: lines; groups are (title, rows)."""
    sizes = widths(head, [row for _, rows in groups for row in rows])
    lines = [line(head, sizes, left)]
    for title, rows in groups:
        lines += ["", title] if title else []
        lines += [line(row, sizes, left) for row in rows]
    return lines


def markdown(head, rows, left=2):
    """A table in Markdown: lines."""
    rule = ["---" if i < left else "---:" for i in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in [head, rule, *rows]]


def title_of(key, texts):
    """Heading of a section."""
    text = texts.get(key[0], "")
    return f"{key[0]} on {key[1]}" + (f": {text}" if text else "")


def terminal(entries, texts):
    """The main table for a terminal."""
    return aligned(MAIN_HEAD, [(title_of(key, texts), [main_row(e) for e in members])
                               for key, members in sections(entries).items()])


def legend(constants):
    """What the columns mean, and what the model assumes."""
    return [
        "Each figure is the median over the seeds, with the least and the greatest in brackets. "
        "They are for the time from the end of the program's initialisation to the end of its "
        "work, except those of the kernel (from *kernel + %* to *swaps*): these begin with the "
        "program.", "",
        "* *local %*: user misses of the modelled caches that the CPU's own node served; beside "
        "it the same in the last third of the time.",
        "* *T95 s*: guest seconds until that share stays above 95 % of what pinning has (of all, "
        "where pinning is not defined); *never*: it was below at the end.",
        "* *vs pinned %*, *vs off %*: modelled throughput against pinned and off.",
        "* *kernel + %*: kernel instructions above those of off, in percent of all instructions "
        "of off.",
        "* *moved*, *oracle*: pages that were migrated; the fewest that any placement has to "
        "move. *moves*, *swaps*: tasks moved to a node, pairs of tasks exchanged.",
        "* *busy*: CPUs that ran, on average. *idle-q %*: CPU time that was idle while another "
        "CPU had two runnable tasks.", "",
        "Throughput is modelled: "
        + ", ".join(f"{name} = {value}" for name, value in constants.items())
        + ", divided by the CPUs that ran.",
        "Modes: off: balancing off. base: the base kernel's balancer. numab: this stack's. "
        "numab-off: this stack's kernel, balancing off. pinned: balancing off, the program binds "
        "threads and memory together. inverse: it binds them apart."]


def share_note(entries):
    """Whether the CPUs had equal shares of the instructions."""
    entries = [e for e in entries if e["cpu_share"]]
    if not entries:
        return []
    low = min(e["cpu_share"][0] for e in entries)
    high = max(e["cpu_share"][1] for e in entries)
    lines = [f"Shares of the instructions: the CPU with the fewest had {low:.2f} of the mean, the "
             f"one with the most {high:.2f}."]
    for e in entries:
        if e["cpu_share"][0] < FAIR[0] or e["cpu_share"][1] > FAIR[1]:
            lines.append("* {workload} on {topology}, THP {thp}, {mode}: {low:.2f} to {high:.2f}"
                         .format(**e, low=e["cpu_share"][0], high=e["cpu_share"][1]))
    if len(lines) > 1:
        lines[0] += (" QEMU runs the CPUs in turn, and where some were idle or the turns were "
                     "uneven, a task on a CPU with a larger share weighs more in the local share:")
        lines.insert(1, "")
    return lines


def failure_lines(summary):
    """The runs that failed, with their reasons."""
    if not summary["failures"]:
        return []
    return ["## Runs that failed", "",
            *(f"* {f['run']}: {f['reason'].splitlines()[0] if f['reason'] else 'no reason given'}"
              for f in summary["failures"]), ""]


def report(summary, texts, heading, pictures=None):
    """The whole report in Markdown; pictures: section -> [(title, file)]."""
    entries, pictures = summary["results"], pictures or {}
    text = [f"# {heading}", "", *legend(summary["constants"]), ""]
    text += failure_lines(summary)
    for title, file in pictures.get("all", []):
        text += [f"![{title}]({file})", ""]
    for key, members in sections(entries).items():
        text += [f"## {title_of(key, texts)}", "",
                 *markdown(MAIN_HEAD, [main_row(e) for e in members]), ""]
        for title, file in pictures.get(key, []):
            text += [f"![{title}]({file})", ""]
    text += ["## Kernel instructions above off, by part", "",
             "In percent of all instructions of off. A part holds what its functions call, up to "
             "those of another part.", ""]
    rows = [[*key, *parts_row(e)] for key, members in sections(entries).items() for e in members
            if e["mode"] != "off"]
    text += markdown(["workload", "topology", *PARTS_HEAD], rows, 4)
    text += ["", "## Shares of the CPUs", "", *share_note(entries), ""]
    return "\n".join(text)


FORMS = {"modelled_throughput": count, "t95_s": tenth, "kernel_share": hundredth_percent,
         "local_share": hundredth_percent, "local_share_last": hundredth_percent,
         "idle_while_queued": hundredth_percent}
LABELS = {"local_share": "local %", "local_share_last": "local % in the last third",
          "t95_s": "T95 s", "kernel_share": "kernel % of instructions",
          "idle_while_queued": "idle while queued %", "modelled_throughput": "throughput"}
COMPARE_HEAD = ["workload", "topology", "THP", "figure", "A", "B", "change", "verdict"]


def change(row):
    """Difference of the medians in percent of A's."""
    a, b = row["a"]["median"], row["b"]["median"]
    share = figures.ratio(b, a) if b is not None else None
    return "-" if share is None else f"{100 * (share - 1):+.1f} %"


def compare_row(row):
    """Cells of a row of a comparison."""
    name = row["figure"]
    form, none = FORMS.get(name, count), "never" if name == "t95_s" else "-"
    return [row["workload"], row["topology"], row["thp"], LABELS.get(name, name.replace("_", " ")),
            cell(row["a"], form, none), cell(row["b"], form, none), change(row), row["verdict"]]


def totals(rows):
    """One line with the number of each verdict."""
    words = [row["verdict"] for row in rows]
    return ", ".join(f"{words.count(word)} {word}" for word in ("better", "worse", "same",
                                                                "unknown") if word in words)


def compare_note(rows):
    """How sure the verdicts are."""
    fewest = min((len(row["seeds"]) for row in rows), default=0)
    if fewest > 1:
        return f"better, worse: outside the range of {fewest} seeds."
    return "One seed: a difference may be chance; 'SEEDS=3' tells."
