# SPDX-License-Identifier: GPL-2.0
"""The benchmark itself, with made-up results: cache, resume, failures, figures, report."""

import contextlib
import io
import json
import re
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path
from types import SimpleNamespace

import bench
import benchset
import figures
import output
import plots
import tables
from common import Failure, sha256

DEFINITIONS = """
[workload slices]
text = own slices
rows = B3
pins = hard
command = prog --threads {cpus} --processes {nodes} --half {cpus/2} --warehouses {cpus*3/2}
setup = echo {seed}
setup-on = echo on
[workload chat]
rows = B7
command = dir/chat {seconds}
topologies = mesh2
[set small]
runs =
    slices topology=mesh4 thp=always,never mode=off,numab,pinned seeds=2 seconds=5
    B7 topology=mesh2 thp=never mode=off,numab,pinned seconds=5
[set twice]
runs =
    slices mode=off seconds=5
    B3 mode=off seconds=5 thp=never
[set uneven]
runs =
    slices mode=off seconds=5
    slices mode=base seconds=9
[set bad]
runs = slices thp=sometimes
[set lost]
runs = nothing
[set misplaced]
runs = chat topology=mesh4
"""
SHARES = {"off": 0.25, "base": 0.5, "numab": 0.9, "pinned": 1.0, "a": 0.9, "b": 0.9}
KERNEL_INSN = {"off": 100, "base": 400, "numab": 200, "pinned": 100, "a": 200, "b": 200}
USER_INSN = 900


def definitions(text=DEFINITIONS):
    """Definitions from a text."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "benchmarks"
        path.write_text(text, encoding="utf-8")
        return benchset.load(path)


def made_up(case, **changes):
    """A result as the machine would give it; the seed moves it a little."""
    share = SHARES[case.mode] - 0.001 * case.seed
    kernel = KERNEL_INSN[case.mode] + 10 * (case.seed - 1)
    times = [0.1 * i for i in range(1, 10 * case.seconds + 1)]
    # Local after two seconds, unless the mode moves nothing.
    series = [[t, SHARES["off"] if t < 2 and case.mode in ("base", "numab") else share]
              for t in times]
    rest = KERNEL_INSN["off"] + 10 * (case.seed - 1)
    parts = {"scan": kernel - rest, "hint": 0, "copy": 0, "migrate": 0, "place": 0, "rest": rest}
    seconds = [{"end_s": 10.0 + t, "local_share": share, "parts": parts,
                "insn": {"user": USER_INSN, "kernel": kernel}} for t in range(1, case.seconds + 1)]
    facts = {"workload": "?", "topology": "?", "thp": "?", "mode": case.mode, "seed": -1,
             "kernel_id": "6.12-x", "local_share": share, "local_share_last": share, "t95_s": None,
             "t95_reference": 1.0, "local_series": series, "guest_s": float(case.seconds),
             "overhead_pct": None, "overhead_parts": parts, "kernel_insn": kernel,
             "user_insn": USER_INSN, "modelled_throughput": 1000 * share,
             "modelled_throughput_last": 1000 * share, "modelled_vs_pinned": None,
             "modelled_vs_pinned_last": None, "busy_cpus": 8.0, "idle_while_queued": 0.0,
             "cpu_share": [0.95, 1.05], "pte_updates": 10, "hint_faults": 5,
             "pages_migrated": 50000, "oracle_pages": 40000, "task_moves": 1, "task_swaps": 0,
             "longest_slice_insn": 100, "slice_p99_insn": 90, "fault_pause_max_insn": 1000,
             "fault_pause_p99_insn": 900, "steady_pte_updates_per_s": 1.0,
             "matrix": [[3, 1], [0, 4]], "series": seconds,
             "memory": [{"s": 10.0 + t, "node_kib": [1024 * t, 2048]}
                        for t in range(case.seconds + 1)],
             "node_tasks": [{"s": 10.0 + t, "tasks": [1.5, 2]} for t in range(1, case.seconds + 1)],
             "constants": {"ns_per_insn": 0.5}, "cache": {"sets": 1}}
    return {**facts, **changes}


class FakeMachine:
    """Makes results up, counts how often; some cases fail."""

    def __init__(self, world="kernel 1", broken=lambda case: None):
        self.world, self.broken, self.runs = world, broken, []

    def prepare(self, case, timeout):
        """The seed and the mode are among the inputs, as on the command line."""
        assert timeout >= 600
        return SimpleNamespace(case=case, inputs_hash=sha256(f"{self.world} {case}".encode()))

    def measure(self, prepared):
        """One run."""
        case = prepared.case
        self.runs.append(case)
        reason = self.broken(case)
        if isinstance(reason, BaseException):
            raise reason
        return made_up(case, inputs_hash=prepared.inputs_hash)


class Base(unittest.TestCase):
    """A directory for results, and silence."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name)
        self.said = io.StringIO()
        quiet = contextlib.redirect_stdout(self.said)
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def bench(self, machine, name="small", again=False):
        """Run a set of the definitions above."""
        runner = bench.Bench(definitions().cases(name), machine, bench.Store(self.path / "runs"), 2)
        return bench.run_bench(runner, again)

    def paths(self):
        """Let the output go to the directory."""
        return unittest.mock.patch.multiple(
            output, SUMMARY=self.path / "summary.json", REPORT=self.path / "report.md",
            PICTURES=self.path / "plots", PUBLISHED=self.path / "RESULTS.md")


