# SPDX-License-Identifier: GPL-2.0
"""From the branch in build/linux back to patches/, patches/series and the new files.

A commit becomes a patch with its message and its edits to files of the base. New files are copied
whole, as they are at the tip, and named at the commit that adds them first.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from common import ROOT, Failure, say, sha256, shown, write_if_changed
from series import AT_TOP, Step, load, unparse
from tree import APPLIED_REF, BASE_REF, changed_paths, note_applied, same_as_repo

MAIL = ["format-patch", "--stdout", "-1", "-k", "--always", "--zero-commit", "--no-signature",
        "--no-stat", "--no-encode-email-headers"]
DIFF = ["diff-tree", "-p", "--full-index", "--no-renames"]


@dataclass
class Exported:
    """What one commit turns into."""

    commit: str
    subject: str
    edits: list = field(default_factory=list)  # paths of the base that it changes
    files: list = field(default_factory=list)  # new files that it owns
    name: str = ""
    mail: str = ""


def commits_of(git, tip):
    """The commits between base and tip, oldest first."""
    if git("merge-base", "--is-ancestor", BASE_REF, tip, check=False).returncode:
        raise Failure("the branch does not stand on the base commit")
    if git("rev-list", "--merges", f"{BASE_REF}..{tip}").strip():
        raise Failure("the branch has a merge commit; only a straight line can be exported")
    found = git("log", "--reverse", "--format=%H %s", f"{BASE_REF}..{tip}").splitlines()
    commits = [Exported(*line.split(" ", 1)) for line in found]
    for commit in commits:
        if re.match(r"(fixup|squash|amend)! ", commit.subject):
            raise Failure(f"'{commit.subject}' waits to be squashed: git -C build/linux rebase "
                          "-i --autosquash refs/numab/base")
    return commits


def changes(git, commit):
    """Paths that a commit changes."""
    out = git("diff-tree", "-r", "--no-commit-id", "--no-renames", "--name-only", "-z", commit)
    return [name for name in out.split("\0") if name]


def tree_names(git, commit):
    """All paths of a commit's tree."""
    return set(git("ls-tree", "-r", "--name-only", "-z", commit).split("\0")) - {""}


def collect(git, tip):
    """The commits with their edits and the new files that each owns."""
    in_base, at_tip, owned = tree_names(git, BASE_REF), tree_names(git, tip), set()
    kept = []
    for commit in commits_of(git, tip):
        paths = changes(git, commit.commit)
        new = [p for p in paths if p not in in_base]
        commit.edits = [p for p in paths if p in in_base]
        commit.files = sorted(p for p in new if p in at_tip and p not in owned)
        owned |= set(commit.files)
        if paths and not commit.edits and not commit.files:
            say(f"export: '{commit.subject}' only changes new files: folded into their commits")
            continue
        commit.mail = mail_of(git, commit)
        kept.append(commit)
    return kept


def mail_of(git, commit):
    """The commit as a mail: message, and the diff of its edits to files of the base."""
    mail = git(*MAIL, "--diff-filter=U", commit.commit).rstrip("\n") + "\n"
    if commit.edits:
        mail += "\n" + git("--literal-pathspecs", *DIFF, f"{commit.commit}^", commit.commit,
                                "--", *commit.edits)
    return mail


def subject_of(path):
    """The subject of a patch file, folded lines joined, without [PATCH]."""
    if not path.is_file():
        return ""
    head = path.read_text(errors="replace").split("\n\n", 1)[0]
    match = re.search(r"^Subject: (.*(?:\n[ \t].*)*)", head, re.M)
    text = re.sub(r"\n[ \t]+", " ", match[1]) if match else ""
    return re.sub(r"^\[PATCH[^]]*\] ", "", text)


def slug(subject):
    """A file name's middle part out of a subject."""
    return re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")[:48].rstrip("-")


def number_of(name):
    """The number a patch name starts with, or None."""
    match = re.match(r"(\d{4})-", name)
    return int(match[1]) if match else None


