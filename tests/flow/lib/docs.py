"""The blocks of the documents: indented by four, each with a mark above it that says what it is.

    <!-- docs: KIND WHAT -->
"""

import glob
import os
import re

from lib.server import ROOT

MARK = re.compile(r"<!-- docs: (\S+) ?(.*?) -->$")


class Block:
    """`kind` None: it has no mark. `line`: of its first line, from 1."""

    def __init__(self, path, line, kind, what, text):
        self.path, self.line, self.kind, self.what, self.text = path, line, kind, what, text

    def __str__(self):
        return "%s:%d" % (self.path, self.line)


def pages():
    """What people read to use Interlude, from the root of the repository."""
    return ["README.md"] + sorted(os.path.relpath(p, ROOT)
                                  for p in glob.glob(os.path.join(ROOT, "docs", "*.md")))


def blocks(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        lines = file.read().split("\n")
    found, mark, at = [], (None, ""), 0
    while at < len(lines):
        line = lines[at]
        # An indented line is a block's only after a blank one; else it goes on with a paragraph.
        if line.startswith("    ") and (at == 0 or not lines[at - 1]) and not in_a_list(lines, at):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                end += 1
            text = "\n".join(line[4:] for line in lines[at:end]).rstrip("\n") + "\n"
            found.append(Block(path, at + 1, *mark, text))
            mark, at = (None, ""), end
            continue
        if line:
            match = MARK.match(line)
            mark = match.groups() if match else (None, "")
        at += 1
    return found


def in_a_list(lines, at):
    """The last line that is not indented begins an item."""
    for line in reversed(lines[:at]):
        if line and not line.startswith(" "):
            return line.startswith("- ") or re.match(r"\d+\. ", line) is not None
    return False


def block(path, kind, what=""):
    """The one block of this kind."""
    found = [b for b in blocks(path) if (b.kind, b.what) == (kind, what)]
    assert len(found) == 1, "%s has %d blocks `%s %s`" % (path, len(found), kind, what)
    return found[0]