class Sets(Base):
    """The definition file."""

    def test_cases(self):
        """Seeds, modes and THP are multiplied; pinned only where the workload can be pinned."""
        cases = definitions().cases("small")
        self.assertEqual(len([c for c in cases if c.workload == "slices"]), 2 * 3 * 2)
        self.assertEqual({c.mode for c in cases if c.workload == "chat"}, {"off", "numab"})
        self.assertEqual(len(set(cases)), len(cases))

    def test_errors(self):
        """Nonsense is refused with a reason."""
        for name, reason in (("twice", "two rows"), ("uneven", "takes 9 s"),
                             ("bad", "thp=sometimes"), ("lost", "nothing"),
                             ("misplaced", "mesh4"), ("absent", "no set")):
            with self.subTest(name), self.assertRaisesRegex(Failure, reason):
                definitions().cases(name)
        for text, reason in (("[thing x]", "neither"), ("[workload x]\n", "no command"),
                             ("[workload x]\ncommand=y\ncolour=red\n", "colour"),
                             ("x", "contains")):
            with self.subTest(text), self.assertRaisesRegex(Failure, reason):
                definitions(text)

    def test_command(self):
        """What is in braces comes from the topology, the seed and the mode."""
        found = definitions()
        case = benchset.Case("slices", "mesh4", "never", "pinned", 3, 7)
        words = benchset.command_of(found.workloads["slices"], case, "hard")
        self.assertEqual(words[0], str(benchset.PROGRAMS / "prog"))
        self.assertEqual(words[1:], "--threads 8 --processes 4 --half 4 --warehouses 12 "
                                    "--seconds 7 --seed 3 --pin hard".split())
        self.assertEqual(benchset.setup_of(found.workloads["slices"], case, "none", True),
                         "echo 3; echo on")
        words = benchset.command_of(found.workloads["chat"], case, "none")
        self.assertEqual(words, [str(benchset.ROOT / "dir/chat"), "7"])
        with self.assertRaisesRegex(Failure, "there are"):
            benchset.substitute("{colour}", {"cpus": 8})

    def test_own_definitions(self):
        """The sets of machine/benchmarks can be expanded, and each workload is in one."""
        found = benchset.load()
        self.assertLessEqual({"quick", "standard", "full"}, set(found.sets))
        used = {c.workload for name in found.sets for c in found.cases(name)}
        self.assertEqual(used, set(found.workloads))
        modes = {c.mode for c in found.cases("full")}
        self.assertEqual(modes, set(benchset.MODES))
        for case in found.cases("full"):
            benchset.command_of(found.workloads[case.workload], case, "none")


