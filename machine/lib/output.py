# SPDX-License-Identifier: GPL-2.0
"""What a benchmark leaves behind: results with all figures, summary, report, pictures."""

import datetime
import json
import os
import shutil

import figures
import plots
import tables
from bench import HASH_DIGITS, Outcome
from common import RESULTS, ROOT, Failure, say, shown, write_if_changed
from kernels import read_json, source_state

SUMMARY = RESULTS / "summary.json"
REPORT = RESULTS / "report.md"
PICTURES = RESULTS / "plots"
PUBLISHED = ROOT / "machine/RESULTS.md"


def summarise(outcome, title):
    """The summary as an object for machines."""
    first = outcome.runs[0] if outcome.runs else {}
    return {"title": title, "constants": first.get("constants", {}), "cache": first.get("cache"),
            "results": figures.summary(outcome.runs),
            "failures": [{"run": str(case), "reason": why} for case, why in outcome.failures]}


def known_outcome(store):
    """The outcome of the benchmark that was made last, and its title."""
    summary = read_json(SUMMARY, None)
    if summary is None:
        raise Failure(f"{shown(SUMMARY)} is missing: 'make bench' writes it")
    outcome = Outcome(failures=[(f["run"], f["reason"]) for f in summary["failures"]])
    for entry in summary["results"]:
        for inputs_hash, seed in zip(entry["inputs_hashes"], entry["seeds"]):
            facts = read_json(store.index.get(inputs_hash[:HASH_DIGITS], ""), None)
            if facts is None:
                raise Failure(f"the result of {entry['workload']} {entry['topology']} "
                              f"{entry['mode']} seed {seed} is gone; 'make bench' makes it")
            outcome.runs.append({**facts, **{name: entry[name] for name in (
                "workload", "topology", "thp", "mode")}, "seed": seed})
    outcome.runs = figures.fill_all(outcome.runs)
    return outcome, summary["title"]


def show(summary, texts):
    """The tables on the terminal."""
    entries = summary["results"]
    for row in tables.terminal(entries, texts):
        say(row)
    say("\nkernel instructions above off, in percent of all of off's, by part:")
    groups = [(tables.title_of(key, {}), [tables.parts_row(e) for e in members
                                          if e["mode"] != "off"])
              for key, members in tables.sections(entries).items()]
    for row in tables.aligned(tables.PARTS_HEAD, groups):
        say(row)
    say("\nconstants: " + ", ".join(f"{k} = {v}" for k, v in summary["constants"].items()))
    for row in tables.share_note(entries):
        say(row)


def finish(outcome, title, texts, store=None, pictures=True):
    """Write everything and show the tables; returns (summary, whether all went well)."""
    for facts in outcome.runs if store else []:
        store.save(facts)
    summary = summarise(outcome, title)
    write_if_changed(SUMMARY, json.dumps(summary, indent=1) + "\n")
    gallery = plots.Gallery(PICTURES)
    if pictures:
        shutil.rmtree(PICTURES, ignore_errors=True)
        gallery = plots.draw_all(outcome.runs, PICTURES)
    write_if_changed(REPORT, tables.report(summary, texts, title, gallery.pictures))
    show(summary, texts)
    for note in gallery.notes():
        say(note)
    for case, reason in outcome.failures:
        say(f"FAIL  {case}:")
        for row in reason.splitlines():
            if not row.startswith("@"):     # what the machine notes is of no use here
                say(f"      {row}")
    drawn = sum(map(len, gallery.pictures.values()))
    say(f"\n{shown(REPORT)}, {shown(SUMMARY)}, {drawn} pictures in {shown(PICTURES)}")
    return summary, not outcome.failures and not gallery.problems


def check_publishable():
    """Fail if what is going to be measured is not what a commit holds."""
    commit, changed = source_state()
    if changed:
        raise Failure(f"{changed[0]} and {len(changed) - 1} other files are not committed; "
                      "what is published must name a commit")
    return commit


def publish(summary, texts, commit, command):
    """Write the table that is checked in."""
    if summary["failures"]:
        raise Failure("some runs failed; nothing is published")
    now, _ = source_state()
    if now != commit:
        raise Failure(f"the commit changed from {commit[:12]} to {now[:12]} meanwhile; "
                      "nothing is published")
    today = datetime.date.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", 0)) or
                                        datetime.datetime.now().timestamp())
    kernels = sorted({e["kernel_id"] for e in summary["results"]})
    note = (f"Written by `{command}` on {today}, at commit {commit[:12]}. Kernels: "
            f"{', '.join(kernels)}. Do not edit.")
    body = tables.report(summary, texts, "Results")
    head, rest = body.split("\n", 1)
    write_if_changed(PUBLISHED, "\n".join(["<!-- SPDX-License-Identifier: GPL-2.0 -->", head, "",
                                           note, rest]))
    say(f"{shown(PUBLISHED)} written: {today}, commit {commit[:12]}")
