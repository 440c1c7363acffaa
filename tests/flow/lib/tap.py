"""Runs unittest cases and tells of each in a line: `ok N - name` or `not ok N - name`."""

import sys
import traceback
import unittest


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = self.failed = 0
        self.faults = []
        self.skipped_for = None

    def startTest(self, test):
        super().startTest(test)
        self.faults = []

    def _note(self, error, what=""):
        self.faults.append(what + "".join(traceback.format_exception(*error)))

    def addFailure(self, test, err):
        self._note(err)

    def addError(self, test, err):
        self._note(err)
        if not hasattr(test, "_testMethodName"):  # a class that could not be set up
            self._tell(str(test))

    def addSubTest(self, test, subtest, err):
        if err:
            self._note(err, "with %s\n" % subtest._subDescription())

    def addSkip(self, test, reason):
        self.skipped_for = reason

    def stopTest(self, test):
        super().stopTest(test)
        self._tell("%s.%s" % (type(test).__module__.rsplit(".", 1)[-1], test._testMethodName))

    def _tell(self, name):
        self.number += 1
        if self.faults:
            self.failed += 1
        skip = " # SKIP " + self.skipped_for if self.skipped_for else ""
        print("%sok %d - %s%s" % ("not " if self.faults else "", self.number, name, skip))
        for fault in self.faults:
            for line in fault.rstrip().split("\n"):
                print("# " + line)
        self.faults, self.skipped_for = [], None
        sys.stdout.flush()


def run(suite):
    """Exit code: 0, if at least one test ran (or was skipped) and none failed."""
    if not suite.countTestCases():
        print("# no test is meant: see the file and the pattern")
        print("not ok 1 - there are tests\n1..1")
        return 1
    result = TapResult()
    suite.run(result)
    print("1..%d" % result.number)
    return 0 if result.number and not result.failed else 1
