#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the measuring machine; the last line is "N passed, N failed".

    machine/tests/run.py [--host-only] [--kernel bzImage] [NAME...]

Guests need a kernel: --kernel, $MACHINE_KERNEL, or the first one found below build/.
"""

import argparse
import os
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib"), str(HERE.parents[1] / "stack" / "lib")]

# pylint: disable=wrong-import-position
from common import main


class Result(unittest.TextTestResult):
    """Counts what passed."""

    passed = 0

    def addSuccess(self, test):
        """A test has passed."""
        super().addSuccess(test)
        self.passed += 1


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host-only", action="store_true", help="no guests")
    parser.add_argument("--kernel", metavar="BZIMAGE")
    parser.add_argument("names", nargs="*", metavar="NAME", help="as test_host.Model or so")
    return parser.parse_args()


def work():
    """Run the tests."""
    given = options()
    if given.kernel:
        os.environ["MACHINE_KERNEL"] = given.kernel
    modules = ["test_host"] + ([] if given.host_only else ["test_guest"])
    suite = unittest.defaultTestLoader.loadTestsFromNames(given.names or modules)
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.passed} passed, {failed} failed", flush=True)
    return 1 if failed or not result.passed else 0


if __name__ == "__main__":
    main(work)
