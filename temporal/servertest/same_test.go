package servertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// aPlan has batches that depend on each other, one that fails at first, and one that always fails.
const aPlan = `# The same

## Batch 1: one
**Files:**
- Create: ` + "`out1.txt`" + `

Write the file.

## Batch 2: fails at first
**Files:**
- Create: ` + "`out2.txt`" + `

Write the file.

## Batch 3: on both
depends_on: 1, 2

**Files:**
- Create: ` + "`out3.txt`" + `

Write the file.
`

// Both engines produce the same commits and the same report from the same plan with the same agents.
func TestLocalAndTemporalProduceSameResult(t *testing.T) {
	type outcome struct{ commits, trailers, report, status string }
	var outcomes []outcome
	for _, engine := range []string{"local", "temporal"} {
		s := newStage(t)
		s.slowAgent("0.02")
		s.write("plan.md", aPlan)
		// The first attempt of the second batch leaves a file that the gate rejects.
		s.write("check.sh", "! grep -q wrong out2.txt 2>/dev/null || { echo \"out2.txt:1: wrong word\"; exit 1; }\n")
		config, err := os.ReadFile(filepath.Join(s.project, ".runplan/config.toml"))
		if err != nil {
			t.Fatal(err)
		}
		s.write(".runplan/config.toml", string(config)+
			"\n[[gates.command]]\nname = \"words\"\nrun = \"sh check.sh\"\nblocking = true\n")
		agent, err := os.ReadFile(filepath.Join(s.dir, "agent.sh"))
		if err != nil {
			t.Fatal(err)
		}
		wrong := string(agent) + "if [ \"$RUNPLAN_BATCH$RUNPLAN_ATTEMPT\" = 21 ]; then echo wrong >> out2.txt; fi\n"
		if err := os.WriteFile(filepath.Join(s.dir, "agent.sh"), []byte(wrong), 0o755); err != nil {
			t.Fatal(err)
		}
		s.commit()
		var text string
		var code int
		if engine == "local" {
			text, code = s.call("run", "plan.md", "--plain")
		} else {
			s.serve()
			s.worker("w1")
			s.worker("w2")
			run := s.run()
			code = run.code(t, 3*time.Minute)
			text = run.text()
		}
		if code != 0 {
			t.Fatalf("%s: exit status %d\n%s", engine, code, text)
		}
		main := "refs/heads/runplan/plan/main"
		o := outcome{
			commits:  s.git(s.project, "log", "--reverse", "--format=%T %s", main),
			trailers: plain(s.git(s.project, "log", "--reverse", "--format=%B", main)),
		}
		reports, err := filepath.Glob(filepath.Join(s.project, ".runplan/reports/*/report.md"))
		if err != nil || len(reports) != 1 {
			t.Fatalf("%s: %v %v", engine, reports, err)
		}
		report, err := os.ReadFile(reports[0])
		if err != nil {
			t.Fatal(err)
		}
		o.report = plain(string(report))
		for _, name := range []string{"receipts/1.json", "receipts/3.json", "report.html"} {
			if _, err := os.Stat(filepath.Join(filepath.Dir(reports[0]), name)); err != nil {
				t.Errorf("%s: %v", engine, err)
			}
		}
		logs, _ := filepath.Glob(filepath.Join(s.project, ".runplan/logs/*/2-a1/*"))
		var names []string
		for _, l := range logs {
			names = append(names, filepath.Base(l))
		}
		slices.Sort(names)
		o.report += "\nlogs of the failed attempt: " + strings.Join(names, " ")
		o.status = s.states()
		outcomes = append(outcomes, o)
	}
	a, b := outcomes[0], outcomes[1]
	for _, x := range []struct{ what, local, temporal string }{
		{"commits", a.commits, b.commits}, {"trailers", a.trailers, b.trailers}, {"report", a.report, b.report},
		{"status", a.status, b.status},
	} {
		if x.local != x.temporal {
			t.Errorf("%s differ\n--- local\n%s\n--- temporal\n%s", x.what, x.local, x.temporal)
		}
	}
}

// states returns what status prints about the batches, without times.
func (s *stage) states() string {
	s.t.Helper()
	out, code := s.call("status", "--json")
	var runs []struct {
		Status  string
		Batches []struct {
			Number, State, Agent string
			Attempts             int
			Gates                []struct{ Gate, Status string }
		}
	}
	if err := json.Unmarshal([]byte(out), &runs); err != nil || code != 0 {
		s.t.Fatalf("%v: %s", err, out)
	}
	return fmt.Sprintf("%+v", runs)
}
