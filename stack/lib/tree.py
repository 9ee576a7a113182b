# SPDX-License-Identifier: GPL-2.0
"""build/linux: the base kernel plus the stack as a git branch.

The commits are made in a temporary index, away from the working tree; then only the files that
differ are rewritten. So modification times stay, and an incremental build stays incremental.
All inputs of a commit are fixed (author, dates, content), so equal inputs give equal hashes.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import base
from common import (BASE_TREE, IDENTITY, LINUX, ROOT, Failure, need, plain_env, run, say, sha256,
                    shown)
from series import check_manifest, load

BRANCH = "numab"
BASE_REF = "refs/numab/base"
APPLIED_REF = "refs/numab/applied"
BASE_DATE = 1731888000  # a fixed moment, so that the base commit's hash is reproducible


class Git:
    """A git repository whose results do not depend on the user's configuration."""

    def __init__(self, path=LINUX):
        self.path = Path(path)
        self.meta = self.path / ".git" / "numab"

    def env(self, **extra):
        """Environment for git: no user or system configuration, fixed committer."""
        return plain_env(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1",
                         GIT_COMMITTER_NAME=IDENTITY[0], GIT_COMMITTER_EMAIL=IDENTITY[1],
                         **extra)

    def __call__(self, *args, stdin=None, check=True, cwd=None, **extra):
        return run("git", *args, cwd=cwd or self.path, env=self.env(**extra), stdin=stdin,
                   check=check)

    def exists(self):
        """Whether the repository is there and has a base commit."""
        return (self.path / ".git").is_dir() and bool(self.ref(BASE_REF))

    def ref(self, name):
        """The commit a ref names, or an empty string."""
        return self("rev-parse", "-q", "--verify", f"{name}^{{commit}}", check=False).stdout.strip()

    def tree(self, commit):
        """Tree hash of a commit."""
        return self("rev-parse", f"{commit}^{{tree}}").strip()

    def blob(self, commit, name):
        """Content of a file in a commit, or None."""
        done = subprocess.run(["git", "cat-file", "blob", f"{commit}:{name}"], cwd=self.path,
                              env=self.env(), capture_output=True, check=False)
        return None if done.returncode else done.stdout

    def read_state(self, name):
        """A JSON note in .git/numab, {} if there is none."""
        try:
            return json.loads((self.meta / name).read_text())
        except (OSError, ValueError):
            return {}

    def write_state(self, name, value):
        """Keep a JSON note in .git/numab."""
        self.meta.mkdir(exist_ok=True)
        temp = self.meta / f".{name}.{os.getpid()}"
        temp.write_text(json.dumps(value, indent=1) + "\n")
        os.replace(temp, self.meta / name)


def ensure_base(git):
    """Make sure that the repository has the base commit of build/base."""
    need("git")
    identity = base.ensure()
    if git.exists() and git.read_state("base") == identity:
        return git.ref(BASE_REF)
    say(f"apply: recording {shown(BASE_TREE)} as the base commit of {shown(git.path)} "
        "(about a minute)")
    git.path.mkdir(parents=True, exist_ok=True)
    if not (git.path / ".git").is_dir():
        git("init", "-q", "-b", BRANCH)
        for key, value in (("core.untrackedCache", "true"), ("gc.auto", "0"),
                           ("index.version", "4"), ("core.compression", "1")):
            git("config", key, value)
    with subprocess.Popen(["git", "fast-import", "--quiet", "--done", "--force", "--depth=0"],
                          cwd=git.path, env=git.env(), stdin=subprocess.PIPE) as importer:
        base.fast_import_stream(BASE_TREE, importer.stdin, *IDENTITY, BASE_DATE,
                                f"Linux {identity['version']}, the base of the stack")
        importer.stdin.close()
    if importer.returncode:
        raise Failure("git fast-import of the base failed")
    git.write_state("base", identity)
    commit = git.ref(BASE_REF)
    if git.tree(commit) != base.recorded().get("tree"):
        say(f"apply: the base, Linux {identity['version']}, is not the tree recorded in BASE")
    return commit


def inputs(steps, root):
    """Content hashes of all that apply reads: what was applied, to see later edits."""
    found = {}
    for step in steps:
        found[step.patch] = sha256(step.path(root).read_bytes())
        for name in step.files:
            path = root / name
            mode = "x" if os.access(path, os.X_OK) else "-"
            found[name] = mode + sha256(path.read_bytes())
    return found


