# SPDX-License-Identifier: GPL-2.0
"""Bring build/linux up to the repository in the cheapest way that loses nothing."""

import os

from common import LINUX, ROOT, Failure, say, shown, write_if_changed
from series import check_manifest, load
from tree import apply_stack, changed_paths, inputs, own_work, up_to_date


def edited_here(git, steps):
    """Names of patches and files that changed here since the last apply or export."""
    state = git.read_state("applied")
    before, now = state.get("inputs", {}), inputs(steps, ROOT)
    names = [n for n in now if now[n] != before.get(n)]
    if state.get("order") != [[s.patch, s.files] for s in steps]:
        names.append("series")
    return names


def copy_files(git, names):
    """Copy new files from the repository over the working tree's, unless both were edited."""
    tracked, untracked = changed_paths(git)
    synced = git.read_state("synced")
    for name in names:
        ours, theirs = ROOT / name, LINUX / name
        mark = f"{ours.stat().st_size}:{ours.stat().st_mtime_ns}"
        if name in tracked + untracked and theirs.read_bytes() != ours.read_bytes() \
                and synced.get(name) != f"{theirs.stat().st_size}:{theirs.stat().st_mtime_ns}":
            raise Failure(f"{name} was edited both here and in {shown(LINUX)}")
        if write_if_changed(theirs, ours.read_bytes(), 0o755 if os.access(ours, os.X_OK)
                            else 0o644):
            say(f"sync: {name}, {mark.split(':', maxsplit=1)[0]} bytes")
        synced[name] = f"{theirs.stat().st_size}:{theirs.stat().st_mtime_ns}"
    git.write_state("synced", synced)


def sync(git):
    """Nothing if nothing changed; else apply; with own work in the branch copy new files only."""
    if up_to_date(git):
        return
    if not git.exists() or not git.ref("HEAD") or not own_work(git):
        tip, count = apply_stack(git=git)
        say(f"apply: {shown(LINUX)} is at {tip[:12]}, {count} commits on the base")
        return
    problems = check_manifest(ROOT)
    if problems:
        raise Failure("the manifest is wrong:\n  " + "\n  ".join(problems))
    steps, _ = load()
    edited = edited_here(git, steps)
    new_files = {name for step in steps for name in step.files}
    others = [name for name in edited if name not in new_files]
    if others:
        raise Failure(f"{shown(LINUX)} has work that is not exported, and here {others[0]} was "
                      "edited: 'stack/export' first, or 'stack/apply --force' to drop that work")
    copy_files(git, edited)
