# SPDX-License-Identifier: GPL-2.0
"""The stack as mails: complete patches that 'git am' takes, with a cover letter."""

import re
import shutil
import tempfile
from pathlib import Path

from common import BUILD, PATCHES, Failure
from tree import BASE_REF

MAIL_DIR = BUILD / "mail"
FORMAT = ["format-patch", "-q", "--cover-letter", "--no-signature", "--no-renames",
          "--no-encode-email-headers", "--full-index"]


def cover_text():
    """Subject and body of the cover letter, from patches/cover.txt."""
    path = PATCHES / "cover.txt"
    if not path.is_file():
        raise Failure("patches/cover.txt is missing: first line the subject, then the text")
    subject, _, body = path.read_text().partition("\n")
    return subject.strip(), body.strip("\n")


def write_mails(git, tip, target=MAIL_DIR, extra=()):
    """Write cover letter and patches into an empty directory; return their paths in order."""
    subject, body = cover_text()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    git(*FORMAT, f"--base={git.ref(BASE_REF)}", "-o", target, *extra, f"{BASE_REF}..{tip}",
        GIT_COMMITTER_DATE=git("log", "-1", "--format=%cD", tip).strip())
    mails = sorted(target.glob("*.patch"))
    cover = mails[0]
    text = cover.read_text(errors="surrogateescape")
    text = text.replace("*** SUBJECT HERE ***", subject).replace("*** BLURB HERE ***", body)
    cover.write_text(re.sub(r" +$", "", text, flags=re.M), errors="surrogateescape")
    return mails


def am_tree(git, mails):
    """Apply the mails with git am on a clean base; return the tree hash."""
    touched = set()
    for mail in mails[1:]:
        touched |= set(re.findall(r"^diff --git a/(\S+) b/", mail.read_text(errors="replace"),
                                  re.M))
    with tempfile.TemporaryDirectory(dir=BUILD) as temp:
        clone = Path(temp) / "linux"
        # A checkout of only the touched files: git am works on the whole index all the same.
        git("worktree", "add", "-q", "--detach", "--no-checkout", clone, BASE_REF)
        try:
            git("sparse-checkout", "set", "--no-cone", *("/" + name for name in sorted(touched)),
                cwd=clone)
            git("checkout", "-q", "--detach", BASE_REF, cwd=clone)
            git("am", "-q", "--whitespace=error-all", *mails[1:], cwd=clone)
            return git("rev-parse", "HEAD^{tree}", cwd=clone).strip()
        finally:
            git("worktree", "remove", "--force", clone, check=False)
            git("worktree", "prune")


def touches(git, tip):
    """Files the stack changes: {new file: None, edited file: set of its added lines}."""
    ours = {}
    out = git("diff", "--no-renames", "--name-status", "-z", BASE_REF, tip).split("\0")
    for status, name in zip(out[::2], out[1::2]):
        if status == "A":
            ours[name] = None
        elif status == "M":
            ours[name] = added_lines(git("diff", "-U0", BASE_REF, tip, "--", name))
    return ours


def added_lines(diff):
    """Line numbers, in the new file, of the lines that a diff adds."""
    lines = set()
    for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff, re.M):
        lines |= set(range(int(start), int(start) + int(count or 1)))
    return lines
