package lessons

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// SUMMARY.md agrees with the lesson files; go test ./lessons -run Summary -args -update-summary rewrites it.
func TestSummaryMatchesLessons(t *testing.T) {
	update := flag.Lookup("update-summary") != nil && flag.Lookup("update-summary").Value.String() == "true"
	path := filepath.Join("library", SummaryFile)
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lib := builtInLibrary(t)
	want, err := fillSummary(string(have), lib)
	if err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(have) != want {
		t.Error("SUMMARY.md is not what the lessons say; rewrite it: go test ./lessons -run Summary -args -update-summary")
	}
	for _, l := range lib.Lessons {
		if !strings.Contains(want, "| "+l.ID+" | "+l.Title+" |") {
			t.Errorf("lesson %s is not in the table", l.ID)
		}
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update-summary", false, "write library/SUMMARY.md again")
	os.Exit(m.Run())
}

// Each lesson that the text of SUMMARY.md cites exists.
func TestSummaryCitesExistingLessons(t *testing.T) {
	lib := builtInLibrary(t)
	text, err := Summary(lib)
	if err != nil {
		t.Fatal(err)
	}
	section := func(heading string) string {
		_, rest, ok := strings.Cut(text, "\n"+heading+"\n")
		if !ok {
			t.Fatalf("no part %q", heading)
		}
		level := strings.Repeat("#", strings.IndexByte(heading, ' '))
		part, _, _ := strings.Cut(rest, "\n"+level+" ")
		return part
	}
	ids := regexp.MustCompile(`\b\d{4}\b`)
	for _, id := range ids.FindAllString(text, -1) {
		if _, ok := lib.Get(id); !ok {
			t.Errorf("lesson %s, which does not exist", id)
		}
	}
	if got := strings.Join(ids.FindAllString(section("### Cold-Start"), -1), " "); got[:24] != "0014 0016 0020 0032 0039" {
		t.Errorf("cold start: %s", got)
	}
	rules := regexp.MustCompile(`(?m)^\d\. (?:.|\n   )*`).FindAllString(section("## Six rules to build by"), -1)
	if len(rules) != 6 {
		t.Errorf("%d rules", len(rules))
	}
	for _, r := range rules {
		if len(ids.FindAllString(r, -1)) < 2 {
			t.Errorf("cites less than two lessons: %s", r)
		}
	}
	rows := regexp.MustCompile(`(?m)^\| [^-].*\|$`).FindAllString(section("## Diagnostic shortcuts"), -1)
	if len(rows) < 10 {
		t.Errorf("%d shortcuts", len(rows)-1)
	}
	for _, r := range rows[1:] {
		if !ids.MatchString(r) {
			t.Errorf("cites no lesson: %s", r)
		}
	}
}
