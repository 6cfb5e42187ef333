package failures

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/runplan/runplan/internal/lists"
)

func day(d int) time.Time { return time.Date(2026, 3, d, 12, 0, 0, 0, time.UTC) }

// store opens a store in its own folder, with text as the content of its file unless that is "". notes collects its
// messages.
func store(t *testing.T, text string) (s *Store, notes *[]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "logs", FileName)
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	notes = &[]string{}
	return Open(path, func(n string) { *notes = append(*notes, n) }), notes
}

func content(t *testing.T, s *Store) string {
	t.Helper()
	data, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func all(t *testing.T, s *Store) []Pattern {
	t.Helper()
	list, err := s.Patterns()
	must(t, err)
	return list
}

var plainRows = cmpopts.IgnoreUnexported(Pattern{})

// A failure is merged into the row with a similar title and the same failure type; any other failure gets its own
// row.
func TestRecord(t *testing.T) {
	s, notes := store(t, "")
	must(t, s.Record("Batch 3: Integration wiring", "missing import", day(1), Origin{}))
	must(t, s.Record("Wiring of the integration", "Missing Import", day(4), Origin{}))
	must(t, s.Record("integration wiring", "missing import", day(2), Origin{}))
	must(t, s.Record("integration wiring", "lint", day(2), Origin{}))
	must(t, s.Record("integration wiring tests", "lint", day(3), Origin{}))
	must(t, s.Won("Integration Wiring", "missing import", "with changes in a.py\n(+1 -0 lines)"))
	must(t, s.Won("Integration Wiring", "timeout", "nothing known"))
	must(t, s.Won("Integration Wiring", "lint", ""))
	want := `[
  {
    "batch_title_pattern": "integration wiring",
    "failure_type": "missing import",
    "frequency": 3,
    "last_seen": "2026-03-04",
    "winning_fix": "with changes in a.py (+1 -0 lines)"
  },
  {
    "batch_title_pattern": "integration wiring",
    "failure_type": "lint",
    "frequency": 1,
    "last_seen": "2026-03-02",
    "winning_fix": ""
  },
  {
    "batch_title_pattern": "integration wiring tests",
    "failure_type": "lint",
    "frequency": 1,
    "last_seen": "2026-03-03",
    "winning_fix": ""
  }
]
`
	if d := cmp.Diff(want, content(t, s)); d != "" {
		t.Error(d)
	}
	if len(*notes) > 0 {
		t.Errorf("it says %q", *notes)
	}
}

// Rows and fields of other programs, and the order of rows, do not change.
func TestMergeKeepsUnknownFields(t *testing.T) {
	s, notes := store(t, `[
  {"batch_title_pattern": "other", "failure_type": "x", "frequency": 9, "last_seen": "2025-01-01", "winning_fix": "w", "zeta": {"a": [1, 2.50]}, "alpha": "<b>"},
  "a remark", {"failure_type": "no title"}, {"batch_title_pattern": "bad", "failure_type": "y", "frequency": "many"},
  {"batch_title_pattern": "Integration Wiring", "failure_type": "missing import", "frequency": 3, "last_seen": "2027-01-01", "winning_fix": "", "lesson_id": "0017", "feedback_id": "f1", "by": "ada"}
]`)
	must(t, s.Record("integration wiring", "missing import", day(1), Origin{}))
	want := `[
  {
    "batch_title_pattern": "other",
    "failure_type": "x",
    "frequency": 9,
    "last_seen": "2025-01-01",
    "winning_fix": "w",
    "alpha": "<b>",
    "zeta": {
      "a": [
        1,
        2.50
      ]
    }
  },
  "a remark",
  {
    "failure_type": "no title"
  },
  {
    "batch_title_pattern": "bad",
    "failure_type": "y",
    "frequency": "many"
  },
  {
    "batch_title_pattern": "Integration Wiring",
    "failure_type": "missing import",
    "frequency": 4,
    "last_seen": "2027-01-01",
    "winning_fix": "",
    "lesson_id": "0017",
    "feedback_id": "f1",
    "by": "ada"
  }
]
`
	if d := cmp.Diff(want, content(t, s)); d != "" {
		t.Error(d)
	}
	if len(*notes) != 3 || !strings.Contains((*notes)[0], "row 2 is invalid; it is kept and not used") {
		t.Errorf("it says %q", *notes)
	}
	if n := len(all(t, s)); n != 2 {
		t.Errorf("%d rows are used, want 2", n)
	}
}

// An invalid file is renamed with its content and never overwritten.
func TestRecordRenamesInvalidFile(t *testing.T) {
	for name, text := range map[string]string{
		"half a file": `[{"batch_title_pattern": "a", "failure_`,
		"an object":   `{"a": 1}`,
		"null":        `null`,
		"two values":  `[] []`,
		"no JSON":     "<<<<<<< HEAD\n[]\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, notes := store(t, text)
			must(t, os.WriteFile(s.path+".broken-1", []byte("an earlier one"), 0o644))
			if _, err := s.Match("a", 0.6); !errors.Is(err, ErrBroken) {
				t.Errorf("reading says %v", err)
			}
			if got := content(t, s); got != text {
				t.Errorf("reading changed the file to %q", got)
			}
			must(t, s.Record("a title", "lint", day(1), Origin{}))
			kept, err := os.ReadFile(s.path + ".broken-2")
			if err != nil || string(kept) != text {
				t.Errorf("the renamed file has %q (%v)", kept, err)
			}
			if kept, _ := os.ReadFile(s.path + ".broken-1"); string(kept) != "an earlier one" {
				t.Errorf("the file that was renamed earlier has %q", kept)
			}
			if len(*notes) != 1 || !strings.Contains((*notes)[0], "renamed to "+FileName+".broken-2") {
				t.Errorf("it says %q", *notes)
			}
			if list := all(t, s); len(list) != 1 || list[0].Frequency != 1 {
				t.Errorf("the new file has %v", list)
			}
		})
	}
}

