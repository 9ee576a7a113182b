# SPDX-License-Identifier: GPL-2.0
"""The workloads run on the host with tiny sizes, where marks are plain loads; no guest."""

import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import measure
from common import ROOT, plain_env, run

PROGRAMS = measure.OUTPUT / "workloads"
# The same, built so that damage can be planted; the ones that are measured cannot do that.
PLANTED = measure.OUTPUT / "workloads-plant"
AT_A_TIME = 8
SMALL = {
    "procs own": "procs --processes 2 --threads 2 --size 4 --share own",
    "procs all": "procs --processes 1 --threads 3 --size 4 --share all",
    "procs counter": "procs --processes 3 --threads 1 --size 4 --share counter --start node0",
    "procs remote": "procs --processes 1 --threads 3 --size 4 --start remote",
    "procs mix": "procs --processes 1 --threads 2 --size 4 --mix 30 --pin hard",
    "jvm": "jvm --processes 1 --threads 2 --size 12",
    "autonuma numa01": "autonuma --case numa01 --size 4",
    "autonuma local": "autonuma --case local --size 4",
    "autonuma numa02": "autonuma --case numa02 --size 4",
    "autonuma smt": "autonuma --case smt --size 4",
    "nas bt": "nas --kernel bt --threads 3 --size 4",
    "nas cg": "nas --kernel cg --threads 3 --size 4 --touch parallel",
    "nas ft": "nas --kernel ft --threads 3 --size 4",
    "nas mg": "nas --kernel mg --threads 3 --size 4 --touch parallel",
    "graph bfs": "graph --kernel bfs --threads 3 --size 4",
    "graph pagerank": "graph --kernel pagerank --threads 3 --size 4",
    "hashjoin partitioned": "hashjoin --join partitioned --threads 3 --size 4",
    "hashjoin shared": "hashjoin --join shared --threads 3 --size 4 --touch parallel",
    "streams": "streams --processes 2 --size 4",
    "request udp": "request --kind udp --processes 2 --size 1",
    "request tcp": "request --kind tcp --processes 2 --size 1 --bytes 16384",
    "request pipe": "request --kind pipe --processes 2 --size 1",
    "request socketpair": "request --kind socketpair --processes 2 --size 1",
    "churn threads": "churn --kind threads --processes 1 --threads 2",
    "churn processes": "churn --kind processes --processes 1 --threads 2",
    "churn exec": "churn --kind exec --processes 1 --threads 2",
}
# The short-lived program itself has no options, so no damage can be planted into it.
NOT_PLANTED = {"churn exec"}


def setUpModule():
    """Build them."""
    make = ["make", "-s", "-j2", "-C", ROOT / "machine/workloads"]
    with measure.lock("machine"):
        run(*make, f"OUTPUT={PROGRAMS}")
        run(*make, f"OUTPUT={PLANTED}", "CPPFLAGS=-DWORK_PLANT")


def command(text, programs=PROGRAMS):
    """The words of a command line, with the path of the program."""
    name, *words = text.split()
    return [str(programs / name), *words]


