package routing

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// noon is a clock that always returns the same time.
func noon() time.Time { return time.Date(2026, 5, 4, 12, 3, 14, 0, time.UTC) }

func openLog(t *testing.T, path string) *Log {
	t.Helper()
	l, err := OpenLog(path, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readLog(t *testing.T, path string) []Line {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	lines, err := ReadLog(f)
	must(t, err)
	return lines
}

// The log is read back run by run, and reopening a log appends to it.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "routing-decisions.log")
	l := openLog(t, path)
	must(t, l.Begin("0a1b", "docs/my plan.md"))
	must(t, l.Add(Line{Kind: LogMode, Text: "team (score=72)"}))
	must(t, l.Add(Line{Kind: LogMerge, Text: "B2-->main, 3 files, 0 conflicts", Clock: "00:00:00"}))
	again := openLog(t, path)
	must(t, again.Begin("2c3d", "b.md"))
	must(t, again.Add(Line{Kind: LogEscalate, Text: "B6 failed on haiku\nnext is sonnet \x1b[31m100%"}))
	data, err := os.ReadFile(path)
	must(t, err)
	want := `# 2026-05-04 run 0a1b: docs/my plan.md
[12:03:14] MODE: team (score=72)
[12:03:14] MERGE: B2-->main, 3 files, 0 conflicts
# 2026-05-04 run 2c3d: b.md
[12:03:14] ESCALATE: B6 failed on haiku next is sonnet 100%
`
	if d := cmp.Diff(want, string(data)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Line{
		{"2026-05-04", "0a1b", "12:03:14", LogMode, "team (score=72)"},
		{"2026-05-04", "0a1b", "12:03:14", LogMerge, "B2-->main, 3 files, 0 conflicts"},
		{"2026-05-04", "2c3d", "12:03:14", LogEscalate, "B6 failed on haiku next is sonnet 100%"},
	}, readLog(t, path)); d != "" {
		t.Error(d)
	}
}

// A truncated line does not count and does not damage the next one.
func TestLogAfterCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	must(t, os.WriteFile(path, []byte("# 2026-05-04 run r: p\n[12:00:00] MODE: team\n[12:00:01] MERG"), 0o644))
	if lines := readLog(t, path); len(lines) != 1 || lines[0].Text != "team" {
		t.Errorf("read %v", lines)
	}
	must(t, openLog(t, path).Add(Line{Kind: LogMerge, Text: "B1"}))
	lines := readLog(t, path)
	if len(lines) != 3 || lines[1].Kind != "" || lines[1].Text != "[12:00:01] MERG" || lines[2].Kind != LogMerge ||
		lines[2].Text != "B1" {
		t.Errorf("read %v", lines)
	}
}

// Lines that several goroutines write through several open files do not mix.
func TestLogConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	var wg sync.WaitGroup
	for _, l := range []*Log{openLog(t, path), openLog(t, path)} {
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if err := l.Add(Line{Kind: LogGatePass, Text: strings.Repeat("x", 3000)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	lines := readLog(t, path)
	for _, x := range lines {
		if x.Kind != LogGatePass || len(x.Text) != 3000 {
			t.Fatalf("read %q", x)
		}
	}
	if len(lines) != 400 {
		t.Errorf("read %d lines of 400", len(lines))
	}
}

func TestLogErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, path := range []string{dir, filepath.Join(file, "x.log")} {
		if l, err := OpenLog(path, noon); err == nil || l != nil ||
			!strings.Contains(err.Error(), "log of routing decisions") {
			t.Errorf("%s: %v", path, err)
		}
	}
	l := openLog(t, filepath.Join(dir, "x.log"))
	must(t, l.Close())
	if err := l.Add(Line{Kind: LogMode, Text: "x"}); err == nil {
		t.Error("a closed log took a line")
	}
}

// A number becomes the name of a batch with a B in front; any other key is the name.
func TestBatchName(t *testing.T) {
	for key, want := range map[string]string{"0": "B0", "3": "B3", "9a": "B9a", "P5-2": "P5-2", "/1": "/1", ":1": ":1",
		"": ""} {
		if got := BatchName(key); got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{0: "0%", 0.1: "<1%", 1: "1%", 1.6: "2%", 100: "100%"} {
		if got := Percent(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

func TestSpeedUpText(t *testing.T) {
	for want, c := range map[string][2]float64{
		"speed-up real=1.50, predicted=2.00, off by 25%": {2, 1.5}, "speed-up real=1.50, predicted=unknown": {0, 1.5},
		"speed-up real=unknown, predicted=2.00": {2, 0}, "speed-up real=0.75, predicted=1.00, off by 25%": {1, 0.75},
		"speed-up real=1.00, predicted=0.80, off by 25%": {0.8, 1},
	} {
		if got := SpeedUpText(c[0], c[1]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Any log can be read, and a prefix of it gives a prefix of its lines.
func FuzzReadLog(f *testing.F) {
	for _, seed := range []string{"", "[12:03:14] MODE: team\n", "# 2026-05-04 run r: p\n[12:03:14] MERGE: x\n[12:03",
		"junk\r\n\n[1] x\n", "[12:03:14] MODE: \n\x1b[2J\x00\n"} {
		f.Add([]byte(seed), "B1 \x1b]0;t\x07\nmerged", 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, cut int) {
		all, err := ReadLog(bytes.NewReader(data))
		must(t, err)
		part, err := ReadLog(bytes.NewReader(data[:min(max(cut, 0), len(data))]))
		must(t, err)
		if len(part) > len(all) || len(part) > 0 && cmp.Diff(part, all[:len(part)]) != "" {
			t.Errorf("the first part of the log is read as %v, the whole log as %v", part, all)
		}
		for _, x := range all {
			if strings.ContainsAny(x.Text, "\n\x1b") {
				t.Errorf("%q would steer a terminal", x.Text)
			}
		}
		path := filepath.Join(t.TempDir(), "x.log")
		must(t, os.WriteFile(path, data, 0o644))
		l, err := OpenLog(path, noon)
		must(t, err)
		defer l.Close()
		must(t, l.Add(Line{Kind: LogMode, Text: text}))
		lines := readLog(t, path)
		if last := lines[len(lines)-1]; last.Kind != LogMode || last.Clock != "12:03:14" || last.Text != OneLine(text) {
			t.Errorf("%q was read as %q", text, last)
		}
	})
}
