#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the measuring machine; the last line is "N passed, N failed".

    machine/tests/run.py [--host-only | --quick] [--kernel BZIMAGE] [NAME...]

Guests need a kernel: --kernel, $MACHINE_KERNEL, or build/out-numab's. The planted regression needs
one with the base balancer: $MACHINE_BASE_KERNEL, or one of build/out-base*.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import suite
import report
from common import Failure, main


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host-only", action="store_true", help="no guests")
    parser.add_argument("--quick", action="store_true", help="as 'make test' does")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="as test_host.Model or test_guest.Locality.test_mix")
    return parser.parse_args()


def work():
    """Run the tests."""
    given = options()
    if given.kernel and not given.kernel.is_file():
        raise Failure(f"{given.kernel} is missing")
    names = given.names or (suite.HOST if given.host_only else
                            suite.QUICK if given.quick else None)
    results = report.Report()
    suite.run(results, names, given.kernel)
    return results.finish()


if __name__ == "__main__":
    main(work)