def split_mail(mail, path):
    """Author, message and diff of a patch in mail format."""
    with tempfile.TemporaryDirectory() as temp:
        message, diff = Path(temp, "message"), Path(temp, "diff")
        info = run("git", "mailinfo", "-b", "--encoding=UTF-8", message, diff, stdin=mail,
                   env=Git().env())
        fields = dict(line.split(": ", 1) for line in info.splitlines() if ": " in line)
        missing = {"Author", "Email", "Subject", "Date"} - fields.keys()
        if missing:
            raise Failure(f"{shown(path)}: no {', '.join(sorted(missing))} in its mail header")
        body = message.read_text(errors="surrogateescape")
        fields["Message"] = fields["Subject"] + "\n\n" + body
        return fields, diff.read_text(errors="surrogateescape")


def hunk_of(diff, name, line):
    """Describe the hunk of a diff that starts at a line of the old file."""
    part = re.search(rf"^diff --git a/{re.escape(name)} .*?(?=^diff --git |\Z)", diff, re.M | re.S)
    heads = re.findall(r"^@@ -(\d+).*$", part.group(0), re.M) if part else []
    texts = re.findall(r"^@@ -\d+.*$", part.group(0), re.M) if part else []
    for number, (start, text) in enumerate(zip(heads, texts), 1):
        if start == str(line):
            return f"hunk {number} of {len(heads)}: {text}"
    return f"the hunk at line {line}"


def explain_reject(stderr, diff, path):
    """One line per hunk or file that git apply refused."""
    lines = []
    for name, line in re.findall(r"^error: patch failed: (.*):(\d+)$", stderr, re.M):
        lines.append(f"{name}, {hunk_of(diff, name, line)}")
    for name in re.findall(r"^error: (.*): does not exist in index$", stderr, re.M):
        lines.append(f"{name}, which the base does not have")
    what = "; ".join(lines) or stderr.strip()
    return f"{shown(path)} does not apply to Linux {base.version_of(BASE_TREE)}: {what}"


def stage_patch(git, path, diff, index):
    """Apply the diff of a patch to the temporary index; exact context only."""
    if not diff.strip():
        return
    done = git("apply", "--cached", "--whitespace=error-all", "-", stdin=diff, check=False,
               GIT_INDEX_FILE=index)
    if done.returncode:
        raise Failure(explain_reject(done.stderr, diff, path))


def stage_files(git, names, root, index, parent):
    """Put new files into the temporary index as they are in the repository."""
    lines = []
    for name in names:
        path = root / name
        if git("cat-file", "-e", f"{parent}:{name}", check=False).returncode == 0:
            raise Failure(f"{name} is claimed as a new file, but the base has it")
        mode = "100755" if os.access(path, os.X_OK) else "100644"
        blob = git("hash-object", "-w", "--no-filters", path).strip()
        lines.append(f"{mode} {blob}\t{name}\n")
    if lines:
        git("update-index", "--index-info", stdin="".join(lines), GIT_INDEX_FILE=index)


def commit_step(git, step, root, parent, index):
    """Make the commit of one step on top of parent; the index holds parent's tree."""
    path = step.path(root)
    fields, diff = split_mail(path.read_text(errors="surrogateescape"), path)
    stage_patch(git, path, diff, index)
    stage_files(git, step.files, root, index, parent)
    tree = git("write-tree", GIT_INDEX_FILE=index).strip()
    message = git("stripspace", stdin=fields["Message"])
    return git("commit-tree", tree, "-p", parent, stdin=message,
               GIT_AUTHOR_NAME=fields["Author"], GIT_AUTHOR_EMAIL=fields["Email"],
               GIT_AUTHOR_DATE=fields["Date"], GIT_COMMITTER_DATE=fields["Date"]).strip()


def replay(git, steps, root, base_commit):
    """Turn the steps into commits on the base; return the tip. Known steps are reused."""
    git.meta.mkdir(exist_ok=True)
    cache, used = git.read_state("commits"), {}
    known = inputs(steps, root)
    index = git.meta / f"index.{os.getpid()}"
    parent, loaded = base_commit, False
    try:
        for step in steps:
            key = sha256(json.dumps([parent, known[step.patch],
                                     [(n, known[n]) for n in step.files]]).encode())
            commit = cache.get(key)
            if commit and git.ref(commit):
                loaded = False
            else:
                if not loaded:
                    git("read-tree", parent, GIT_INDEX_FILE=index)
                    loaded = True
                commit = commit_step(git, step, root, parent, index)
            used[key] = parent = commit
    finally:
        index.unlink(missing_ok=True)
    git.write_state("commits", {**cache, **used} if len(cache) < 5000 else used)
    return parent