def name_new(commits):
    """Give a name with a number between its neighbours to each commit without one."""
    last = 0
    for index, commit in enumerate(commits):
        if not commit.name:
            after = next((number_of(c.name) for c in commits[index + 1:]
                          if c.name and number_of(c.name)), None)
            number = last + 10 if after is None else last + max(1, (after - last) // 2)
            if after is not None and number >= after:
                raise Failure(f"no number is free below {after:04d} for '{commit.subject}': "
                              "rename a patch in patches/ and in the series")
            commit.name = f"{number:04d}-{slug(commit.subject)}.patch"
        last = number_of(commit.name) or last


def assign_names(commits, steps, root):
    """Keep the file name of a patch: by subject, else by the gap it leaves in the order."""
    known = {subject_of(step.path(root)): step.patch for step in steps}
    for commit in commits:
        commit.name = known.get(commit.subject, "")
    taken = {c.name for c in commits}
    free = [s.patch for s in steps if s.patch not in taken]
    unnamed = [c for c in commits if not c.name]
    if len(free) == len(unnamed):  # only subjects were changed
        for commit, name in zip(unnamed, free):
            commit.name = name
    name_new(commits)
    names = [c.name for c in commits]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise Failure(f"two commits would both be {', '.join(sorted(twice))}; their subjects "
                      "must differ")


def new_series(commits, steps, tail):
    """The series text for the commits, with the comments of the old one."""
    old = {step.patch: step for step in steps}
    result = []
    for commit in commits:
        step = old.get(commit.name, Step(commit.name))
        keep = [f for f in step.files if f in commit.files]
        result.append(Step(commit.name, keep + [f for f in commit.files if f not in keep],
                           step.before, step.text))
    return unparse(result, tail), result


def file_content(git, tip, name):
    """Content and mode of a file at the tip."""
    mode = git("ls-tree", tip, "--", name).split()[0]
    if mode not in ("100644", "100755"):
        raise Failure(f"{name} is not a regular file; the stack holds none of these")
    return git.blob(tip, name), int(mode, 8) & 0o777


def outputs(git, tip, root):
    """All that an export writes: {name: (path below the root, bytes, mode)}, and the steps."""
    steps, tail = load(root)
    commits = collect(git, tip)
    assign_names(commits, steps, root)
    text, new_steps = new_series(commits, steps, tail)
    result = {"series": ("patches/series", text.encode(), 0o644)}
    for commit in commits:
        place = commit.name if commit.name in AT_TOP else f"patches/{commit.name}"
        result[commit.name] = (place, commit.mail.encode("utf-8", "surrogateescape"), 0o644)
        for name in commit.files:
            result[name] = (name, *file_content(git, tip, name))
    return result, new_steps, steps


def export_to(git, tip, root, target):
    """Export into an empty directory, as a check does."""
    result, new_steps, _ = outputs(git, tip, root)
    for place, data, mode in result.values():
        write_if_changed(Path(target) / place, data, mode)
    return result, new_steps


def token(name, data, mode):
    """The hash of a file in the form of tree.inputs()."""
    if name.endswith(".patch"):
        return sha256(data)
    return ("x" if mode & 0o100 else "-") + sha256(data)


def conflicts(git, result, steps, root):
    """Files edited in the repository since the last apply: ({kept as is}, [refused])."""
    state = git.read_state("applied")
    applied, keep, refuse = state.get("inputs", {}), set(), []
    if state.get("order") != [[s.patch, s.files] for s in steps]:
        refuse.append("patches/series")
    for name, (place, data, mode) in result.items():
        path = root / place
        if name == "series" or not path.is_file():
            continue
        ours = token(name, path.read_bytes(), 0o100 if os.access(path, os.X_OK) else 0)
        theirs = token(name, data, mode)
        if ours in (theirs, applied.get(name)):
            continue
        if theirs == applied.get(name):
            keep.add(name)
        else:
            refuse.append(place)
    return keep, refuse


def export_stack(git, force=False, root=ROOT):
    """Write the branch back into the repository; return the names of changed files."""
    tip = git.ref("HEAD")
    result, new_steps, old_steps = outputs(git, tip, root)
    keep, refuse = conflicts(git, result, old_steps, root)
    if refuse and not force:
        raise Failure("edited here since the last apply, and different in the branch: "
                      f"{', '.join(refuse)}; 'stack/apply' takes what is here, "
                      "'stack/export --force' what is in the branch")
    changed = []
    for name, (place, data, mode) in result.items():
        if (name not in keep or force) and write_if_changed(root / place, data, mode):
            changed.append(place)
    changed += remove_stale(old_steps, new_steps, root)
    tracked, _ = changed_paths(git)
    for name in tracked:
        if not same_as_repo(git, name):
            say(f"export: {shown(git.path / name)} has changes that are not committed: left out")
    git("update-ref", APPLIED_REF, tip)
    note_applied(git, new_steps, root)
    return changed


def remove_stale(old_steps, new_steps, root):
    """Remove patches and new files that the branch has no more."""
    def all_of(steps):
        return {s.path(root) for s in steps} | {root / f for s in steps for f in s.files}
    gone = [p for p in all_of(old_steps) - all_of(new_steps) if p.exists()]
    for path in gone:
        path.unlink()
    return [f"{p.relative_to(root)} (removed)" for p in sorted(gone)]
