package promise

import (
	"strings"
	"testing"
)

// Each task of a long plan counts as a short plan does, and names, orders and errors are compared with the code.
func TestPartsOfALongPlan(t *testing.T) {
	const (
		mail  = "def email(v):\n    return v\n\n\ndef host(v):\n    return v\n"
		quote = "Quote names in `email` and texts in `host`. Add `more(v)`."
		names = "Add `more(v)`. All existing methods and aliases stay."
		show  = "Add `preview`, and add tests. `inspect` and `to_s` keep their output."
		order = "Add `latest(list)`. The order of the list stays as it is."
		set   = "class Set\n  def minus(o)\n    o\n  end\n  alias difference minus\n  alias to_s minus\nend\n"
		limit = "`power(s)` returns all subsets.\n\nA long one raises ValueError, because memory ends.\n\n" +
			"- Tests for it in test_a.py."
		older = "def old(v):\n    raise ValueError(v)\n"
		run   = "def run(jobs):\n    for j in jobs:\n        j()\n"
	)
	more := "def more(v):\n    return v\n"
	long := "### Task 1: run\n\nAdd `safe(jobs)`. Exceptions of jobs propagate.\n\n### Task 2: notes\n" +
		strings.Repeat("\nA note.\n", 12)
	safe := func(handler string) files {
		return files{"a.py": run + "\n\ndef safe(jobs):\n    try:\n        run(jobs)\n    except BaseException as e:\n" +
			handler}
	}
	power := func(refuse, test string) files {
		return files{"a.py": older + "\n\ndef power(s):\n    if len(s) > 9:\n        " + refuse + "\n    return [s]\n",
			"test_a.py": "def test_power():\n    assert power('a') == ['a']\n" + test}
	}
	for _, c := range []worded{
		{"one of two places", quote, files{"a.py": mail},
			files{"a.py": strings.Replace(mail, "return v", "return repr(v)", 1) + "\n\n" + more}, "not-corrected"},
		{"one place in another file", quote, files{"a.py": mail[:len(mail)/2], "b.py": mail[len(mail)/2:]},
			files{"a.py": strings.Replace(mail[:len(mail)/2], "return v", "return repr(v)", 1) + "\n\n" + more},
			"not-corrected"},
		{"both places", quote, files{"a.py": mail},
			files{"a.py": strings.ReplaceAll(mail, "return v", "return repr(v)") + "\n\n" + more}, ""},
		{"an alias is gone", names, files{"a.rb": set},
			files{"a.rb": strings.Replace(set, "  alias difference minus\n", "  def more(v)\n    v\n  end\n", 1)}, "check-gone"},
		{"the alias is a method", names, files{"a.rb": set},
			files{"a.rb": strings.Replace(set, "alias difference minus",
				"def difference(o)\n    o\n  end\n  def more(v)\n    v\n  end", 1)},
			""},
		{"an alias with a condition", show, files{"a.rb": set},
			files{"a.rb": strings.Replace(set, "alias to_s minus",
				"def to_s\n    a ? preview : minus(1)\n  end\n  def preview\n    1\n  end",
				1), "test/test_a.rb": "def test_preview\n  assert_equal 1, preview\nend\n"}, "check-gone"},
		{"a sorted argument", order, files{"a.go": "package a\n"},
			files{"a.go": "package a\n\nimport \"sort\"\n\nfunc latest(list []int) int {\n\tsort.Ints(list)\n\treturn " +
				"list[0]\n}\n"},
			"demand-unmet"},
		{"a sorted copy", order, files{"a.go": "package a\n"},
			files{"a.go": "package a\n\nfunc latest(list []int) int {\n\tlist = " +
				"slices.Clone(list)\n\tsort.Ints(list)\n\treturn list[0]\n}\n"},
			""},
		{"a handler of all errors", long, files{"a.py": run}, safe("        log(e)\n"), "no-error"},
		{"a handler that raises it again", long, files{"a.py": run}, safe("        log(e)\n        raise\n"), ""},
		{"an error that only old code raises", limit, files{"a.py": older}, power("print(s)", ""), "no-error"},
		{"the error is raised", limit, files{"a.py": older}, power("raise ValueError(s)", ""), ""},
		{"the error is tested", limit, files{"a.py": older},
			power("check(s)", "    with pytest.raises(ValueError):\n        power('aaaaaaaaaa')\n"), ""},
	} {
		c.check(t)
	}
}