class Cache(Base):
    """What is known is not run again, what changed is."""

    def test_second_time(self):
        """The second benchmark makes no run and has the same results."""
        first, second = FakeMachine(), FakeMachine()
        one, two = self.bench(first), self.bench(second)
        self.assertEqual(len(first.runs), len(definitions().cases("small")))
        self.assertEqual(second.runs, [])
        self.assertEqual((two.made, two.known), (0, one.made))
        self.assertEqual(one.runs, two.runs)

    def test_key(self):
        """Other inputs mean other runs; 'again' makes known ones."""
        self.bench(FakeMachine())
        other, again = FakeMachine("kernel 2"), FakeMachine()
        self.bench(other)
        self.bench(again, again=True)
        self.assertEqual(len(other.runs), len(definitions().cases("small")))
        self.assertEqual(len(again.runs), len(other.runs))

    def test_broken_file(self):
        """A result that cannot be read, or is that of other inputs, is made again."""
        self.bench(FakeMachine())
        half, other, *_ = sorted((self.path / "runs").glob("slices-*.json"))
        half.write_text(half.read_text(encoding="utf-8")[:100], encoding="utf-8")
        other.write_text(other.read_text(encoding="utf-8").replace('"inputs_hash": "',
                                                                   '"inputs_hash": "0'),
                         encoding="utf-8")
        machine = FakeMachine()
        self.assertEqual(self.bench(machine).failures, [])
        self.assertEqual(len(machine.runs), 2)

    def test_same_inputs(self):
        """Two cases with the same inputs are one run with two names."""
        machine = FakeMachine()
        machine.prepare = lambda case, timeout: SimpleNamespace(case=case, inputs_hash="0" * 64)
        outcome = self.bench(machine)
        self.assertEqual(len(machine.runs), 1)
        self.assertEqual(len(outcome.runs), len(definitions().cases("small")))
        self.assertEqual({r["mode"] for r in outcome.runs}, {"off", "numab", "pinned"})

    def test_names(self):
        """A result has the names of its case, in the object and in the file's name."""
        self.bench(FakeMachine())
        for path in (self.path / "runs").glob("*-*.json"):
            facts = json.loads(path.read_text(encoding="utf-8"))
            self.assertTrue(path.name.startswith(
                "{workload}-{topology}-{thp}-{mode}-{seed}-".format(**facts)))


class Trouble(Base):
    """Failures and interruptions."""

    def test_failure(self):
        """A failed run stops no other, is not kept, and is made again."""
        def broken(case):
            if case.mode == "numab" and case.thp == "always" and case.seed == 2:
                return Failure("the guest panicked")
            return ZeroDivisionError() if case.workload == "chat" and case.mode == "off" else None

        outcome = self.bench(FakeMachine(broken=broken))
        total = len(definitions().cases("small"))
        self.assertEqual(len(outcome.runs), total - 2)
        reasons = {str(case): why for case, why in outcome.failures}
        self.assertEqual(sorted(reasons.values()), ["ZeroDivisionError", "the guest panicked"])
        self.assertIn("FAIL  slices mesh4 thp=always numab seed 2: the guest panicked",
                      self.said.getvalue())
        machine = FakeMachine()
        self.assertEqual(self.bench(machine).failures, [])
        self.assertEqual(len(machine.runs), 2)

    def test_no_preparation(self):
        """A run that cannot be prepared fails alone."""
        machine = FakeMachine()
        prepare = machine.prepare

        def picky(case, timeout):
            if case.workload == "chat":
                raise Failure("chat is no static program")
            return prepare(case, timeout)

        machine.prepare = picky
        outcome = self.bench(machine)
        self.assertEqual({c.workload for c, _ in outcome.failures}, {"chat"})
        self.assertEqual(len(outcome.runs), len(definitions().cases("small")) - 2)

    def test_exit_status(self):
        """Failures are reported at the end, and not all is well."""
        outcome = self.bench(FakeMachine(broken=lambda case: case.workload == "chat" and
                                         Failure("lost\nits log\n@machine {}") or None))
        with self.paths():
            summary, well = output.finish(outcome, "t", {}, pictures=False)
            self.assertFalse(well)
            self.assertEqual(len(summary["failures"]), 2)
            with self.assertRaisesRegex(Failure, "nothing is published"):
                output.publish(summary, {}, "0" * 40, "make")
        self.assertIn("its log", self.said.getvalue())
        self.assertNotIn("@machine", self.said.getvalue())
        self.assertIn("chat mesh2 thp=never off seed 1: lost",
                      (self.path / "report.md").read_text(encoding="utf-8"))

    def test_interrupt(self):
        """Ctrl-C ends the guests and starts no other; what is complete is kept."""
        machine, killed = FakeMachine(), threading.Event()
        measure = machine.measure

        def guest(prepared):
            if len(machine.runs) < 4:
                return measure(prepared)
            with lock:
                machine.runs.append(prepared.case)
                number = len(machine.runs)
            if number == 5:
                raise KeyboardInterrupt
            self.assertTrue(killed.wait(20), "the guest was left alone")
            raise Failure("the guest ended early")

        lock, machine.measure = threading.Lock(), guest
        with unittest.mock.patch.object(bench.qemu, "stop_all", killed.set), \
                self.assertRaises(KeyboardInterrupt):
            self.bench(machine)
        kept = len(list((self.path / "runs").glob("*-*.json")))
        self.assertGreaterEqual(kept, 4)
        self.assertLessEqual(len(machine.runs), kept + 3)
        self.assertNotIn("FAIL", self.said.getvalue())
        self.assertFalse(list((self.path / "runs").glob(".*")))
        rest = FakeMachine()
        outcome = self.bench(rest)
        self.assertEqual(len(rest.runs), len(definitions().cases("small")) - kept)
        self.assertEqual(outcome.known, kept)

    def test_estimate(self):
        """Durations of earlier runs replace the guess, scaled to the guest's seconds."""
        store = bench.Store(self.path)
        case = benchset.Case("slices", "mesh4", "never", "off", 1, 20)
        guess = store.estimate(case)
        store.note_time(case, 100)
        self.assertGreater(guess, 20)
        self.assertEqual(bench.Store(self.path).estimate(case), 100)
        longer = benchset.Case("slices", "mesh4", "always", "numab", 2, 44)
        self.assertAlmostEqual(store.estimate(longer), 200)


