package promise

import "testing"

// A batch that wants an error has no new code that goes on after one, unless another sentence speaks of that.
func TestDroppedErrors(t *testing.T) {
	const plan = "Add `total(path)`, which adds the numbers in a file. A line that is no number is an\nerror."
	for _, c := range []worded{
		{"continues", plan, nil, files{"a.py": "def total(path):\n    n = 0\n    for line in open(path):\n        try:\n" +
			"            n += int(line)\n        except ValueError:\n            continue\n    return n\n"}, "no-error"},
		{"raises", plan, nil, files{"a.py": "def total(path):\n    return sum(int(line) for line in open(path))\n"}, ""},
		{"may skip", plan + " Blank lines are skipped.", nil,
			files{"a.py": "def total(path):\n    n = 0\n    for line in open(path):\n" +
				"        try:\n            n += int(line)\n        except ValueError:\n            continue\n    return n\n"}, ""},
		{"a default in JavaScript", "Add load(file) to a.js. A file that is not JSON is an error.", nil,
			files{"a.js": "export function load(file) {\n  let v = {};\n  try {\n    v = JSON.parse(read(file));\n  } catch " +
				"{\n    v = {};\n  }\n  return v;\n}\n"}, "no-error"},
		{"an error of Go", "Add Load(s string) (int, error) to a.go. A text without a number is an error.", nil,
			files{"a.go": "package a\n\nfunc Load(s string) (int, error) {\n\tn, err := strconv.Atoi(s)\n\tif err != nil " +
				"{\n\t\treturn 0, nil\n\t}\n\treturn n, nil\n}\n"}, "no-error"},
		{"an error of Go is returned", "Add Load(s string) (int, error) to a.go. A text without a number is an error.", nil,
			files{"a.go": "package a\n\nfunc Load(s string) (int, error) {\n\tn, err := strconv.Atoi(s)\n\tif err != nil " +
				"{\n\t\treturn 0, err\n\t}\n\treturn n, nil\n}\n"}, ""},
	} {
		c.check(t)
	}
}

// New code has something for a pause, for JSON and for a limit that the batch asks for.
func TestFurtherDemands(t *testing.T) {
	const (
		pause = "Add `again(task)`, which calls task three times and waits one second between two calls."
		limit = "Add a class Names with `add(name)`. It keeps at most 100 names and forgets the oldest one."
		asks  = "Add an option `--json` to the command. With it, the command prints the result as JSON."
	)
	for _, c := range []worded{
		{"no pause", pause, nil, files{"a.py": "def again(task):\n    for _ in range(3):\n        task()\n"}, "demand-unmet"},
		{"a pause", pause, nil,
			files{"a.py": "import time\n\n\ndef again(task):\n    for _ in range(3):\n        task()\n        time.sleep(1)\n"},
			""},
		{"no limit", limit, nil, files{"a.py": "class Names:\n    def add(self, name):\n        self.names.append(name)\n"},
			"demand-unmet"},
		{"a limit", limit, nil,
			files{"a.py": "class Names:\n    def add(self, name):\n        self.names.append(name)\n        del " +
				"self.names[:-100]\n"}, ""},
		{"no JSON", asks, files{"a.py": "def main(args):\n    print(run())\n"},
			files{"a.py": "def main(args):\n    as_json = '--json' in args\n    print({'n': run()} if as_json else run())\n"},
			"demand-unmet"},
		{"JSON", asks, files{"a.py": "def main(args):\n    print(run())\n"},
			files{"a.py": "def main(args):\n    print(json.dumps(run()) if '--json' in args else run())\n"}, ""},
	} {
		c.check(t)
	}
}

// A function that a sentence is about changes in more than its comments.
func TestOnlyCommentsChanged(t *testing.T) {
	const (
		plan = "Correct `total`. late_fee charges a week that has just begun; charge whole weeks."
		old  = "def total(xs):\n    return len(xs)\n\n\n# Charges each week that began.\ndef late_fee(days):\n    return " +
			"days // 7 + 1\n"
		half = "def total(xs):\n    return sum(xs)\n\n\n# Charges whole weeks.\ndef late_fee(days):\n    return days // 7 " +
			"+ 1\n"
		done = "def total(xs):\n    return sum(xs)\n\n\n# Charges whole weeks.\ndef late_fee(days):\n    return days // 7\n"
	)
	for _, c := range []worded{
		{"only the comment", plan, files{"a.py": old}, files{"a.py": half}, "not-corrected"},
		{"the code too", plan, files{"a.py": old}, files{"a.py": done}, ""},
		{"a comment is asked for", "Correct `total`. late_fee needs a better comment.", files{"a.py": old},
			files{"a.py": half}, ""},
	} {
		c.check(t)
	}
}
