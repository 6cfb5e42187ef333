package sampling

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func outcome(run string, candidate int) Outcome {
	return Outcome{BatchType: "refactoring", Variant: MinimalChange, Won: true, Score: 2450, Timestamp: testTime, Run: run,
		Batch: "b4", Attempt: 2, Round: 1, Candidate: candidate}
}

func store(t *testing.T) Store {
	t.Helper()
	return Store{filepath.Join(t.TempDir(), "logs", "sampling-outcomes.json")}
}

// The file has the field names of SAMP-13.
func TestFileFormat(t *testing.T) {
	s := store(t)
	zone := time.FixedZone("x", 3600)
	o := Outcome{BatchType: "refactoring", Variant: MinimalChange, Won: true, Score: 2450,
		Timestamp: time.Date(2026, 2, 21, 13, 5, 0, 999, zone)}
	if err := s.Append(o, o); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(s.Path)
	row := `{"batch_type":"refactoring","prompt_variant":"minimal-change","won":true,"score":2450,"timestamp":"2026-02-21T12:05:00Z"}`
	if want := "[\n" + row + ",\n" + row + "\n]\n"; err != nil || string(got) != want {
		t.Errorf("%s (%v)\nwant %s", got, err, want)
	}
}

// The store reads a file that another program wrote and leaves its rows unchanged, including fields unknown to
// runplan.
func TestStoreKeepsForeignRows(t *testing.T) {
	s := store(t)
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	row := "{\n    \"batch_type\": \"refactoring\", \"prompt_variant\": \"minimal-change\", \"won\": true, \"score\": " +
		"2450,\n    \"timestamp\": \"2026-02-21T12:05:00Z\", \"mood\": {\"a\": 1.50}\n  }"
	if err := os.WriteFile(s.Path, []byte("[\n  "+row+"\n]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(outcome("r", 1)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Path)
	if err != nil || !strings.HasPrefix(string(data), "[\n"+row+",\n{") {
		t.Errorf("%s (%v)", data, err)
	}
	got, err := s.Read()
	if err != nil || len(got) != 2 || got[0].Score != 2450 || got[1].Run != "r" {
		t.Errorf("%+v (%v)", got, err)
	}
}

func TestMissingFileHasNoOutcomes(t *testing.T) {
	if got, err := store(t).Read(); err != nil || len(got) != 0 {
		t.Errorf("%+v (%v)", got, err)
	}
}

// A file that cannot be parsed is reported with the row, and never overwritten.
func TestStoreNeverOverwritesBrokenFile(t *testing.T) {
	good := `{"batch_type":"a","prompt_variant":"b","won":true,"score":1,"timestamp":"2026-02-21T12:05:00Z"}`
	for text, want := range map[string]string{
		"":                     "unexpected end",
		"null":                 "it is null",
		"{}":                   "cannot unmarshal object",
		"[" + good:             "unexpected end",
		"[" + good + "] []":    "after top-level value",
		"[" + good + ",7]":     "row 2",
		"[null]":               "row 1: the outcome has no batch_type",
		`[{"batch_type":"a"}]`: "row 1: the outcome has no prompt_variant",
		`[` + strings.Replace(good, "2026-", "", 1) + `]`:     "row 1: parsing time",
		`[` + strings.Replace(good, "1,", `"many",`, 1) + `]`: "row 1",
		`[` + strings.Replace(good, "2026-02-21T12:05", "0001-01-01T00:00", 1) +
			`]`: "row 1: the outcome of b has no timestamp",
	} {
		s := store(t)
		if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read()
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Path) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err := s.Append(outcome("r", 1)); !errors.Is(err, ErrBroken) {
			t.Errorf("%q: added to a broken file (%v)", text, err)
		}
		if got, _ := os.ReadFile(s.Path); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestAppendRejectsIncompleteOutcomes(t *testing.T) {
	s := store(t)
	for want, o := range map[string]Outcome{
		"no batch_type":     {Variant: "a", Timestamp: testTime},
		"no prompt_variant": {BatchType: "a", Variant: " ", Timestamp: testTime},
		"no timestamp":      {BatchType: "a", Variant: "b"},
	} {
		if err := s.Append(outcome("r", 1), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := os.Stat(s.Path); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written:", err)
	}
}

// A tournament that is reported again after a crash counts once. The next attempt counts separately.
func TestRepeatedAppendCountsOnce(t *testing.T) {
	s := store(t)
	next := outcome("r", 1)
	next.Attempt = 3
	for range 3 {
		if err := s.Append(outcome("r", 1), outcome("r", 2), outcome("r", 1), outcome("s", 1), next); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Read(); err != nil || len(got) != 4 {
		t.Errorf("%d outcomes (%v)", len(got), err)
	}
}

// Several runs append at the same time; nothing is lost, and no reader sees a partial append.
func TestConcurrentAppendsLoseNothing(t *testing.T) {
	s := store(t)
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := (Store{s.Path}).Append(outcome(fmt.Sprint("run", w), 2*i+1),
					outcome(fmt.Sprint("run", w), 2*i+2)); err != nil {
					t.Error(err)
				}
				if got, err := s.Read(); err != nil || len(got)%2 != 0 {
					t.Errorf("%d outcomes in between (%v)", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	got, err := s.Read()
	if err != nil || len(got) != writers*each*2 {
		t.Errorf("%d outcomes (%v)", len(got), err)
	}
	left, err := os.ReadDir(filepath.Dir(s.Path))
	if err != nil || len(left) != 2 { // the file and its lock
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// For any file content, the file is reported as broken and stays unchanged, or a row is added and all other rows stay
// unchanged.
func FuzzStore(f *testing.F) {
	good := `{"batch_type":"a","prompt_variant":"b","won":true,"score":1,"timestamp":"2026-02-21T12:05:00Z"}`
	for _, seed := range []string{"", "[]", "[" + good + "]", "[\n" + good + ",\n" + good + "\n]\n", "[7]", "null",
		strings.Replace(good, "b", `b","x":"\ud800`, 1)} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Store{filepath.Join(dir, fmt.Sprint(os.Getpid()), "o.json")}
		if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		before, err := s.Read()
		add := outcome("a run of the fuzzer", 1)
		if aerr := s.Append(add); (aerr == nil) != (err == nil) {
			t.Fatalf("read: %v, append: %v", err, aerr)
		}
		if err != nil {
			if got, _ := os.ReadFile(s.Path); string(got) != string(data) {
				t.Fatalf("%q became %q", data, got)
			}
			return
		}
		after, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(before, func(o Outcome) bool { return o.key() == add.key() }) {
			return
		}
		if diff := cmp.Diff(append(before, add), after); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The leader of the first round counts as the winner whichever candidate is used in the end; a candidate without a
// verdict is left out.
func TestHeldOutcomes(t *testing.T) {
	slot := func(c Candidate, variant string, k Kind) Candidate {
		v, _ := Named(variant)
		c.Slot = Slot{Number: c.Number, Variant: v, Kind: k}
		return c
	}
	round := []Candidate{slot(cand(1, 500, 9), Vanilla, KindVanilla), slot(cand(2, 499, 9), MinimalChange, KindLearned),
		slot(void(3), EdgeCasesOnly, KindExperimental), slot(failed(4), WriteTestsFirst, KindExperimental)}
	d := Decide(round, DefaultOptions())
	both := cand(5, 700, 9)
	h := Held{BatchType: "new-file", Run: "r", Batch: "b4", Attempt: 2, Trigger: OnRetry, Seed: 7, Tier: "medium",
		Agent: "claude", At: testTime.Add(time.Millisecond), Round1: round, Decision: d, Synthesis: &both,
		Final: AfterSynthesis(d, both)}
	base := Outcome{BatchType: "new-file", Timestamp: testTime, Run: "r", Batch: "b4", Attempt: 2, Round: 1,
		Trigger: OnRetry, Seed: 7, Tier: "medium", Agent: "claude"}
	row := func(candidate int, variant string, k Kind, won, passed bool, score int) Outcome {
		o := base
		o.Candidate, o.Variant, o.Kind, o.Won, o.Passed, o.Score = candidate, variant, k, won, passed, score
		return o
	}
	last := row(5, Synthesis, KindSynthesis, true, true, 700)
	last.Round, last.Used = 2, true
	want := []Outcome{row(1, Vanilla, KindVanilla, true, true, 500), row(2, MinimalChange, KindLearned, false, true, 499),
		row(4, WriteTestsFirst, KindExperimental, false, false, 0), last}
	if diff := cmp.Diff(want, h.Outcomes()); diff != "" {
		t.Error(diff)
	}
	// If the synthesis fails, the leader is used.
	bad := failed(5)
	h.Synthesis, h.Final = &bad, AfterSynthesis(d, bad)
	if got := h.Outcomes(); !got[0].Used || got[3].Used || got[3].Won {
		t.Errorf("%+v", got)
	}
	// Without a synthesis there is no second round.
	h.Synthesis = nil
	if got := h.Outcomes(); len(got) != 3 {
		t.Errorf("%+v", got)
	}
	for _, o := range h.Outcomes() {
		if err := o.check(); err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(o); err != nil {
			t.Error(err)
		}
	}
}

// A file that cannot be read is an error; only a missing one means that there are no outcomes.
func TestUnreadableStoreIsAnError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(file, "below")} {
		if got, err := (Store{Path: path}).Read(); err == nil || got != nil ||
			!strings.Contains(err.Error(), "read sampling outcomes") {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if err := (Store{Path: dir}).Append(outcome("r", 1)); err == nil ||
		!strings.Contains(err.Error(), "read sampling outcomes") {
		t.Errorf("append: %v", err)
	}
}