class Figures(unittest.TestCase):
    """Figures from several runs."""

    def runs(self, **changes):
        """Results of the small set."""
        cases = definitions().cases("small")
        return figures.fill_all([{**made_up(c, inputs_hash=f"{c}", **changes),
                                  "workload": c.workload, "topology": c.topology, "thp": c.thp,
                                  "seed": c.seed} for c in cases])

    def one(self, mode, workload="slices"):
        """Such a result."""
        return next(r for r in self.runs() if r["mode"] == mode and r["workload"] == workload)

    def test_against_others(self):
        """Overhead against off, throughput and T95 against pinned, of the same seed."""
        run = self.one("numab")
        self.assertAlmostEqual(run["overhead_pct"], 100 * 100 / 1000)
        self.assertAlmostEqual(run["overhead_parts_pct"]["scan"], 10)
        self.assertAlmostEqual(run["overhead_parts_pct"]["rest"], 0)
        self.assertAlmostEqual(run["modelled_vs_pinned"], 0.899 / 0.999)
        self.assertAlmostEqual(run["modelled_vs_off"], 0.899 / 0.249)
        self.assertEqual(run["t95_reference"], 0.999)
        self.assertIsNone(run["t95_s"])        # 90 % are less than 95 % of pinned's
        self.assertIn("pinned seed 1", run["against"]["pinned"])
        second = next(r for r in self.runs() if r["mode"] == "numab" and r["seed"] == 2)
        self.assertAlmostEqual(second["overhead_pct"], 100 * 100 / 1010)
        self.assertAlmostEqual(second["modelled_vs_pinned"], 0.898 / 0.998)
        chat = self.one("numab", "chat")
        self.assertIsNone(chat["modelled_vs_pinned"])
        self.assertEqual(chat["t95_reference"], 1.0)

    def test_t95(self):
        """The moment from which the share stays above 95 % of pinned's."""
        case = definitions().cases("small")[0]
        run = made_up(case, inputs_hash="x")
        run["local_series"] = [[1, 0.2], [2, 0.5], [3, 0.3], [4, 0.46], [5, 0.5]]
        self.assertEqual(figures.fill(run, None, {**run, "local_share": 0.48})["t95_s"], 4)
        self.assertIsNone(figures.fill(run)["t95_s"])
        refilled = figures.fill(figures.fill(run), None, {**run, "local_share": 0.48})
        self.assertEqual(refilled["t95_s"], 4)

    def test_spread(self):
        """Median, least, greatest; a T95 of never is later than any."""
        self.assertEqual(figures.spread([3, 1, 2]), {"median": 2, "min": 1, "max": 3})
        self.assertEqual(figures.spread([None, 1, 2], True), {"median": 2, "min": 1, "max": None})
        self.assertIsNone(figures.spread([None, None, 2], True)["median"])
        self.assertEqual(figures.spread([None, 4]), {"median": 4, "min": 4, "max": 4})
        self.assertEqual(figures.spread([None]), {"median": None, "min": None, "max": None})

    def test_summary(self):
        """One entry per group and mode, over its seeds."""
        entries = figures.summary(self.runs())
        self.assertEqual(len(entries), 2 * 3 + 2)
        entry = next(e for e in entries if e["mode"] == "numab" and e["thp"] == "never"
                     and e["workload"] == "slices")
        self.assertEqual(entry["seeds"], [1, 2])
        self.assertAlmostEqual(entry["local_share"]["median"], 0.8985)
        self.assertAlmostEqual(entry["local_share"]["min"], 0.898)
        self.assertEqual(entry["overhead_parts"]["scan"]["median"], 100)
        json.dumps(entries, allow_nan=False)

    def test_node_tasks(self):
        """Run time and waiting time of a node's CPUs, by the time that passed."""
        notes = [{"us": 0, "schedstat": [[0, 0, 0], [0, 0, 0]]},
                 {"us": 1_000_000, "schedstat": [[10**9, 10**9, 5], [5 * 10**8, 0, 5]]},
                 {"us": 2_000_000}]
        self.assertEqual(bench.node_tasks(notes, [0, 1]), [{"s": 1.0, "tasks": [2.0, 0.5]}])


