"""Runs unittest as `python -m unittest` does, and writes one JSON object a line for each test that ended."""
import json
import os
import sys

report = __file__ + ".report"
sys.path[0] = os.getcwd()
import unittest  # noqa: E402

worst = {"pass": 0, "skip": 1, "fail": 2}


class Result(unittest.TextTestResult):
    def startTestRun(self):
        super().startTestRun()
        self.cases = {}

    def note(self, test, status):
        name = test.id()
        if name not in self.cases or worst[self.cases[name][0]] < worst[status]:
            module = sys.modules.get(type(test).__module__)
            self.cases[name] = (status, getattr(module, "__file__", "") or "")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "pass")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "fail")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "fail")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skip")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "skip")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "fail")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "fail")

    def stopTestRun(self):
        super().stopTestRun()
        with open(report, "w", encoding="utf-8") as out:
            for name, (status, path) in self.cases.items():
                out.write(json.dumps({"name": name, "path": path, "status": status}) + "\n")
            out.write('{"end":true}\n')


unittest.main(module=None, argv=["python -m unittest"] + sys.argv[1:], testRunner=unittest.TextTestRunner(resultclass=Result))
