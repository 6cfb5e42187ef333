"""Runs pytest, and writes which tests run which lines of the files that are listed in a file beside this one.

Lines that run while a module is imported, or in a fixture for all tests, belong to no test. Lines of a fixture for one
class or file belong to this file's tests.
"""
import ast
import json
import os
import sys
import threading

sys.path[0] = os.getcwd()
import pytest  # noqa: E402

with open(__file__ + ".files", encoding="utf-8") as names:
    wanted = {os.path.realpath(name): name for name in json.load(names)}

known = {}  # code's file name -> listed name, or None
lines = {}  # listed name -> line -> numbers of tests
tests = {}  # id -> number
now = ""  # the id of the running test or its file, or "" for all tests
children = False  # a test started another process, whose lines are not known
lost = False  # another program replaced the trace function


def listed(code):
    name = code.co_filename
    if name not in known:
        known[name] = wanted.get(os.path.realpath(name))
    return known[name]


def add(name, line):
    lines.setdefault(name, {}).setdefault(line, set()).add(tests.setdefault(now, len(tests)))


def on_call(frame, event, arg):
    return on_line if listed(frame.f_code) else None


def on_line(frame, event, arg):
    if event == "line":
        add(listed(frame.f_code), frame.f_lineno)
    return on_line


def on_monitor(code, line):
    name = listed(code)
    if not name:
        return sys.monitoring.DISABLE
    add(name, line)
    return None


def on_audit(event, args):
    global children
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"):
        children = True


def start():
    """Prefers monitoring, of Python 3.12, which works beside coverage.py and costs little."""
    monitoring = getattr(sys, "monitoring", None)
    free = [i for i in range(3, 6) if monitoring and monitoring.get_tool(i) is None]
    if free:
        monitoring.use_tool_id(free[0], "runplan")
        monitoring.register_callback(free[0], monitoring.events.LINE, on_monitor)
        monitoring.set_events(free[0], monitoring.events.LINE)
        return False
    threading.settrace(on_call)
    sys.settrace(on_call)
    return True


class Plugin:
    def running(self, name):
        global now, lost
        now = name
        lost = lost or traced and sys.gettrace() is not on_call

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        path, _, rest = item.nodeid.partition("::")
        self.file = os.path.relpath(str(getattr(item, "path", item.fspath)))
        self.running(self.file + "::" + rest if rest else self.file)
        yield
        self.running("")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef):
        before = now
        if before and fixturedef.scope != "function":
            self.running(self.file if fixturedef.scope in ("class", "module") else "")
        yield
        if before:
            self.running(before)


def statements(text):
    """Yields the first and last line of each statement, without the statements in it."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.stmt, ast.excepthandler)):
            continue
        heads = [node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])]
        first, last = min(heads), node.end_lineno
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, (ast.stmt, ast.excepthandler, getattr(ast, "match_case", ast.excepthandler))):
                begin = getattr(inner, "pattern", inner).lineno
                begin = min([begin] + [d.lineno for d in getattr(inner, "decorator_list", [])])
                last = min(last, max(first, begin - 1))
        yield first, last


def spread(name, of):
    """Gives all lines of a statement the tests of each: Python does not report a line that holds only a constant."""
    with open(name, encoding="utf-8") as file:
        for first, last in statements(file.read()):
            span = range(first, last + 1)
            together = set().union(*(of.get(line, set()) for line in span))
            if together:
                of.update((line, together) for line in span)


sys.addaudithook(on_audit)
traced = start()
status = pytest.main(sys.argv[1:], plugins=[Plugin()])
for name, of in lines.items():
    spread(name, of)
with open(__file__ + ".report", "w", encoding="utf-8") as out:
    json.dump(
        {
            "children": children,
            "lost": lost,
            "tests": list(tests),
            "lines": {name: {line: sorted(at) for line, at in of.items()} for name, of in lines.items()},
        },
        out,
    )
sys.exit(status)
