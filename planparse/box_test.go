package planparse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A box has one character in it, and white space behind it. Signs for done are ticks, signs for not done are open.
func TestBoxStates(t *testing.T) {
	for text, want := range map[string]string{
		"[ ] a": " a", "[x] a": "x a", "[X] a": "X a", "[\t] a": " a", "[\u00a0] a": " a", "[✓] a": "x a",
		"[✔] a": "x a", "[✅] a": "x a",
		"[☑] a": "x a", "[√] a": "x a", "[v] a": "x a", "[V] a": "x a", "[✗] a": " a", "[✘] a": " a", "[❌] a": " a",
		"[~] a": "~ a",
		"[-] a": "- a", "[/] a": "/ a", "[!] a": "! a", "[>] a": "> a", "[?] a": "? a", "[x]": "x", "[x]*a*": "x*a*",
		"[ ]":   " ",
		"[1] a": "no", "[a](b)": "no", "[x](b)": "no", "[x]a": "no", "[] a": "no", "[xx] a": "no", "[x": "no",
		"x] a": "no", "": "no",
	} {
		state, rest, ok := cutBox([]byte(text))
		got := string(state) + string(rest)
		if ok && len(rest) > 0 && rest[0] != '*' {
			got = string(state) + " " + string(rest)
			got = strings.Replace(got, "  ", " ", 1)
		}
		if !ok {
			got = "no"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if done(state) != (ok && strings.ContainsAny(string(state), "xX")) {
			t.Errorf("%q: done is %v", text, done(state))
		}
	}
}

// The id and the title of a checkbox, in all notations of the list formats.
func TestLabelsOfBoxes(t *testing.T) {
	for text, want := range map[string]label{
		"":                   {},
		"a":                  {title: "a"},
		"1. A":               {id: "1", title: "A", kind: labelMajor},
		"1) A":               {id: "1", title: "A", kind: labelMajor},
		"1: A":               {id: "1", title: "A", kind: labelMajor},
		"1.0 A":              {id: "1", title: "A", kind: labelMajor, zero: true},
		"1.1 A":              {id: "1.1", title: "A", kind: labelSub},
		"1.1. A":             {id: "1.1", title: "A", kind: labelSub},
		"5.1.1 A":            {id: "5.1.1", title: "A", kind: labelSub},
		"1 A":                {id: "1", title: "A", kind: labelNumber},
		"1":                  {id: "1", kind: labelNumber},
		"1.":                 {id: "1", kind: labelMajor},
		"1.解析":               {id: "1", title: "解析", kind: labelMajor},
		"1个解析":               {title: "1个解析"},
		"1**. A**":           {id: "1", title: "A", kind: labelNumber},
		"3x A":               {title: "3x A"},
		"1.2.3.4.5.67 A":     {id: "1.2.3.4.5.67", title: "A", kind: labelSub},
		"1.2.3.4.5.6.7 A":    {title: "1.2.3.4.5.6.7 A"},
		"**1. A**":           {id: "1", title: "A", kind: labelMajor},
		"* 1.2 A":            {id: "1.2", title: "A", kind: labelSub},
		"~~1. A~~":           {id: "1", title: "A", kind: labelMajor},
		"T001 A":             {id: "T001", title: "A", kind: labelT},
		"T001 [P] [US1] A":   {id: "T001", title: "A", kind: labelT, parallel: true},
		"T001 [US1] (P) A":   {id: "T001", title: "A", kind: labelT, parallel: true},
		"T001 `[P]` A":       {id: "T001", title: "A", kind: labelT, parallel: true},
		"T001 [US A":         {id: "T001", title: "[US A", kind: labelT},
		"T001 — A":           {id: "T001", title: "A", kind: labelT},
		"T001：A":             {id: "T001", title: "A", kind: labelT},
		"T-001 A":            {id: "T-001", title: "A", kind: labelT},
		"T012b A":            {id: "T012b", title: "A", kind: labelT},
		"T001.1 A":           {id: "T001.1", title: "A", kind: labelT},
		"US1-T05 A":          {id: "US1-T05", title: "A", kind: labelT},
		"T1: A":              {id: "T1", title: "A", kind: labelT},
		"T1 mapping":         {title: "T1 mapping"},
		"T1_norm":            {title: "T1_norm"},
		"[P] A":              {title: "A", parallel: true},
		"[note] A":           {title: "[note] A"},
		"`code` A":           {title: "`code` A"},
		"Task 1: A":          {id: "1", title: "A", kind: labelMajor, named: true},
		"Unit 2: A":          {id: "2", title: "A", kind: labelMajor, named: true},
		"U3. A":              {id: "U3", title: "A", kind: labelMajor, named: true},
		"Task: A":            {title: "Task: A"},
		"Phase 1: A":         {title: "Phase 1: A"},
		"Tell everybody":     {title: "Tell everybody"},
		"the word, in small": {title: "the word, in small"},
		"über alles":         {title: "über alles"},
	} {
		if diff := cmp.Diff(want, parseLabel([]byte(text)), cmp.AllowUnexported(label{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// "**Step 1" is a step marker, a template is not.
func TestStepMarkers(t *testing.T) {
	for text, want := range map[string]bool{
		"**Step 1: a**": true, "__Step 1: a__": true, "**Step 1**": true, "**Schritt 2: a**": true, "**步骤1：a**": true,
		"**1단계: a**": true, "**Step N: a**": false, "**Step1: a**": false, "**Step**": false, "**Step one**": false, "Step 1: a": false,
		"**Task 1: a**": false, "**1. step**": false, "**Steps 1**": false, "**St": false,
	} {
		if got := isMarker([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A path has one spelling. What leaves the workspace, or is no path, is left out.
func TestPathsOfFiles(t *testing.T) {
	for raw, want := range map[string]string{
		"a.go": "a.go", "./a.go": "a.go", "a//b.go": "a/b.go", "a/../b.go": "b.go", "dir/": "dir/", `a\b.go`: "a/b.go", "a.go:12": "a.go",
		"a.go:12-40": "a.go", "a.go:12,40": "a.go", "a.go:L3": "a.go", "a.go#L3": "a.go", "a.go~L3": "a.go",
		"a.go (new)": "a.go",
		"a.go（新規）":   "a.go", "a.go:": "a.go", "a.go:1:2": "a.go", "a.go:+3": "a.go", ".gitignore": ".gitignore",
		"Makefile": "Makefile",
		"justfile": "justfile", "app/(auth)/page.tsx": "app/(auth)/page.tsx",
		"routes/posts.$id.tsx": "routes/posts.$id.tsx",
		"1.2.md":               "1.2.md", "v2.py": "v2.py", "a.abcdefghijk": "a.abcdefghijk",
		"a.abcdefghijkl": "", "a.": "", ".": "", "a...": "", "word": "", "": "", "-x.go": "", "a b.go": "",
		"f().go": "", "http://a/b.go": "",
		"/": "", "1.2": "", "v2.0.0rc1": "", ">=3.11": "", "1.x": "", "1.4.0-beta.2": "", "a=b.go": "", "x|y.go": "",
		"ab:c.go":                        "ab:c.go",
		strings.Repeat("a", 297) + ".go": strings.Repeat("a", 297) + ".go", strings.Repeat("a", 298) + ".go": "",
		"..": "", "../a.go": "outside", "/a.go": "outside", "~/a.go": "outside", "$HOME/a.go": "outside",
		"%APP%/a.go": "outside",
		"C:/a.go":    "outside", `C:\a.go`: "outside", `C:\a/b.go`: "outside",
	} {
		got := ""
		if p := stripRange(raw); looksLikePath(p) {
			clean, ok := cleanPath(p)
			if got = clean; !ok {
				got = "outside"
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// A line of a list of files may name several paths, with a verb of their own and notes between them.
func TestLinesOfFiles(t *testing.T) {
	for line, want := range map[string]string{
		"- Create: `a.go`, `b.go`":                          "create a.go, create b.go",
		"- `a.go` (new), `b.go` (created), `c.go` (renews)": "create a.go, create b.go, modify c.go",
		"- Create: `a.go`; Modify: `b.go`":                  "create a.go, modify b.go",
		"- Modify: `a.go` (see `b.go`), `c.go`":             "modify a.go, modify c.go",
		"- Modify: `a.go` (see `b.go`":                      "modify a.go",
		"- Modify: `a.go` — call `x.run`":                   "modify a.go",
		"- Modify: `a.go` — and `lib/b.go`":                 "modify a.go, modify lib/b.go",
		"- Modify: a.go, b.go; c.go":                        "modify a.go, modify b.go, modify c.go",
		"- Modify: a.go (new), create b.go":                 "create a.go, create b.go",
		"- Move: `a.go` → `b.go`":                           "delete a.go, create b.go",
		"- Move: a.go to b.go":                              "delete a.go, create b.go",
		"- Move: a.go":                                      "delete a.go",
		"- Modify: `a.go` (if needed)":                      "maybe modify a.go",
		"- Test: `a_test.go`, optional":                     "maybe test a_test.go",
		"- Modify: none":                                    "",
		"- Read: `a.go`":                                    "",
		"- Delete: `a.go`":                                  "delete a.go",
	} {
		var got []string
		for _, n := range parse(t, in("### Task 1: A", "**Files:**", line)).Batches[0].Named {
			text := fmt.Sprintf("%s %s", n.Verb, n.Path)
			if n.Maybe {
				text = "maybe " + text
			}
			if n.Line != 3 {
				t.Errorf("%s: %s is in line %d", line, text, n.Line)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// The mark of parallel work is no part of a title, wherever it is.
func TestTitlesHaveNoParallelMark(t *testing.T) {
	p := parse(t, in("# P", "### Task 1: [P] Write it", "- [ ] a", "### Task 2: Read it [P]", "- [ ] b",
		"### Task 3: (P) Sort it", "- [ ] c", "### Task 4: Power (P)", "- [ ] d", "### Task 5: Say `x` `[P]`", "- [ ] e"))
	var got []string
	for _, b := range p.Batches {
		got = append(got, b.Title)
	}
	if want := []string{"Write it", "Read it", "Sort it", "Power (P)", "Say `x`"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
