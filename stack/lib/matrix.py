# SPDX-License-Identifier: GPL-2.0
"""Object builds: the stack in many configurations, and each commit of it."""

import time

import build
import kconfig
import mail
import qemu
from common import BUILD, Failure, say, shown
from tree import BASE_REF


def run_matrix(git, names, results):
    """Build the objects in each named configuration; one result a configuration."""
    ours = mail.touches(git, "HEAD")
    for name in names:
        started = time.monotonic()
        say(f"matrix: {name} ...")
        kernel = build.Kernel(name, out=BUILD / f"out-matrix-{name}")
        problems = build.build_objects(kernel, ours)
        judge(results, f"matrix: {name}", problems, kernel.log, started)


def judge(results, name, problems, log, started):
    """Count one build."""
    if problems:
        results.fail(name, "\n".join(problems), shown(log))
    else:
        results.ok(name, f"{time.monotonic() - started:.0f} s")


def series_tree(git):
    """A second working tree for the commits, so that build/linux stays as it is."""
    path = BUILD / "series"
    if not (path / ".git").exists():
        git("worktree", "prune")
        git("worktree", "add", "-q", "--detach", path, BASE_REF)
    return path


def run_series(git, results, first=1):
    """Build each commit with the option on (as far as it exists) and off; boot the ends."""
    source = series_tree(git)
    commits = git("rev-list", "--reverse", f"{BASE_REF}..{git.ref('HEAD')}").split()
    kernels = {
        "on": build.Kernel("numab", source, BUILD / "out-series-on"),
        "off": build.Kernel("no-balancing", source, BUILD / "out-series-off",
                            kconfig.load("no-balancing")),
    }
    for number, commit in enumerate(commits, 1):
        if number < first:
            continue
        git("checkout", "-q", "--detach", "--force", commit, cwd=source)
        subject = git("log", "-1", "--format=%s", commit).strip()
        ours = mail.touches(git, commit)
        for way, kernel in kernels.items():
            started = time.monotonic()
            name = f"series: {number}/{len(commits)} {way}: {subject}"
            problems = build.build_objects(kernel, ours, demand="nothing")
            judge(results, name, problems, kernel.log, started)
        if number in (first, len(commits)):
            boot_commit(kernels["on"], f"series: {number}/{len(commits)} boot: {subject}", results)


def boot_commit(kernel, name, results):
    """Link the kernel of a commit and boot it."""
    started = time.monotonic()
    log = BUILD / "results/series" / f"{name.split()[1].replace('/', '-of-')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        kernel.make("bzImage")
        outcome = qemu.run_guest(qemu.Machine(), kernel.image, BUILD / "guest/initrd.cpio",
                                 "cat /proc/sys/kernel/numa_balancing", log=log,
                                 append="numa_balancing=enable")
        problems = [outcome.why] + outcome.dirt if outcome.status else []
    except Failure as error:
        problems = str(error).splitlines()
    judge(results, name, problems, log, started)
