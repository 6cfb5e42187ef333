# Makes the calls of a plan and compares their results with those that the plan shows.
import asyncio, importlib, inspect, json, math, os, re, sys

mark, cases = sys.argv[1], json.loads(sys.argv[2])
sys.argv = sys.argv[:1]
WORDS = {"true": True, "false": False, "null": None, "undefined": None, "nil": None}


def load(path):
    """Imports a file by the name that other code uses."""
    folder, name = os.path.split(os.path.abspath(path))
    parts = [name[:-3]] if name != "__init__.py" else []
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(".".join(parts))


def same(got, want):
    if hasattr(type(got), "__next__"):  # an object may answer to every name
        got = list(got)
    if isinstance(got, (list, tuple)) and isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(same(g, w) for g, w in zip(got, want))
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(same(v, want[k]) for k, v in got.items())
    if isinstance(got, bool) != isinstance(want, bool):
        return False
    if isinstance(got, float) and isinstance(want, (int, float)):
        return math.isclose(got, want, rel_tol=1e-9) or math.isnan(got) and math.isnan(want)
    if isinstance(got, bytes) and isinstance(want, str):
        return got == want.encode()
    try:
        return bool(got == want)
    except Exception:
        return False


def holds(got, text, names):
    try:
        want = eval(text, names)
    except Exception:
        want = text
    if same(got, want):
        return True
    try:
        return not isinstance(got, (str, int, float, list, tuple, dict, set, type(None))) and str(got) == (
            want if isinstance(want, str) else text)
    except Exception:
        return False


def own(error):
    """Whether the call itself cannot be made: it raised the error before the code of the project began."""
    return error.__traceback__.tb_next is None or error.__traceback__.tb_next.tb_next is None


def run(case):
    try:
        module = load(case["file"])
    except BaseException as e:
        return "unknown", "%s cannot be imported: %s: %s" % (case["file"], type(e).__name__, e)
    names = dict(WORDS, **vars(module))
    names.setdefault(module.__name__.rpartition(".")[2], module)
    if case["root"] not in names:
        names[case["root"]] = module
    try:  # a name that cannot be imported may be in the module
        exec(re.sub(r"(?m)^((?:from|import) .*[^(\\])$", r"try: \1\nexcept Exception: pass", case.get("setup", "")), names)
    except BaseException as e:
        return "unknown", "the code before it raises %s: %s" % (type(e).__name__, e)
    try:
        got = eval(case["call"], names)
        if inspect.isawaitable(got):
            got = asyncio.run(got)
    except BaseException as e:
        kinds = [k.__name__ for k in type(e).__mro__]
        if case.get("raises") in kinds or case.get("raises") == "error" and not own(e):
            return "holds", ""
        if isinstance(e, (NameError, AttributeError, TypeError, SyntaxError)) and own(e) or isinstance(e, (OSError, ImportError)):
            return "unknown", "%s: %s" % (type(e).__name__, e)
        return "differs", "it raises %s: %s" % (type(e).__name__, e)
    if case.get("raises"):
        return "differs", "it returns %r" % (got,)
    if holds(got, case["want"], names) or case.get("printed") and str(got) == case["want"]:
        return "holds", ""
    return "differs", "it returns %r" % (got,), repr(got), str(got)


for i, case in enumerate(cases):
    said = dict(zip(("state", "what", "shown", "text"), (text[:300] for text in run(case))))
    print("\n" + mark + json.dumps(dict(said, case=i)), flush=True)
