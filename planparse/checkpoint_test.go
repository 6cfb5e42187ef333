package planparse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// At a checkpoint the run asks a person before the preceding batch is merged; if no batch precedes, before the
// following one is merged.
func TestCheckpoints(t *testing.T) {
	const auto = "<task type=\"auto\">\n<name>Make it</name>\n<action>Do.</action>\n</task>\n"
	const look = "<task type=\"checkpoint:human-verify\" gate=\"blocking\">\n  <what-built>A page</what-built>\n  " +
		"<how-to-verify>\n    1. Open it\n    2. Look\n  </how-to-verify>\n  <resume-signal>Type " +
		"\"approved\"</resume-signal>\n</task>\n"
	const choose = "<task type=\"checkpoint:decision\">\n<decision>Which store</decision>\n<options>\n<option " +
		"id=\"a\">\n<name>SQLite</name>\n<pros>Small</pros>\n</option>\n</options>\n</task>\n"
	for name, c := range map[string]struct {
		text    string
		at      []string // of each batch; "-" is no checkpoint
		approve string   // batches that a person agrees to
		codes   string
	}{
		"behind a batch":   {auto + look + auto, []string{"-", "1", "-"}, "1", "info"},
		"two in a row":     {auto + auto + look + choose + auto, []string{"-", "-", "2", "2", "-"}, "2", "info info"},
		"at the beginning": {choose + auto + auto, []string{"2", "-", "-"}, "2", "info"},
		"at the end":       {auto + look, []string{"-", "1"}, "1", "info"},
		"alone":            {look, []string{""}, "", "warning"},
		"none":             {auto + auto, []string{"-", "-"}, "", ""},
	} {
		p := parse(t, c.text)
		var at, approve, codes []string
		for _, b := range p.Batches {
			if b.Approve {
				approve = append(approve, b.Key)
			}
			if b.Checkpoint == nil {
				at = append(at, "-")
				continue
			}
			at = append(at, b.Checkpoint.At)
			if asked := p.Asked(b.Checkpoint.At); b.Checkpoint.At != "" && (len(asked) == 0 || asked[0].At != b.Checkpoint.At) {
				t.Errorf("%s: the questions are %+v", name, asked)
			}
		}
		for _, d := range p.Diagnostics {
			if d.Code == "checkpoint" {
				codes = append(codes, string(d.Severity))
			}
		}
		if d := cmp.Diff([]any{c.at, c.approve, c.codes},
			[]any{at, strings.Join(approve, " "), strings.Join(codes, " ")}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	p := parse(t, auto+look+choose)
	want := []Checkpoint{
		{"human-verify", "what-built: A page\nhow-to-verify:\n1. Open it\n2. Look", "1", 5},
		{"decision", "decision: Which store\noptions:\noption a:\nname: SQLite\npros: Small", "1", 13},
	}
	if d := cmp.Diff(want, p.Asked("1")); d != "" || p.Batches[2].Title != "Which store" {
		t.Errorf("%s\ntitle %q", d, p.Batches[2].Title)
	}
}