def start(*words):
    """Run a program to its end; status and what it says on stderr."""
    done = subprocess.run(words, env=plain_env(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def run_all(commands):
    """Run commands, several at a time: name -> status, stdout, stderr."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return dict(zip(commands, pool.map(lambda words: start(*words), commands.values())))


class Results(unittest.TestCase):
    """Each program verifies what it has done."""

    def test_right(self):
        """Nothing is wrong when nothing is wrong; every process has told the oracle of memory."""
        done = run_all({name: [*command(text), "--seconds", "1", "--seed", "7"]
                        for name, text in SMALL.items()})
        for name, (status, out, errors) in done.items():
            with self.subTest(name):
                self.assertEqual((status, errors), (0, ""))
                if not name.startswith("churn"):
                    self.assertIn("@oracle ", out)

    def test_planted(self):
        """A damaged page is found by each: status 1 and one line."""
        done = run_all({name: [*command(text, PLANTED), "--seconds", "1", "--plant", "500"]
                        for name, text in SMALL.items() if name not in NOT_PLANTED})
        for name, (status, _, errors) in done.items():
            with self.subTest(name):
                self.assertEqual((status, errors.count("\n")), (1, 1), errors)
                self.assertIn("wrong result", errors)


class Options(unittest.TestCase):
    """Bad options: one line, status 2, nothing done."""

    BAD = ["--nonsense 1", "--size", "size 3", "--size 0", "--size 3x", "--seconds -1",
           "--pin sideways", "--threads 100000", "--processes 0", "--plant 1"]

    def test_common(self):
        """Options of all programs."""
        for name in sorted({text.split()[0] for text in SMALL.values()}):
            for bad in self.BAD:
                with self.subTest(f"{name} {bad}"):
                    status, out, errors = start(*command(f"{name} {bad}"))
                    self.assertEqual((status, out, errors.count("\n")), (2, "", 1), errors)
                    self.assertTrue(errors.startswith(name), errors)

    def test_own(self):
        """Options of one program, and sizes that it cannot work with."""
        for text in ["procs --share some", "procs --mix 50", "jvm --old 5",
                     "jvm --size 1 --threads 8", "autonuma --case numa03", "nas --kernel sp",
                     "nas --touch never", "graph --kernel dfs", "graph --size 1 --threads 200",
                     "hashjoin --join left", "hashjoin --size 1 --threads 8",
                     "streams --threads 2", "request --threads 2", "request --kind avian",
                     "request --bytes 31", "request --processes 200", "churn --kind fork",
                     "tier --hot 101"]:
            with self.subTest(text):
                status, out, errors = start(*command(text))
                self.assertEqual((status, out, errors.count("\n")), (2, "", 1), errors)

    def test_help(self):
        """Each has a help with its defaults."""
        for path in sorted(PROGRAMS.iterdir()):
            if path.name == "marked":
                continue
            status, out, errors = start(str(path), "--help")
            self.assertEqual((status, errors), (0, ""))
            self.assertIn("--seconds NUMBER (20)", out)


class Marked(unittest.TestCase):
    """The wrapper for programs that know no marks."""

    def expect(self, status, *words):
        """Run it and compare the status; returns its output."""
        found, out, errors = start(str(PROGRAMS / "marked"), *words)
        self.assertEqual(found, status, errors)
        return out

    def test_status(self):
        """The status of the program is its own."""
        self.assertEqual(self.expect(3, "--", "/bin/sh", "-c", "echo x; exit 3"), "x\n")
        self.expect(128 + 9, "--", "/bin/sh", "-c", "kill -9 $$")
        self.expect(127, "--", "./no-such-program")

    def test_units(self):
        """A pattern that is not there is a failure."""
        self.expect(0, "--unit-pattern", "done ", "--", "/bin/echo", "done 17 times")
        self.expect(1, "--unit-pattern", "done ", "--", "/bin/echo", "nothing")

    def test_seconds(self):
        """A program without an end is ended, with its children."""
        self.expect(0, "--seconds", "1", "--", "/bin/sh", "-c", "sleep 50 & sleep 50")

    def test_options(self):
        """Bad options."""
        for words in (["--seconds", "x", "--", "true"], ["true"], ["--"], ["--units", "1"],
                      ["--unit-scale", "0", "--", "true"]):
            self.expect(2, *words)


def maps_of_children(pid):
    """The memory maps of a process's children."""
    tasks = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [Path(f"/proc/{child}/maps").read_text(encoding="ascii") for child in tasks]


class Sharing(unittest.TestCase):
    """Processes have no page in common that they write to, unless that is the point."""

    def shared(self, text):
        """Shared writable mappings of each process."""
        with subprocess.Popen([*command(text), "--seconds", "2"], stdout=subprocess.PIPE) as parent:
            # The first line of the oracle: the children are there.
            parent.stdout.readline()
            time.sleep(0.3)
            maps = maps_of_children(parent.pid)
            parent.stdout.read()
        return [sum(" rw-s " in line for line in text.splitlines()) for text in maps]

    def test_no_shared_page(self):
        """Own slices: none; the case with a counter: one."""
        self.assertEqual(self.shared("procs --processes 2 --threads 1 --size 4"), [0, 0])
        self.assertEqual(self.shared("procs --processes 2 --threads 1 --size 4 --share counter"),
                         [1, 1])
