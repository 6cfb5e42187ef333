# Compares the functions and classes of an index, as lines on standard input, with what Python's own parser sees.
import ast, collections, json, os, sys

root = sys.argv[1]
have, state = collections.defaultdict(collections.Counter), {}
for line in sys.stdin:
    path, kind, name, at = line.rstrip("\n").split("\t")
    if at == "0":
        state[path] = (kind, name)
    elif kind in ("function", "method", "class"):
        have[path][(kind, name, int(at))] += 1

total = missing = shifted = extra = 0
notes = []
for path in sorted(state):
    try:
        tree = ast.parse(open(os.path.join(root, path), "rb").read())
    except (SyntaxError, ValueError) as e:
        notes.append(f"  {path}: ast cannot parse it ({type(e).__name__}); the index has {sum(have[path].values())} functions and classes")
        continue
    want = collections.Counter()
    stack = [(tree, "", False)]
    while stack:
        node, name, inside = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                want[("method" if inside else "function", name + child.name, child.lineno)] += 1
                stack.append((child, name + child.name + ".", False))
            elif isinstance(child, ast.ClassDef):
                want[("class", name + child.name, child.lineno)] += 1
                stack.append((child, name + child.name + ".", True))
            else:
                stack.append((child, name, inside))
    total += sum(want.values())
    lost, found = want - have[path], have[path] - want
    bare = lambda c: collections.Counter((k[1].rsplit(".", 1)[-1], k[2]) for k in c.elements())
    really, none = bare(lost) - bare(found), bare(found) - bare(lost)
    m, x = sum(really.values()), sum(none.values())
    s = sum(lost.values()) - m
    missing, shifted, extra = missing + m, shifted + s, extra + x
    if m or s or x:
        notes.append(f"  {path}: {m} missing, {s} under another parent, {x} that are none ({state[path][0]}{': ' + state[path][1] if state[path][1] else ''})")
json.dump({"Total": total, "Missing": missing, "Shifted": shifted, "Extra": extra, "Notes": notes}, sys.stdout)