class Verdicts(unittest.TestCase):
    """Words of a comparison."""

    def test_words(self):
        """Outside the seeds' ranges and above the threshold, in the figure's direction."""
        for name, before, after, word in (
                ("local_share", [0.5, 0.52, 0.54], [0.9, 0.91, 0.92], "better"),
                ("local_share", [0.9, 0.91, 0.92], [0.5, 0.52, 0.54], "worse"),
                ("local_share", [0.5, 0.7, 0.9], [0.8, 0.85, 0.95], "same"),    # ranges meet
                ("local_share", [0.900, 0.901], [0.905, 0.906], "same"),        # too little
                ("kernel_share", [0.05, 0.06], [0.20, 0.21], "worse"),
                ("t95_s", [2.0, 3.0], [None, None], "worse"),
                ("t95_s", [None, None], [2.0, 3.0], "better"),
                ("t95_s", [None, None], [None, None], "same"),
                ("t95_s", [2.0, None], [3.0, None], "same"),
                ("pages_migrated", [36864], [90000], "worse"),
                ("pages_migrated", [36864], [37000], "same"),
                ("modelled_throughput", [100.0], [100.5], "same"),
                ("modelled_throughput", [100.0], [102.0], "better"),
                ("idle_while_queued", [None], [0.1], "unknown")):
            with self.subTest(f"{name} {before} {after}"):
                self.assertEqual(figures.verdict(name, before, after), word)

    def test_planted(self):
        """A kernel that is worse in one figure is called so there and nowhere else."""
        cases = [benchset.Case("slices", "mesh4", "never", mode, seed, 5)
                 for mode in "ab" for seed in (1, 2, 3)]
        runs = figures.fill_all([{**made_up(c, inputs_hash="x"), "workload": c.workload,
                                  "topology": c.topology, "thp": c.thp, "seed": c.seed}
                                 for c in cases])
        before = [r for r in runs if r["mode"] == "a"]
        after = [r for r in runs if r["mode"] == "b"]
        self.assertEqual({r["verdict"] for r in figures.comparison(before, after)}, {"same"})
        worse = [{**r, "local_share": 0.8 * r["local_share"]} for r in after]
        rows = figures.comparison(before, worse)
        self.assertEqual({r["figure"] for r in rows if r["verdict"] == "worse"}, {"local_share"})
        self.assertEqual(tables.totals(rows), f"1 worse, {len(rows) - 1} same")
        self.assertIn("-20.0 %", tables.compare_row(next(r for r in rows
                                                         if r["verdict"] == "worse")))
        # Only seeds that both have are compared.
        self.assertEqual(figures.comparison(before[:2], after[1:])[0]["seeds"], [2])
        self.assertEqual(figures.comparison(before[:1], after[1:]), [])