def changed_paths(git):
    """Paths that differ between HEAD, index and working tree; untracked ones too."""
    out = git("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    tracked, untracked = [], []
    for entry in out.split("\0"):
        if entry:
            (untracked if entry.startswith("??") else tracked).append(entry[3:])
    return tracked, untracked


def same_as_commit(git, commit, name):
    """Whether the working tree's file is what a commit holds at that path."""
    path = git.path / name
    data = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    return data == git.blob(commit, name)


def own_work(git, target=None):
    """What the user would lose if the branch moved to target: a list of reasons."""
    reasons = []
    head = git.ref("HEAD")
    if not head:
        return reasons
    if git("symbolic-ref", "-q", "--short", "HEAD", check=False).stdout.strip() != BRANCH:
        reasons.append(f"branch {BRANCH} is not checked out (a rebase under way?)")
    applied = git.ref(APPLIED_REF)
    if head != applied and not (target and git.tree(head) == git.tree(target)):
        count = git("rev-list", "--count", f"{applied or BASE_REF}..HEAD").strip()
        reasons.append(f"{count} commit(s) of branch {BRANCH} are not exported")
    tracked, untracked = changed_paths(git)
    known = target or applied or head
    untracked = [n for n in untracked if git.blob(known, n) is not None]
    for name in tracked + untracked:
        if not same_as_commit(git, known, name) and not same_as_repo(git, name):
            reasons.append(f"{name} has changes that are not committed")
    return reasons


def same_as_repo(git, name):
    """Whether the working tree's file equals the repository's copy of a new file."""
    ours, theirs = ROOT / name, git.path / name
    return ours.is_file() and theirs.is_file() and ours.read_bytes() == theirs.read_bytes()


def keep_own_work(git):
    """Before a forced move: leave refs behind from which lost work can be had again."""
    git("update-ref", "refs/numab/before-force", "HEAD")
    stash = git("stash", "create", check=False, GIT_AUTHOR_NAME=IDENTITY[0],
                GIT_AUTHOR_EMAIL=IDENTITY[1]).stdout.strip()
    if stash:
        git("update-ref", "refs/numab/before-force-edits", stash)
    say("apply: the former state stays as refs/numab/before-force"
        + (" and refs/numab/before-force-edits" if stash else ""))


def move_worktree(git, tip, force):
    """Check out tip on the branch, rewriting only the files that differ."""
    head = git.ref("HEAD")
    if not head:
        say(f"apply: checking out {shown(git.path)}")
        git("read-tree", "--reset", "-u", tip)
    elif force and own_work(git, tip):
        keep_own_work(git)
        git("reset", "-q", "--hard", tip)
    else:
        tracked, untracked = changed_paths(git)
        equal = [n for n in tracked + untracked if same_as_commit(git, tip, n)]
        for name in equal:  # git then finds them in place and leaves them alone
            git("update-index", "--add", "--remove", "--", name)
        git("read-tree", "-m", "-u", "HEAD", tip)
    git("update-ref", f"refs/heads/{BRANCH}", tip)
    git("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    git("update-ref", APPLIED_REF, tip)



def up_to_date(git):
    """Whether the branch was made from what the repository holds now."""
    if not git.exists() or git.read_state("base") != base.ensure():
        return False
    steps, _ = load()
    state = git.read_state("applied")
    order = [[s.patch, s.files] for s in steps]
    return state.get("order") == order and state.get("inputs") == inputs(steps, ROOT)


def apply_stack(force=False, git=None, root=ROOT):
    """Make or renew build/linux from the base and the stack; return the tip."""
    git = git or Git()
    problems = check_manifest(root)
    if problems:
        raise Failure("the manifest is wrong:\n  " + "\n  ".join(problems))
    steps, _ = load(root)
    base_commit = ensure_base(git)
    tip = replay(git, steps, root, base_commit)
    if not (git.ref("HEAD") == git.ref(APPLIED_REF) == tip):
        reasons = own_work(git, tip)
        if reasons and not force:
            raise Failure(f"{shown(git.path)} holds work that would be lost:\n  "
                          + "\n  ".join(reasons[:10])
                          + "\n'stack/export' saves commits, 'stack/apply --force' drops them")
        move_worktree(git, tip, force)
    note_applied(git, steps, root)
    return tip, len(steps)


def note_applied(git, steps, root=ROOT):
    """Remember from which series, patches and files the branch was made."""
    git.write_state("applied", {"order": [[s.patch, s.files] for s in steps],
                                "inputs": inputs(steps, root)})
