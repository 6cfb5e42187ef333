package planparse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each line of a batch has its number in the plan. Lines of a fence have its language, those of a nested fence the
// language of the outer one; lines that open or close a fence are left out.
func TestEachLine(t *testing.T) {
	p := parse(t, in("# P", "## Task 1: A", "text", "  two", "\ttab", "'''Go file=a.go", "x", "'''bash", "y", "'''",
		"z", "'''",
		"~~~", "no language", "'''", "~~~~", "end"))
	var got []string
	EachLine(&p.Batches[0], func(l Line) {
		got = append(got, fmt.Sprintf("%d %d %v %s|%s", l.Number, l.Indent, l.Fenced, l.Lang, l.Text))
	})
	want := []string{"3 0 false |text", "4 2 false |  two", "5 1 false |\ttab", "7 0 true go|x", "9 0 true go|y",
		"11 0 true go|z",
		"14 0 true |no language", "15 0 true |```", "17 0 false |end"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}

func TestSpans(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"no span":               nil,
		"`a`":                   {"a"},
		"run `a b` and ` c `.":  {"a b", "c"},
		"``a ` b`` then `c`":    {"a ` b", "c"},
		"``` x ``` and ``y``":   {"x", "y"},
		"an open one: `a` `b":   {"a"},
		"blank: ` ` and `a`":    {"a"},
		"`a``b`":                {"a", "b"},
		"the end is open: `a``": {"a"},
	} {
		if got := Spans(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for from, to := range SpansAt("x `ab` `c`") {
		if from != 3 || to != 5 {
			t.Errorf("the first span is at %d to %d", from, to)
		}
		break
	}
}

// Sections lists the text before the first heading, and each heading with the lines below it.
func TestSections(t *testing.T) {
	src := in("---", "a: b", "---", "before", "", "# **One**", "text", "'''", "## no", "'''", "<!--", "## no", "-->", "## Two",
		"", "# Three")
	list, code, err := Sections("a.md", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := []Section{{First: 4, Last: 5}, {1, "One", 6, 7, 13}, {2, "Two", 14, 15, 15}, {1, "Three", 16, 17, 16}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error("-want +got:\n", diff)
	}
	if diff := cmp.Diff(map[int]bool{8: true, 9: true, 10: true}, code); diff != "" {
		t.Error("code (-want +got):\n", diff)
	}
	if list, _, _ := Sections("a.md", []byte("text\n")); len(list) != 1 || list[0] != (Section{First: 1, Last: 1}) {
		t.Errorf("without a heading: %+v", list)
	}
	if _, _, err := Sections("a.md", []byte("a\x00b")); err == nil {
		t.Error("a binary file has sections")
	}
}

// WordingOf compares lines without the state of boxes and without white space; lines outside of the text are empty.
func TestWordingOfLines(t *testing.T) {
	src := "# P\n\n- [x]  a\n  b\n- [ ] c\n"
	for _, c := range []struct {
		first, last int
		want        string
	}{
		{3, 4, "- [ ] a\nb"}, {1, 2, "# P"}, {2, 2, ""}, {0, 1, "# P"}, {5, 9, "- [ ] c"}, {4, 3, ""}, {5, 5, "- [ ] c"},
	} {
		for _, end := range []string{"\n", "\r", "\r\n"} {
			if got := WordingOf([]byte(strings.ReplaceAll(src, "\n", end)))(c.first, c.last); got != c.want {
				t.Errorf("%d to %d with %q: got %q, want %q", c.first, c.last, end, got, c.want)
			}
		}
	}
}

// Untick opens the ticked boxes on the given lines only.
func TestUntick(t *testing.T) {
	src := "- [x] a\n- [X] b\n- [ ] c\n- [x] d\n[x]\n"
	if got := string(Untick([]byte(src), map[int]bool{1: true, 2: true, 3: true, 5: true})); got !=
		"- [ ] a\n- [ ] b\n- [ ] c\n- [x] d\n[x]\n" {
		t.Errorf("%q", got)
	}
}
