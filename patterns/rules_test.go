package patterns

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
)

// want matches the marks of expected hits in a bad example: on the same line, or on the next one.
var want = regexp.MustCompile(`\s*(#|//) want( next)?$`)

func examples(t *testing.T, rule string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "rules", rule+".txtar"))
	if err != nil {
		t.Fatalf("each rule has examples: %v", err)
	}
	return text
}

// Both YAML parsers read the built-in rules alike.
func TestBuiltinRulesAreReadAlike(t *testing.T) {
	checked := Builtin()
	checked.decode = anyYAML
	want, err := Load(checked)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(Builtin())
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Options{cmp.AllowUnexported(Rule{}, document{}), cmpopts.IgnoreFields(document{}, "need")}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("-checked +fast:\n%s", diff)
	}
}

// Each built-in rule finds the marked lines of its bad examples and nothing in its good ones, in each of its
// languages. At least five rules distinguish examples that consist of the same lines.
func TestBuiltinRules(t *testing.T) {
	p, rules := program(t), builtin(t)
	if len(rules) < 10 {
		t.Errorf("%d rules, at least 10 are promised", len(rules))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-24s %-8s %-6s %4s %4s %-5s %s\n", "rule", "severity", "lesson", "bad", "good", "twins",
		"languages")
	structural := 0
	for _, r := range rules {
		t.Run(r.ID, func(t *testing.T) {
			archive := examples(t, r.ID)
			dir, files := tree(t, archive)
			res, err := Scan(t.Context(), p, dir, files, []Rule{r})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Skipped)+len(res.Partial)+len(res.Other) > 0 {
				t.Errorf("not all was checked: %+v", res)
			}
			got, expected := map[string][]int{}, map[string][]int{}
			for _, h := range res.Hits {
				got[h.Path] = append(got[h.Path], h.Line)
				if h.Message == "" || strings.Contains(h.Message, "$") || h.Severity != r.Severity || h.Lesson != r.Lesson ||
					h.Note == "" {
					t.Errorf("incomplete: %+v", h)
				}
			}
			good, languages := 0, map[string]bool{}
			for _, f := range txtar.Parse(archive).Files {
				if strings.HasPrefix(f.Name, "good/") {
					good++
					continue
				}
				languages[languageOf(f.Name)] = true
				for i, line := range strings.Split(string(f.Data), "\n") {
					if m := want.FindStringSubmatch(line); m != nil {
						expected[f.Name] = append(expected[f.Name], i+1+len(m[2])/len(" next"))
					}
				}
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
			for _, l := range r.Languages {
				if !languages[l] {
					t.Errorf("there is no bad example in %s", l)
				}
			}
			if good == 0 {
				t.Error("there is no good example")
			}
			mark := ""
			if twins(t, archive) {
				mark = "yes"
				structural++
			}
			fmt.Fprintf(&table, "%-24s %-8s %-6s %4d %4d %-5s %s\n", r.ID, r.Severity, r.Lesson, len(res.Hits), good, mark,
				strings.Join(r.Languages, " "))
		})
	}
	if structural < 5 {
		t.Errorf("%d rules find what no expression over lines can find, at least 5 are promised", structural)
	}
	t.Logf(
		"twins: a bad and a good example that consist of the same lines, so that no expression over lines tells them "+
			"apart\n%s", table.String())
}

// twins reports whether an archive has a bad and a good example with the same lines. It fails if they differ in more
// than order and indentation.
func twins(t *testing.T, archive []byte) bool {
	t.Helper()
	lines := map[string][]string{}
	for _, f := range txtar.Parse(archive).Files {
		kind, name, _ := strings.Cut(f.Name, "/")
		if !strings.HasPrefix(name, "twin") {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			if line = strings.TrimSpace(want.ReplaceAllString(strings.TrimRight(line, "\n"), "")); line != "" {
				lines[kind] = append(lines[kind], line)
			}
		}
		slices.Sort(lines[kind])
	}
	if len(lines) == 0 {
		return false
	}
	if diff := cmp.Diff(lines["bad"], lines["good"]); diff != "" {
		t.Errorf("the bad and the good example have different lines (-bad +good):\n%s", diff)
	}
	return true
}