class Text(Base):
    """Tables and report."""

    def test_cells(self):
        """Median and range; never; nothing."""
        form = tables.percent
        self.assertEqual(tables.cell({"median": 0.5, "min": 0.4, "max": 0.6}, form), "50 (40..60)")
        self.assertEqual(tables.cell({"median": 0.5, "min": 0.5, "max": 0.5}, form), "50")
        self.assertEqual(tables.cell({"median": 2, "min": 1, "max": None}, tables.tenth, "never"),
                         "2.0 (1.0..never)")
        self.assertEqual(tables.cell({"median": None, "min": None, "max": None}, form), "-")

    def test_report(self):
        """All groups and modes are in the report, and what is drawn is shown in it."""
        outcome = self.bench(FakeMachine())
        with self.paths():
            summary, well = output.finish(outcome, "A title", {"slices": "own slices"},
                                          pictures=False)
            text = output.REPORT.read_text(encoding="utf-8")
            again, title = output.known_outcome(bench.Store(self.path / "runs"))
        self.assertTrue(well)
        self.assertEqual(sorted(map(str, again.runs)), sorted(map(str, outcome.runs)))
        self.assertEqual(title, "A title")
        self.assertTrue(text.startswith("# A title\n"))
        self.assertIn("## slices on mesh4: own slices", text)
        self.assertIn("ns_per_insn = 0.5", text)
        row = next(r for r in text.splitlines() if r.startswith("| always | numab |"))
        self.assertIn("| 90 |", row)        # vs pinned
        self.assertIn("| never |", row)     # T95
        self.assertEqual(row.count("|"), len(tables.MAIN_HEAD) + 1)
        self.assertIn("had 0.95 of the mean", text)
        self.assertEqual(len(re.findall(r"^\| (always|never) \| ", text, re.M)), 8)
        self.assertEqual(summary["results"][0]["workload"], "slices")

    def test_publish(self):
        """The table that is checked in names date, commit and kernels, and no picture."""
        outcome = self.bench(FakeMachine())
        with self.paths(), unittest.mock.patch.object(output, "source_state",
                                                      lambda: ("c" * 40, [])):
            summary, _ = output.finish(outcome, "t", {}, pictures=False)
            output.publish(summary, {}, output.check_publishable(), "make bench SET=x PUBLISH=1")
            text = output.PUBLISHED.read_text(encoding="utf-8")
            with self.assertRaisesRegex(Failure, "the commit changed"):
                output.publish(summary, {}, "d" * 40, "make")
        self.assertRegex(text, r"(?m)^Written by `make bench SET=x PUBLISH=1` on \d{4}-\d\d-\d\d, "
                               r"at commit c{12}\. Kernels: 6\.12-x\. Do not edit\.$")
        self.assertNotIn("![", text)
        with unittest.mock.patch.object(output, "source_state", lambda: ("c" * 40, ["mm/x.c"])), \
                self.assertRaisesRegex(Failure, "not committed"):
            output.check_publishable()

    def test_unequal_shares(self):
        """CPUs with unequal shares are named."""
        outcome = self.bench(FakeMachine())
        outcome.runs[0]["cpu_share"] = [0.5, 2.0]
        note = tables.share_note(figures.summary(outcome.runs))
        self.assertEqual(len([line for line in note if line.startswith("* ")]), 1)
        self.assertIn("0.50 to 2.00", note[-1])

    def test_short_steps(self):
        """Marks that follow each other at once make no step of their own."""
        run = {"guest_s": 2.0, "series": [
            {"end_s": at, "insn": {"user": user, "kernel": 10}, "parts": {"scan": scan}}
            for at, user, scan in ((11.0, 80, 5), (11.01, 0, 10), (12.0, 70, 10))]}
        self.assertEqual(plots.cost_series(run, ["scan"]),
                         [(1.0, [100 * 5 / 90]), (2.0, [100 * 20 / 90])])

    def test_pictures(self):
        """Each kind is drawn in both formats; missing data are named."""
        if not plots.shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed")
        outcome = self.bench(FakeMachine())
        for run in outcome.runs:
            if run["workload"] == "chat":
                run["node_tasks"] = []
        gallery = plots.draw_all(outcome.runs, self.path / "plots")
        self.assertEqual(gallery.problems, [])
        self.assertEqual(gallery.notes(), ["no data for 'Runnable tasks per node' in 1 pictures, "
                                           "such as threads-chat-mesh2-never"])
        drawn = {p.name for p in (self.path / "plots").iterdir()}
        for kind in plots.KINDS:
            for suffix in plots.TERMINALS:
                self.assertIn(f"{kind}-slices-mesh4-always.{suffix}", drawn)
        self.assertIn("bars-mesh4.svg", drawn)
        self.assertTrue(all(p.stat().st_size > 1000 for p in (self.path / "plots").iterdir()))
        self.assertTrue(all((self.path / file).is_file()
                            for group in gallery.pictures.values() for _, file in group))


if __name__ == "__main__":
    unittest.main()
