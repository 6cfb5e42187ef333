// Package gatetest is the conformance suite of gates. Authors of a gate run it with their own small tree:
//
//	gatetest.Run(t, func(t *testing.T) (gates.Gate, gates.Subject) { … })
//
// It checks what the pipeline relies on: the tree does not change, the report is well formed and free of control codes,
// a cancelled context ends the gate, and a gate never passes a missing tree.
package gatetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
)

// maxOutput is the limit of Report.Output in bytes.
const maxOutput = 4 << 10

// Setup makes a gate and a tree for it. It is called again for each check.
type Setup func(t *testing.T) (gates.Gate, gates.Subject)

// Run runs the suite.
func Run(t *testing.T, setup Setup) {
	t.Run("info", func(t *testing.T) { info(t, setup) })
	t.Run("report", func(t *testing.T) { report(t, setup) })
	t.Run("cancelled before", func(t *testing.T) { cancelled(t, setup) })
	t.Run("cancelled while it runs", func(t *testing.T) { stopped(t, setup) })
	t.Run("tree is missing", func(t *testing.T) { gone(t, setup) })
}

func info(t *testing.T, setup Setup) {
	g, _ := setup(t)
	in := g.Info()
	if in.Name == "" || strings.TrimSpace(in.Name) != in.Name || !printable(in.Name) || strings.Contains(in.Name, "\n") {
		t.Errorf("the name %q does not fit on one line", in.Name)
	}
	if in.Kind != gates.Static && in.Kind != gates.LLM {
		t.Errorf("kind is %q", in.Kind)
	}
	if in.Cost < gates.Instant || in.Cost > gates.Dear {
		t.Errorf("cost is %d", in.Cost)
	}
	if d := cmp.Diff(in, g.Info()); d != "" {
		t.Errorf("its second Info differs from the first:\n%s", d)
	}
}

func report(t *testing.T, setup Setup) {
	g, s := setup(t)
	s.LogDir = filepath.Join(t.TempDir(), "logs")
	before := snapshot(t, s.Dir)
	rep, err := g.Check(t.Context(), s)
	if err != nil {
		t.Fatalf("it could not run: %v", err)
	}
	if d := cmp.Diff(before, snapshot(t, s.Dir)); d != "" {
		t.Errorf("it changed the tree:\n%s", d)
	}
	if rep.Gate != g.Info().Name {
		t.Errorf("the report is of %q, the gate is %q", rep.Gate, g.Info().Name)
	}
	if !slices.Contains([]gates.Status{gates.Pass, gates.Fail, gates.Warn, gates.Skipped}, rep.Status) {
		t.Errorf("status is %q", rep.Status)
	}
	if rep.Status == gates.Skipped && rep.Note == "" {
		t.Error("it was skipped without a reason")
	}
	blocks := slices.ContainsFunc(rep.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error })
	if blocks != (rep.Status == gates.Fail) {
		t.Errorf("status is %s; a finding at severity error: %v", rep.Status, blocks)
	}
	if c := rep.Tests; c != nil && (c.Passed < 0 || c.Failed < 0 || c.Skipped < 0) {
		t.Errorf("counts are %+v", *c)
	}
	if len(rep.Output) > maxOutput {
		t.Errorf("the output holds %d bytes", len(rep.Output))
	}
	texts := []string{rep.Note, rep.Output}
	for _, f := range rep.Findings {
		finding(t, f)
		texts = append(texts, f.Message, f.Fix, f.Rule)
	}
	for _, text := range texts {
		if !printable(text) {
			t.Errorf("control codes or broken text in %q", text)
		}
	}
	logged(t, rep)
	rep.Cases = nil // the names of tests stay out of the journal
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var again gates.Report
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	rep.Cases = nil // they are not part of the JSON
	if d := cmp.Diff(rep, again); d != "" {
		t.Errorf("the report changes when it is written and read as JSON:\n%s", d)
	}
}

func finding(t *testing.T, f gates.Finding) {
	t.Helper()
	if f.Rule == "" || f.Message == "" {
		t.Errorf("a finding without rule or message: %+v", f)
	}
	if f.Severity != gates.Error && f.Severity != gates.Warning && f.Severity != gates.Note {
		t.Errorf("severity is %q", f.Severity)
	}
	if f.Path != "" && (!fs.ValidPath(f.Path) || strings.Contains(f.Path, `\`)) {
		t.Errorf("path is %q, want one relative to the tree, with slashes", f.Path)
	}
	if f.Line < 0 || f.Col < 0 || (f.Path == "" && f.Line > 0) {
		t.Errorf("position is %q:%d:%d", f.Path, f.Line, f.Col)
	}
}

func logged(t *testing.T, rep gates.Report) {
	t.Helper()
	if rep.Log == "" {
		return
	}
	data, err := os.ReadFile(rep.Log)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); rep.LogHash != hex.EncodeToString(sum[:]) {
		t.Error("the hash is not that of the log")
	}
}

// cancelled requires an error: a cancelled gate must not answer.
func cancelled(t *testing.T, setup Setup) {
	g, s := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	rep, err := g.Check(ctx, s)
	if err == nil {
		t.Errorf("it answered %s although it was cancelled", rep.Status)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

// stopped checks that a gate ends soon after its context, in any way.
func stopped(t *testing.T, setup Setup) {
	g, s := setup(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	began := time.Now()
	if rep, err := g.Check(ctx, s); err == nil && time.Since(began) > 10*time.Second {
		t.Errorf("it answered %s, %v after it was cancelled", rep.Status, time.Since(began))
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}

func gone(t *testing.T, setup Setup) {
	g, s := setup(t)
	s.Dir = filepath.Join(t.TempDir(), "no-such-tree")
	rep, err := g.Check(t.Context(), s)
	if err == nil && (rep.Status == gates.Pass || rep.Status == gates.Warn) {
		t.Errorf("it answered %s for a missing tree", rep.Status)
	}
}

// printable reports whether s may be shown on a terminal.
func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r)
	}) < 0
}

// snapshot holds mode and content of each file below dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			out[rel] = "folder"
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if fi.Mode().IsRegular() {
			if data, err = os.ReadFile(p); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(data)
		out[rel] = fi.Mode().String() + " " + hex.EncodeToString(sum[:])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
