# SPDX-License-Identifier: GPL-2.0
"""Count results, print them as they come, and end with "N passed, N failed"."""

import threading

from common import say


class Report:
    """The results of a run, from several threads."""

    def __init__(self):
        self.passed, self.failures, self.skips = 0, [], []
        self.lock = threading.Lock()

    def ok(self, name, note=""):
        """A test passed."""
        with self.lock:
            self.passed += 1
            say(f"ok    {name}" + (f" ({note})" if note else ""))

    def fail(self, name, reason, log=""):
        """A test failed; reason may have several lines."""
        with self.lock:
            self.failures.append((name, reason, log))
            say(f"FAIL  {name}: {reason.splitlines()[0] if reason else 'no reason given'}")

    def skip(self, name, reason):
        """A test could not run; it counts neither way."""
        with self.lock:
            self.skips.append((name, reason))
            say(f"skip  {name}: {reason}")

    def finish(self):
        """Print skips, failures and totals; return the exit status."""
        if self.skips:
            say(f"\n{len(self.skips)} skipped:")
            for name, reason in self.skips:
                say(f"  {name}: {reason}")
        if self.failures:
            say("\nfailures:")
        for name, reason, log in self.failures:
            say(f"  {name}" + (f"  [log: {log}]" if log else ""))
            for line in reason.splitlines()[:20]:
                say(f"      {line}")
        say(f"\n{self.passed} passed, {len(self.failures)} failed")
        return 1 if self.failures or not self.passed else 0
