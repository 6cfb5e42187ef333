package curate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/plan"
)

// Build does not trust the split: it checks the finished files, and writes nothing if one commit is on both sides.
func TestBuildVerifiesSplit(t *testing.T) {
	var text bytes.Buffer
	for i := range 20 {
		e := training.Example{
			Stage: training.Scope, Base: training.Reasoning, Source: training.Synthetic, Positive: true,
			Completion: fmt.Sprintf("{\"f%d\": 1}", i),
			Prompt:     []training.Message{{Role: "user", Content: strings.Repeat(fmt.Sprintf("w%d ", i), i+9)}},
			// two examples per commit
			Origin: training.Origin{Repo: "r", Commit: fmt.Sprintf("c%d", i/2), At: time.Unix(int64(i), 0).UTC()},
		}
		e.ID = e.Sum()
		line, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		text.Write(line)
	}
	dir := t.TempDir()
	from, out := filepath.Join(dir, "examples.jsonl"), filepath.Join(dir, "set")
	if err := os.WriteFile(from, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p := plan.For(training.Scope)
	blind := func(_ plan.Plan, all []*record, _ [][2]*record) (map[*record]bool, error) {
		return map[*record]bool{left(all)[0]: true}, nil
	}
	if _, err := build(t.Context(), []string{from}, out, Options{Plan: p}, blind); !errors.Is(err, ErrLeak) {
		t.Errorf("a commit on both sides: %v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
	if _, err := build(t.Context(), []string{from}, out, Options{Plan: p}, split); err != nil {
		t.Errorf("a valid split: %v", err)
	}
}
