# SPDX-License-Identifier: GPL-2.0
"""Series, manifest, apply and export on a base of a few files."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

# pylint: disable=wrong-import-position
import export
import kconfig
import series
import tree
from common import Failure

MAIL = """From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: NUMA balancing stack <numab@localhost>
Date: Thu, 1 Jan 2026 12:00:00 +0000
Subject: {subject}

{body}
"""

EDIT = """
diff --git a/mm/Makefile b/mm/Makefile
--- a/mm/Makefile
+++ b/mm/Makefile
@@ -1,3 +1,4 @@
 obj-y += one.o
+obj-y += new.o
 obj-y += two.o
 obj-y += three.o
"""

SERIES = """# SPDX-License-Identifier: GPL-2.0
# A comment at the top.

# --- mm ---
0010-build.patch
\tmm/new.c
\t# a comment within
\tmm/new.h
0020-text.patch Documentation/new.rst
# the end
"""


class Stack(unittest.TestCase):
    """A small base, a small stack."""

    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.root = Path(temp.name) / "repo"
        self.git = tree.Git(Path(temp.name) / "linux")
        self.make_base()
        self.write("patches/series", SERIES)
        self.write("patches/0010-build.patch",
                   MAIL.format(subject="mm: build it", body="Why.") + EDIT)
        self.write("patches/0020-text.patch",
                   MAIL.format(subject="docs: say it", body="Only adds a file."))
        for name in ("mm/new.c", "mm/new.h", "Documentation/new.rst"):
            self.write(name, f"/* {name} */\n")

    def make_base(self):
        """A repository with a base commit of two files."""
        (self.git.path / "mm").mkdir(parents=True)
        self.git("init", "-q", "-b", "numab")
        (self.git.path / "mm/Makefile").write_text(
            "".join(f"obj-y += {n}.o\n" for n in ("one", "two", "three")))
        (self.git.path / "README").write_text("base\n")
        self.git("add", "-A")
        self.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "base")
        self.git("update-ref", tree.BASE_REF, "HEAD")

    def write(self, name, text):
        """Write a file of the stack."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def replay(self):
        """The stack as commits."""
        steps, _ = series.load(self.root)
        return tree.replay(self.git, steps, self.root, self.git.ref(tree.BASE_REF))

    def exported(self, tip):
        """All files of an export, {place: text}."""
        with tempfile.TemporaryDirectory() as target:
            result, _ = export.export_to(self.git, tip, self.root, target)
        return {place: data.decode() for place, data, _ in result.values()}

    def commit(self, message, **files):
        """A commit on the branch, as a developer makes it; names with __ for / and _DOT_."""
        for name, text in files.items():
            path = self.git.path / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("-c", "user.name=dev", "-c", "user.email=dev@localhost", "commit", "-qm", message)
        return self.git.ref("HEAD")

    def checkout(self):
        """Check the stack out; return its tip."""
        tip = self.replay()
        tree.move_worktree(self.git, tip, False)
        return tip


class Series(Stack):
    """The syntax of the series and the manifest."""

    def test_text_survives(self):
        """parse and unparse are inverse, comments included."""
        self.assertEqual(series.unparse(*series.parse(SERIES)), SERIES)

    def test_good(self):
        """The example has no problem."""
        self.assertEqual(series.check_manifest(self.root), [])

    def expect(self, word):
        """The manifest has a problem that says word."""
        problems = series.check_manifest(self.root)
        self.assertTrue(any(word in p for p in problems), problems)

    def test_patch_adds_a_file(self):
        """A patch must not add a file."""
        self.write("patches/0020-text.patch", MAIL.format(subject="x", body="y")
                   + "\ndiff --git a/a.c b/a.c\nnew file mode 100644\n--- /dev/null\n"
                     "+++ b/a.c\n@@ -0,0 +1 @@\n+x\n")
        self.expect("adds a.c")

    def test_unclaimed(self):
        """A new kernel file needs a line."""
        self.write("mm/other.c", "x\n")
        self.expect("no step of the series claims")

    def test_claimed_twice(self):
        """A new kernel file needs one line only."""
        self.write("patches/series", SERIES + "0030-x.patch mm/new.c\n")
        self.expect("claimed 2 times")

    def test_missing_file(self):
        """A line must not name a file that is not there."""
        (self.root / "mm/new.h").unlink()
        self.expect("not a file here")

    def test_missing_patch(self):
        """Nor a patch."""
        (self.root / "patches/0020-text.patch").unlink()
        self.expect("0020-text.patch is missing")

    def test_stray_patch(self):
        """A patch that is not in the series is an error."""
        self.write("patches/0099-x.patch", MAIL.format(subject="x", body="y"))
        self.expect("0099-x.patch is not in the series")

    def test_no_subject(self):
        """A patch needs a mail header."""
        self.write("patches/0020-text.patch", "no header\n")
        self.expect("no Subject")