// An empty or missing file contains no patterns.
func TestEmptyFileHasNoPatterns(t *testing.T) {
	for _, text := range []string{"", "\n", "[]", "\xef\xbb\xbf[]\n"} {
		s, _ := store(t, text)
		got, err := s.Match("integration wiring", 0.6)
		if err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// If a file cannot be read, the change fails; the file does not count as invalid and is not renamed.
func TestRecordReportsUnreadableFile(t *testing.T) {
	s, _ := store(t, "")
	must(t, os.MkdirAll(s.path, 0o755)) // a folder of that name
	if err := s.Record("a title", "lint", day(1), Origin{}); err == nil || errors.Is(err, ErrBroken) {
		t.Errorf("it says %v", err)
	}
	if left, _ := filepath.Glob(s.path + ".broken*"); len(left) > 0 {
		t.Errorf("it set aside %v", left)
	}
}

func TestGeneralise(t *testing.T) {
	for title, want := range map[string]string{
		"Integration Wiring":                        "integration wiring",
		"Batch 4b: Integration wiring, for the API": "integration wiring api",
		"Task T001 - Add `config.toml` (2/3)":       "add config toml",
		"Phase P5: HTTP 404 pages in UTF-8":         "http 404 pages utf",
		"sha256 of v2 files":                        "sha256 files",
		"Prüfung der ÄUßEREN Größe":                 "prüfung der äußeren größe",
		"Batch 3":                                   "",
		"A":                                         "a",
		"Task":                                      "",
		"":                                          "",
		"修复 导入":                                     "修复 导入",
	} {
		if got := Generalise(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
		if got := Generalise(Generalise(title)); got != want {
			t.Errorf("%q: a second time gives %q", title, got)
		}
	}
}

// With a limit of 0.6, three common words of five match; ten of seventeen (0.588) and sixteen of twenty-seven
// (0.5926) do not.
func TestSimilarityAtLimit(t *testing.T) {
	name := func(from, to int) string {
		var w []string
		for i := from; i < to; i++ {
			w = append(w, fmt.Sprintf("word%c%c", 'a'+i/26, 'a'+i%26))
		}
		return strings.Join(w, " ")
	}
	tests := []struct {
		common, all int
		match       bool
	}{
		{3, 5, true}, {6, 10, true}, {12, 20, true}, {10, 17, false}, {16, 27, false}, {13, 22, false}, {1, 1, true},
		{0, 4, false},
	}
	for _, tt := range tests {
		s, _ := store(t, "")
		a, b := name(0, tt.all), name(0, tt.common)
		if tt.common == 0 {
			b = "quite otherwise"
		}
		must(t, s.Record(b, "lint", day(1), Origin{}))
		got, err := s.Match(strings.ToUpper(a), 0.6)
		must(t, err)
		if (len(got) == 1) != tt.match {
			t.Errorf("%d of %d (%.4f): %v, want a match: %v", tt.common, tt.all, similarity(lists.Unique(words(a)), lists.Unique(words(b))), got,
				tt.match)
		}
	}
	if similarity(lists.Unique(words("Batch 1")), lists.Unique(words("Batch 2"))) != 0 {
		t.Error("titles without words must not match")
	}
}

// Matches are sorted by similarity, then by frequency, then by title.
func TestMatchOrder(t *testing.T) {
	s, _ := store(t, `[
{"batch_title_pattern": "wiring integration api", "failure_type": "c", "frequency": 50, "last_seen": "", "winning_fix": ""},
{"batch_title_pattern": "integration wiring", "failure_type": "b", "frequency": 2, "last_seen": "", "winning_fix": ""},
{"batch_title_pattern": "zebra integration wiring", "failure_type": "z", "frequency": 50, "last_seen": "", "winning_fix": ""},
{"batch_title_pattern": "integration wiring", "failure_type": "a", "frequency": 2, "last_seen": "", "winning_fix": ""},
{"batch_title_pattern": "integration wiring", "failure_type": "d", "frequency": 7, "last_seen": "", "winning_fix": ""},
{"batch_title_pattern": "something else", "failure_type": "d", "frequency": 7, "last_seen": "", "winning_fix": ""}]`)
	got, err := s.Match("Batch 9: Wiring (integration)", 0.6)
	must(t, err)
	var types []string
	for _, p := range got {
		types = append(types, p.Type)
	}
	if d := cmp.Diff([]string{"d", "a", "b", "c", "z"}, types); d != "" {
		t.Error(d)
	}
}

func TestWarning(t *testing.T) {
	for want, p := range map[string]Pattern{
		`batches like "integration wiring" failed with "missing import", 3 times, last on 2026-03-04; then this passed: changed a.py (lesson 0017)`: {
			Title: "integration wiring", Type: "missing import", Frequency: 3, LastSeen: "2026-03-04",
			WinningFix: "changed a.py", LessonID: "0017"},
		`batches like "x" failed with "lint", once`: {Title: "x\x1b[31m", Type: "lint\n", Frequency: 1},
	} {
		if got := Warning(p); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// hammer records n failures, each through its own handle.
func hammer(path string, n int) error {
	for i := range n {
		s := Open(path, nil)
		if err := s.Record(fmt.Sprintf("integration wiring %s", []string{"api", "web"}[i%2]), "lint",
			day(1+i%3), Origin{}); err != nil {
			return err
		}
	}
	return nil
}

// No count is lost if several goroutines and several processes record failures at the same time.
func TestConcurrentRecordsKeepCounts(t *testing.T) {
	if path := os.Getenv("FAILURES_HAMMER"); path != "" {
		must(t, hammer(path, 10))
		return
	}
	s, notes := store(t,
		`[{"batch_title_pattern": "mine", "failure_type": "x", "frequency": 1, "last_seen": "", "winning_fix": "", "kept": true}]`)
	var group sync.WaitGroup
	errs := make(chan error, 16)
	for range 4 {
		group.Go(func() { errs <- hammer(s.path, 10) })
		group.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestConcurrentRecordsKeepCounts$")
			cmd.Env = append(os.Environ(), "FAILURES_HAMMER="+s.path)
			if out, err := cmd.CombinedOutput(); err != nil {
				errs <- fmt.Errorf("%w\n%s", err, out)
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		must(t, err)
	}
	want := []Pattern{
		{Title: "mine", Type: "x", Frequency: 1},
		{Title: "integration wiring api", Type: "lint", Frequency: 40, LastSeen: "2026-03-03"},
		{Title: "integration wiring web", Type: "lint", Frequency: 40, LastSeen: "2026-03-03"},
	}
	sorted := cmpopts.SortSlices(func(a, b Pattern) bool { return a.Title < b.Title })
	if d := cmp.Diff(want, all(t, s), plainRows, sorted); d != "" || len(*notes) > 0 {
		t.Errorf("%s%q", d, *notes)
	}
	if !strings.Contains(content(t, s), `"kept": true`) {
		t.Error("a field of another program is missing")
	}
}

// Reading any file either returns ErrBroken or rows that are equal after they are written and read again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "[]", "null", "[null]", "[1,{}]",
		`[{"batch_title_pattern":"a","failure_type":"b","frequency":1,"last_seen":"2026-01-01","winning_fix":"","x":[1]}]`,
		`[{"batch_title_pattern":"a","failure_type":"b","frequency":1e3}]`,
		`[{"batch_title_pattern":"a","batch_title_pattern":"b","failure_type":"\u0000"}]`, "[[]", `[{"a":"\ud800"}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, strange, err := parse(data)
		if err != nil {
			if !errors.Is(err, ErrBroken) {
				t.Fatalf("it says %v", err)
			}
			return
		}
		path := filepath.Join(t.TempDir(), FileName)
		s := Open(path, nil)
		must(t, s.write(rows))
		again, err := os.ReadFile(path)
		must(t, err)
		if !json.Valid(again) {
			t.Fatalf("written is no JSON: %q", again)
		}
		rows2, strange2, err := parse(again)
		must(t, err)
		if len(rows) != len(rows2) || len(strange) != len(strange2) {
			t.Fatalf("%d rows and %d strange ones became %d and %d:\n%s", len(rows), len(strange), len(rows2), len(strange2),
				again)
		}
		must(t, s.write(rows2))
		if third, _ := os.ReadFile(path); string(third) != string(again) {
			t.Fatalf("written twice it differs:\n%s\n%s", again, third)
		}
	})
}
