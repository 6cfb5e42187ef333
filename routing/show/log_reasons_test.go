package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/routing"
)

// The log contains the reasons for a decision.
func TestLogContainsReasons(t *testing.T) {
	_, d := sample(t)
	var got []string
	for _, x := range d.LogLines(routing.DefaultRules()) {
		got = append(got, string(x.Kind)+": "+x.Text)
	}
	want := []string{
		"MODE: team (score=72, threshold=60, workers=2)",
		"MODE: team -- score 72 is above 60, and team mode is on",
		"PARALLEL: B2,B4 -- overlap=0 files, both depend only on B1",
		"PARALLEL: B3,B5,B6 -- overlap=0 files, B3 depends on B2, B5 depends on B4, B6 depends on nothing",
		"MODEL: B1-->sonnet (sonnet-4) -- implementation: creates 4 files, confidence=90%",
		"MODEL: B2-->sonnet (sonnet-4) -- implementation: modifies 3 files, adds tests, confidence=90%",
		"MODEL: B3-->haiku -- verification: 0 creates, 5 run commands, confidence=85%",
		"MODEL: B4-->sonnet (sonnet-4) -- implementation: creates 2 files, confidence=90%",
		"MODEL: B5-->opus -- architecture: title says \"design\", confidence=90%",
		"MODEL: B6-->haiku -- wiring: no new logic: modifies 1 file, title says \"wire\", confidence=80%",
		"MODEL: B7-->haiku -- verification: 0 creates, title says \"trace\", confidence=60%",
		"SPECULATE: B2 starts while B1's gates run -- overlap 0%",
		"SPECULATE: B5 waits for B4's gates -- overlap 73%",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	d.Mode, d.Workers, d.Memory.Note = routing.Headless, 1, "could not be read\x07: no such file"
	lines := d.LogLines(routing.DefaultRules())
	if lines[2].Text != "headless -- memory: could not be read: no such file" || lines[3].Kind != routing.LogModel {
		t.Errorf("headless mode: %v", lines[:4])
	}
}