class RoundTrip(Stack):
    """Apply and export."""

    def test_same_hash(self):
        """Equal inputs give equal commits."""
        first = self.replay()
        self.git.write_state("commits", {})
        self.assertEqual(first, self.replay())

    def test_stable(self):
        """An exported stack gives the same tree, and exporting again the same files."""
        tip = self.replay()
        once = self.exported(tip)
        for name, text in once.items():
            self.write(name, text)
        self.assertEqual(once["patches/series"], SERIES)
        again = self.replay()
        self.assertEqual(self.git.tree(tip), self.git.tree(again))
        self.assertEqual(once, self.exported(again))

    def test_fuzz_is_refused(self):
        """A patch that does not fit names the patch, the file and the hunk."""
        self.write("patches/0010-build.patch",
                   MAIL.format(subject="x", body="y") + EDIT.replace(" obj-y += two", " obj-y += 2"))
        with self.assertRaises(Failure) as caught:
            self.replay()
        for word in ("0010-build.patch", "mm/Makefile", "hunk 1 of 1"):
            self.assertIn(word, str(caught.exception))

    def test_whitespace_is_refused(self):
        """Trailing blanks are an error."""
        self.write("patches/0010-build.patch", MAIL.format(subject="x", body="y")
                   + EDIT.replace("+obj-y += new.o", "+obj-y += new.o "))
        with self.assertRaises(Failure):
            self.replay()

    def test_mtimes_stay(self):
        """Only files that differ are written again."""
        self.checkout()
        old = self.git.path / "mm/new.c"
        os.utime(old, (1, 1))
        self.write("mm/new.h", "/* changed */\n")
        self.checkout()
        self.assertEqual(old.stat().st_mtime, 1)
        self.assertEqual((self.git.path / "mm/new.h").read_text(), "/* changed */\n")

    def test_own_work_is_seen(self):
        """Commits and edits of the developer are reported before they could be lost."""
        tip = self.checkout()
        self.assertEqual(tree.own_work(self.git, tip), [])
        (self.git.path / "README").write_text("edited\n")
        self.assertIn("README", " ".join(tree.own_work(self.git, tip)))
        self.commit("README: edit it", README="edited\n")
        self.assertIn("not exported", " ".join(tree.own_work(self.git, tip)))

    def test_new_commit(self):
        """A developer's commit becomes a patch with the next number."""
        self.checkout()
        tip = self.commit("README: edit it", README="edited\n", mm__more_DOT_c="more\n")
        files = self.exported(tip)
        self.assertIn("+edited", files["patches/0030-readme-edit-it.patch"])
        self.assertNotIn("more", files["patches/0030-readme-edit-it.patch"])
        self.assertEqual(files["mm/more.c"], "more\n")
        self.assertIn("0030-readme-edit-it.patch\n\tmm/more.c\n", files["patches/series"])

    def test_fold(self):
        """A commit that only changes new files goes into the commits that add them."""
        self.checkout()
        tip = self.commit("mm: fix it", mm__new_DOT_c="fixed\n")
        with contextlib.redirect_stdout(io.StringIO()):
            files = self.exported(tip)
        self.assertEqual(files["mm/new.c"], "fixed\n")
        self.assertEqual(files["patches/series"], SERIES)

    def test_fixup_is_refused(self):
        """A fixup commit must be squashed before an export."""
        self.checkout()
        tip = self.commit("fixup! mm: build it", README="x\n")
        with self.assertRaises(Failure):
            self.exported(tip)


class Kconfig(unittest.TestCase):
    """Fragments."""

    def test_all_load(self):
        """Every configuration of the stack can be read."""
        for name in kconfig.names() + kconfig.names("matrix"):
            self.assertTrue(kconfig.load(name).values or name == "x", name)

    def test_lost_symbol(self):
        """A symbol that did not stick is an error, and so is one that should be off."""
        have = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\n"
        kconfig.check({"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_D": "n"}, have, "x")
        for wanted in ({"CONFIG_B": "y"}, {"CONFIG_C": "n"}, {"CONFIG_D": "y"}):
            with self.assertRaises(Failure):
                kconfig.check(wanted, have, "x")


if __name__ == "__main__":
    unittest.main()
