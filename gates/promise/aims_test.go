package promise

import (
	"strings"
	"testing"
)

// What only looks like the work that a batch asks for is found, and the work is not.
func TestAims(t *testing.T) {
	const (
		two   = "Add `late(jobs)` and `early(jobs)`: the jobs before and after now."
		late  = "def late(jobs):\n    return sorted(j for j in jobs if j < now())\n"
		early = "\n\ndef early(jobs):\n    return sorted(j for j in jobs if j > now())\n"
		names = "Add `Names(m)`, the keys in order. Add tests."
		sort  = "package a\n\nfunc Names(m map[string]int) []string {\n\treturn slices.Sorted(maps.Keys(m))\n}\n"
		show  = "A choice shows its values with `Usage(f)`. Add tests."
		use   = "package a\n\nfunc Usage(f Flag) string {\n\treturn f.text\n}\n"
		with  = "package a\n\nfunc Usage(f Flag) string {\n\treturn choices(f)\n}\n"
		more  = "\nfunc choices(f Flag) string {\n\treturn f.text\n}\n"
		check = "package a\n\nfunc TestChoices(t *testing.T) {\n\tif choices(f) != \"a|b\" {\n\t\tt.Fatal()\n\t}\n}\n"
		pause = "Add `pause(job)`. `work(jobs)` leaves out paused jobs, and `every` stays as it is. Add tests."
		old   = "def work(jobs):\n    for j in jobs:\n        run(j)\n\n\ndef every(jobs):\n    for j in jobs:\n        run(j)\n"
		job   = "\n\nclass Job:\n    def __init__(self):\n        self.paused = False\n\n    def pause(self):\n" +
			"        self.paused = True\n        return self\n\n    def resume(self):\n        if not self.paused:\n" +
			"            raise ValueError\n        self.paused = False\n\n    def __repr__(self):\n" +
			"        return f'Job {self.paused}'\n"
		works  = "def work(jobs):\n    for j in jobs:\n        if j.paused:\n            continue\n        run(j)\n"
		keeps  = "\n\ndef every(jobs):\n    for j in jobs:\n        run(j)\n"
		breaks = "\n\ndef every(jobs):\n    for j in jobs:\n        if j.paused:\n            continue\n        run(j)\n"
		tested = "def test_pause():\n    j = Job().pause()\n    assert j.paused\n"
		count  = "Add the option `--count`: `ids --count 3` prints three, and `ids --count 5 --size 4` five."
		parse  = "let count = 1\nfor (let i = 2; i < argv.length; i++) {\n  if (argv[i] === '--count') {\n    count = Number(argv[i + 1])\n" +
			"    if (!Number.isInteger(count)) {\n      error('bad')\n    }\n  }\n}\n"
		loop  = "for (let i = 0; i < count; i++) {\n  print(id())\n}\n"
		cases = "if (count === 3) {\n  print(id(), id(), id())\n} else if (count === 5) {\n  print(id(), id(), id(), id(), id())\n}\n"
		quiet = "Add the option `--quiet`, with which nothing is told."
		exact = "Add `Set(v)`. A value that is not exactly one of the choices is an error."
		whole = "Add `read(text)`. Any other text raises `Bad`."
		secs  = "Add `within(seconds)`, the jobs of the next seconds."
		list  = "Add `parts(text)`. An empty part is an error."
		drop  = "package a\n\nfunc parts(t string) (out []string, err error) {\n\tfor _, p := range strings.Split(t, \",\") {\n" +
			"\t\tif p == \"\" {\n\t\t\tWHAT\n\t\t}\n\t\tout = append(out, p)\n\t}\n\treturn out, nil\n}\n"
		flags = "package a\n\nfunc (f *Set) HasShown() bool {\n\treturn f.n > 0\n}\n"
		shown = "package a\n\nfunc (f *Set) HasVisible() bool {\n\treturn f.n > 0\n}\n\nfunc (f *Set) Size() int {\n\treturn f.n\n}\n"
	)
	for _, c := range []worded{
		{"two names for one thing", two, nil,
			files{"a.py": late + "\n\ndef early(jobs):\n    return sorted(j for j in jobs if j < now())\n"}, "demand-unmet"},
		{"two things", two, nil, files{"a.py": late + early}, ""},
		{"an alias", two + " `early` is an alias.", nil,
			files{"a.py": late + "\n\ndef early(jobs):\n    return sorted(j for j in jobs if j < now())\n"}, ""},
		{"a copy in the tests", names, nil, files{"a.go": sort, "a_test.go": "package a\n\nfunc names(m map[string]int) []string {\n" +
			"\treturn nil\n}\n\nfunc TestNames(t *testing.T) {\n\tcheck(names(m))\n}\n"}, "tests-notice-nothing"},
		{"a helper of the tests", names, nil, files{"a.go": sort, "a_test.go": "package a\n\nfunc names(m map[string]int) string {\n" +
			"\treturn join(Names(m))\n}\n\nfunc TestNames(t *testing.T) {\n\tcheck(names(m))\n}\n"}, ""},
		{"only tests use it", show, files{"a.go": use}, files{"a.go": use + more, "a_test.go": check}, "not-called"},
		{"code uses it", show, files{"a.go": use}, files{"a.go": with + more, "a_test.go": check}, ""},
		{"a helper for later", show + " Add a helper for choices.", files{"a.go": use},
			files{"a.go": use + more, "a_test.go": check}, ""},
		{"a field that is only shown", pause, files{"a.py": old}, files{"a.py": old + job, "test_a.py": tested}, "option-unused"},
		{"a field with an effect", pause, files{"a.py": old}, files{"a.py": works + keeps + job, "test_a.py": tested}, ""},
		{"a job that leaves the list", pause, files{"a.py": old}, files{"a.py": old + strings.Replace(job, "= True\n",
			"= True\n        jobs.remove(self)\n", 1), "test_a.py": tested}, ""},
		{"a function that stays", pause, files{"a.py": old}, files{"a.py": works + breaks + job, "test_a.py": tested}, "check-gone"},
		{"one that is kept in another form", strings.Replace(pause, "`every` stays as it is", "keep `every` for paused ones", 1),
			files{"a.py": old}, files{"a.py": works + breaks + job, "test_a.py": tested}, ""},
		{"one that a test covers", pause, files{"a.py": old},
			files{"a.py": works + breaks + job, "test_a.py": tested + "    assert every([j]) is None\n"}, ""},
		{"shown counts", count, nil, files{"a.js": parse + cases}, "answers-only"},
		{"a count that is only checked", count, nil, files{"a.js": parse}, "option-unused"},
		{"any count", count, nil, files{"a.js": parse + loop}, ""},
		{"an option without a variable", quiet, nil, files{"a.js": "if (argv[2] === '--quiet') {\n  tell = no\n}\n"}, ""},
		{"a part of a choice", exact, nil, files{"a.go": "package a\n\nfunc (c *C) Set(v string) error {\n" +
			"\tif !strings.Contains(c.all, v) {\n\t\treturn errors.New(c.all)\n\t}\n\treturn nil\n}\n"}, "demand-unmet"},
		{"a choice", exact, nil, files{"a.go": "package a\n\nfunc (c *C) Set(v string) error {\n" +
			"\tif strings.Contains(v, \",\") || !slices.Contains(c.all, v) {\n\t\treturn errors.New(v)\n\t}\n\treturn nil\n}\n"}, ""},
		{"a part of the text", whole, nil, files{"a.rb": "def read(text)\n  m = /(\\d+)([sm])/.match(text) or raise Bad\n  m[1]\nend\n"},
			"demand-unmet"},
		{"the whole text", whole, nil,
			files{"a.rb": "def read(text)\n  m = /\\A(\\d+)([sm])\\z/.match(text) or raise Bad\n  m[1]\nend\n"}, ""},
		{"another unit", secs, nil, files{"a.py": "def within(seconds):\n    return jobs(timedelta(minutes=seconds))\n"}, "demand-unmet"},
		{"the unit", secs, nil, files{"a.py": "def within(seconds):\n    return jobs(timedelta(seconds=seconds))\n"}, ""},
		{"what is empty is left out", list, nil, files{"a.go": strings.Replace(drop, "WHAT", "continue", 1)}, "no-error"},
		{"what is empty is refused", list, nil, files{"a.go": strings.Replace(drop, "WHAT", "return nil, errEmpty", 1)}, ""},
		{"another name", "Add `Set.Size()`.", files{"a.go": flags}, files{"a.go": shown}, "check-gone"},
		{"another name that the batch wants", "Add `Set.Size()`. Rename HasShown.", files{"a.go": flags}, files{"a.go": shown}, ""},
		{"an error of another runner", "Add `read(text)`. A bad text raises `Bad`. Add tests.", nil,
			files{"a.rb": "def read(text)\n  raise Bad unless text\n  text\nend\n",
				"a_test.rb": "def test_read\n  assert_raise(Bad) {read(nil)}\nend\n"}, ""},
		{"an error that is nil", "Add `read(text)` with an optional unit. A bad text raises `Bad`.", nil,
			files{"a.rb": "def read(text)\n  units[text]\nrescue\n  nil\nend\n\ndef fail\n  raise Bad\nend\n"}, "no-error"},
	} {
		c.check(t)
	}
}
