#!/usr/bin/env python3
"""The server as its clients meet it.

    python3 tests/flow/run.py [--binary build/interlude] [--file NAME_flow.py] [PATTERN]

PATTERN: only tests whose name contains it; that none does is a failure. Every server is started on free ports with a temporary
directory, and ended again.
"""

import argparse
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from lib import server, tap  # noqa: E402


def matching(suite, pattern):
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(matching(test, pattern))
        elif pattern in test.id():
            kept.addTest(test)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=server.BINARY)
    parser.add_argument("--file", default="*_flow.py")
    parser.add_argument("pattern", nargs="?", default="")
    arguments = parser.parse_args()
    server.BINARY = os.path.abspath(arguments.binary)
    if not os.access(server.BINARY, os.X_OK):
        sys.exit("%s: no such program; `make` builds it" % server.BINARY)
    return tap.run(matching(unittest.defaultTestLoader.discover(HERE, arguments.file),
                            arguments.pattern))


if __name__ == "__main__":
    sys.exit(main())
