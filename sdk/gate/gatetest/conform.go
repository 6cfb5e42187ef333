package gatetest

import (
	"context"
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

	"github.com/runplan/runplan/sdk/gate"
)

// Conform checks what runplan requires of every gate: it does not change the tree, its report is well formed and free of
// control codes, and it stops soon after it was cancelled. make makes the gate, again for each check; c is a case that
// the gate can check.
func Conform(t *testing.T, c Case, make func() gate.Gate) {
	t.Helper()
	run := func(name string, check func(t *testing.T, g gate.Gate, h *host, s gate.Subject)) {
		t.Run(name, func(t *testing.T) {
			g := make()
			h := serve(t, g, c.Settings)
			if err := h.info(t.Context()); err != nil {
				t.Fatalf("it rejects the settings of the case: %v", err)
			}
			check(t, g, h, c.subject(t))
		})
	}
	run("info", info)
	run("report", report)
	run("cancelled", func(t *testing.T, g gate.Gate, _ *host, s gate.Subject) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, _ = g.Check(ctx, s); time.Since(began) > 15*time.Second {
			t.Errorf("it took %v to stop", time.Since(began))
		}
	})
}

func info(t *testing.T, g gate.Gate, _ *host, _ gate.Subject) {
	in := g.Info()
	if in.Name == "" || strings.TrimSpace(in.Name) != in.Name || !printable(in.Name) || strings.Contains(in.Name, "\n") {
		t.Errorf("the name %q does not fit on one line", in.Name)
	}
	if !slices.Contains([]gate.Kind{"", gate.Static, gate.LLM}, in.Kind) {
		t.Errorf("kind is %q", in.Kind)
	}
	if !slices.Contains([]gate.Cost{"", gate.Instant, gate.Cheap, gate.Costly, gate.Dear}, in.Cost) {
		t.Errorf("cost is %q", in.Cost)
	}
	if d := cmp.Diff(in, g.Info()); d != "" {
		t.Errorf("its second Info differs from the first:\n%s", d)
	}
}

func report(t *testing.T, _ gate.Gate, h *host, s gate.Subject) {
	before := snapshot(t, s.Dir)
	rep, err := h.check(t.Context(), s)
	if err != nil {
		t.Fatalf("it could not run: %v", err)
	}
	if d := cmp.Diff(before, snapshot(t, s.Dir)); d != "" {
		t.Errorf("it changed the tree:\n%s", d)
	}
	if rep.Status == gate.Skipped && rep.Note == "" {
		t.Error("it was skipped without a reason")
	}
	blocks := slices.ContainsFunc(rep.Findings, func(f gate.Finding) bool { return f.Severity == gate.Error })
	if blocks != (rep.Status == gate.Fail) {
		t.Errorf("status is %s; a finding at severity error: %v", rep.Status, blocks)
	}
	if c := rep.Tests; c != nil && (c.Passed < 0 || c.Failed < 0 || c.Skipped < 0) {
		t.Errorf("counts are %+v", *c)
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
}

func finding(t *testing.T, f gate.Finding) {
	t.Helper()
	if f.Rule == "" || f.Message == "" {
		t.Errorf("a finding without rule or message: %+v", f)
	}
	if f.Severity == "" {
		t.Errorf("a finding without a severity that runplan knows: %+v", f)
	}
	if f.Path != "" && (!fs.ValidPath(f.Path) || strings.Contains(f.Path, `\`)) {
		t.Errorf("path is %q, want one relative to the tree, with slashes", f.Path)
	}
	if f.Line < 0 || f.Col < 0 || (f.Path == "" && f.Line > 0) {
		t.Errorf("position is %q:%d:%d", f.Path, f.Line, f.Col)
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
		out[p] = fi.Mode().String() + "\n" + string(data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
