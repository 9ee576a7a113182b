# SPDX-License-Identifier: GPL-2.0
"""Run the machine's tests and count them as the stack's other tests are counted."""

import os
import sys
import traceback
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "stack" / "lib"), str(HERE.parent / "lib")]

HOST = ["test_host", "test_bench", "test_workloads"]
GUEST = ["test_guest"]
# Below a minute: what shows first when the instrument is broken.
QUICK = HOST + ["test_guest.Determinism.test_same_bytes", "test_guest.Locality.test_mix"]


class Counted(unittest.TestResult):
    """Hands each result on to a report; a test may leave its figures in "note"."""

    def __init__(self, report):
        super().__init__()
        self.report = report

    @staticmethod
    def name(test):
        """The name of a test."""
        name = test.id()
        for module in HOST + GUEST:
            name = name.removeprefix(f"{module}.")
        return f"machine: {name}"

    def addSuccess(self, test):
        """A test has passed."""
        self.report.ok(self.name(test), getattr(test, "note", ""))

    def addFailure(self, test, err):
        """A test has failed: what it says, then where."""
        where = traceback.format_exception(*err)[-3:-1]
        self.report.fail(self.name(test), "\n".join([str(err[1]), *where]))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        """A part of a test has ended."""
        if err:
            self.addFailure(subtest, err)

    def addSkip(self, test, reason):
        """A test cannot run here."""
        self.report.skip(self.name(test), reason)


def run(report, names=None, kernel=None):
    """Run tests by name (default: all) on a kernel (default: one below build/)."""
    if kernel:
        os.environ["MACHINE_KERNEL"] = str(kernel)
    suite = unittest.defaultTestLoader.loadTestsFromNames(names or HOST + GUEST)
    suite.run(Counted(report))
