package planparse

import (
	"slices"
	"strconv"
	"testing"
)

func TestParseUnit(t *testing.T) {
	for text, want := range map[string]unit{
		"3.": {unitNumbered, "section", "3", "", true}, "3) A": {unitNumbered, "section", "3", "A", true},
		"3.1 A": {unitNumbered, "section", "3.1", "A", true}, "3 — A": {unitNumbered, "section", "3", "A", true},
		"3 – A": {unitNumbered, "section", "3", "A", true}, "3 - A": {unitNumbered, "section", "3", "A", true},
		"3、API": {unitNumbered, "section", "3", "API", true}, "3：API": {unitNumbered, "section", "3", "API", true},
		"3．API":    {unitNumbered, "section", "3", "API", true},
		"3 apples": {}, "3.x": {}, "3-A": {}, "3.1.2.3.4.5.6.7 A": {},
		"Task 3 (optional): A": {unitTask, "task", "3", "A", true}, "Task 3 (a (b) c): A": {unitTask, "task", "3", "A", true},
		"Task 3 (optional) A": {unitTask, "task", "3", "(optional) A", true},
		"Task 3-":             {unitTask, "task", "3", "", true}, "Task 3+: A": {unitTask, "task", "3+", "A", true},
		"Task 3+4: A": {unitTask, "task", "3+4", "A", true}, "Task 3-iv: A": {unitTask, "task", "3-iv", "A", true},
		"T1: A": {unitTask, "task", "T1", "A", true}, "T-001 — A": {unitTask, "task", "T-001", "A", true},
		"US1-T05: A": {unitTask, "task", "US1-T05", "A", true}, "US-001: A": {unitPiece, "story", "US-001", "A", true},
		"U1. A": {unitPiece, "unit", "U1", "A", true}, "WP01 — A": {unitSpan, "package", "WP01", "A", true},
		"M1 - A": {unitSpan, "milestone", "M1", "A", true}, "T1": {}, "T1 plain": {}, "M1": {},
		"TASK-006: A": {unitTask, "task", "006", "A", true}, "Task #6: A": {unitTask, "task", "6", "A", true},
		"Task FE-1: A": {unitTask, "task", "FE-1", "A", true}, "Task 17.5: A": {unitTask, "task", "17.5", "A", true},
		"Task 4b: A": {unitTask, "task", "4b", "A", true}, "Task II: A": {unitTask, "task", "II", "A", true},
		"Task 2c-i: A": {unitTask, "task", "2c-i", "A", true}, "Task N-1: A": {unitTask, "task", "N-1", "A", true},
		"[x] Task 3: A": {unitTask, "task", "3", "A", true}, "[docs] Task 3: A": {unitTask, "task", "3", "A", true},
		"🎯 Task 3: A": {unitTask, "task", "3", "A", true}, "~~Task 3: A": {unitTask, "task", "3", "A", true},
		"`Task 3: A`":  {},
		"Task 3 ✓ — A": {unitTask, "task", "3", "A ✓", true}, "Task 3 → A": {unitTask, "task", "3", "A", true},
		"Task 3 | A": {unitTask, "task", "3", "A", true}, "Task 3, A": {unitTask, "task", "3", "A", true},
		"Task 3 **: A**": {unitTask, "task", "3", "A", true}, "Task 3 [note] A": {unitTask, "task", "3", "[note] A", true},
		"Task 3 A": {unitTask, "task", "3", "A", false}, "Task 3 `a`": {unitTask, "task", "3", "`a`", false},
		"Task 3 4": {unitTask, "task", "3", "4", false}, "Task 3 (open: A": {unitTask, "task", "3", "(open: A", true},
		"3": {}, "3.1": {unitNumbered, "section", "3.1", "", true}, "3: A": {unitNumbered, "section", "3", "A", true},
		"123456789012. A": {unitNumbered, "section", "123456789012", "A", true}, "1234567890123. A": {},
		"Task 3-cd: A": {unitTask, "task", "3", "cd: A", true}, "Phase 3/4: A": {unitGroup, "phase", "3/4", "A", true},
	} {
		if got := parseUnit([]byte(text)); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestScanT(t *testing.T) {
	for text, want := range map[string]string{
		"T001 A": "T001", "[P] T001 A": "T001", "[P] [US1] T001 A": "T001", "[T001] A": "T001", "`T001` A": "T001",
		"`T001 A": "", "[P T001": "", "[much too long a tag] T001 A": "", "[P]": "",
	} {
		if _, id := scanT([]byte(text)); id != want {
			t.Errorf("%q: %q, want %q", text, id, want)
		}
	}
}

func TestLastVerbOfPathCounts(t *testing.T) {
	for _, tt := range []struct {
		verbs []string
		want  string
	}{
		{[]string{"create", "modify"}, "create"}, {[]string{"modify", "create"}, "create"},
		{[]string{"create", "delete"}, "delete"}, {[]string{"delete", "create"}, "create"},
		{[]string{"test", "modify"}, "test"}, {[]string{"test", "create"}, "test"}, {[]string{"modify", "test"}, "test"},
		{[]string{"test", "delete"}, "delete"}, {[]string{"modify", "delete"}, "delete"},
	} {
		var b Batch
		for i, v := range tt.verbs {
			b.Named = append(b.Named, Named{Verb: v, Path: "a.go", Line: i + 1})
		}
		if got := b.Promises(); len(got) != 1 || got[0].Verb != tt.want {
			t.Errorf("%v: %+v, want %s", tt.verbs, got, tt.want)
		}
	}
}

// A path that a batch names many times is listed once.
func TestPathsAreListedOnce(t *testing.T) {
	text := "# P\n\n## Batch 1: A\n\n**Files:**\n"
	var want []string
	for i := range 80 {
		path := "f" + string(rune('a'+i/10)) + string(rune('0'+i%10)) + ".go"
		want = append(want, path)
		text += "- Create: `" + path + "`\n"
	}
	for _, path := range want {
		text += "- Create: `" + path + "`\n"
	}
	p, err := Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Batches[0].Files.Create; !slices.Equal(got, want) {
		t.Errorf("%d paths, want %d: %v", len(got), len(want), got)
	}
}

func TestFrontMatterKeysAreAtTopLevel(t *testing.T) {
	m := frontMatter{line: 2, text: []byte("title: a\n# note: b\n  nested: c\n\ttabbed: d\n- item: e\n\nlast: f\n")}
	var got []string
	m.each(func(line int, key, value string) { got = append(got, strconv.Itoa(line)+" "+key+" "+value) })
	if want := []string{"2 title a", "8 last f"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCoverageNamesHeadingAboveLooseLines(t *testing.T) {
	src := []byte("## Batch 1: A\n\n- [ ] Write a.\n\n## Rollout\n\nAsk.\n")
	p, err := Parse("", src)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Cover(src).Ranges {
		if r.Kind == CoverNobody {
			got = append(got, r.Why)
		}
	}
	if want := []string{`below "Rollout", outside of every batch`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLikenessOfHeadings(t *testing.T) {
	for text, want := range map[string]string{
		"P0 - Now": "2 phase", "Now": "", "ABCDEFG1": "", "P": "", "Phase 2: A": "2 phase", "P0": "2 P",
	} {
		u := parseUnit([]byte(text))
		m := &mark{kind: markHeading, level: 2, text: []byte(text), unit: &u}
		if got := likeness(m); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A title is shown without bold marks and comments.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		" a ": "a", "**a** b": "a b", "a <!-- b --> c": "a  c", "a <!-- b": "a", "a*b": "a*b", "<a>": "<a>", "**": "",
		"a\xff": "a\uFFFD", "`**a**`": "`a`", "*a\xff*": "*a\uFFFD*",
	} {
		if got := plain([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
