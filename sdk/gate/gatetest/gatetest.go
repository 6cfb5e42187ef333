// Package gatetest tests a gate without a separate process, with a small tree and the expected findings.
//
//	rep := gatetest.Look(t, &todo{}, gatetest.Case{Files: map[string]string{"a.go": "// TODO: later\n"}})
//	gatetest.Want(t, rep, gate.Fail, "a.go:1:4: error todo-owner: this TODO has no owner")
//
// Each call goes through the protocol, so a gate that passes here works in runplan. [Run] does the same for a folder of
// txtar archives, and [Conform] checks what runplan requires of every gate.
package gatetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/runplan/runplan/sdk/gate"
)

// Case is a tree and the state in which a gate checks it.
type Case struct {
	Files    map[string]string // contents by path; a path that ends in ! is executable
	Dir      string            // an existing tree instead of Files
	Settings map[string]any
	Changed  []string // nil: all files
	Unknown  bool     // the changed files are unknown, so the gate has to check the whole tree
	Base     string
	Batch    *gate.Batch
	Before   *gate.TestCount
}

// Look runs g on the case. A gate that could not run fails the test; see [Refusal].
func Look(t testing.TB, g gate.Gate, c Case) gate.Report {
	t.Helper()
	rep, err := c.look(t, g)
	if err != nil {
		t.Fatalf("the gate could not run: %v", err)
	}
	return rep
}

// Refusal runs g on the case and returns why it could not run. The cause may be its settings or the tree.
func Refusal(t testing.TB, g gate.Gate, c Case) error {
	t.Helper()
	rep, err := c.look(t, g)
	if err == nil {
		t.Fatalf("the gate ran and reported: %s", strings.Join(Lines(rep), "\n"))
	}
	return err
}

// Want checks status and findings of rep. A finding has the form of [Lines].
func Want(t testing.TB, rep gate.Report, status gate.Status, findings ...string) {
	t.Helper()
	want := append([]string{string(status)}, findings...)
	if diff := cmp.Diff(want, Lines(rep)); diff != "" {
		t.Errorf("the report differs (-want +got):\n%s", diff)
	}
}

// Lines formats a report: its status, then each finding as PATH:LINE:COL: SEVERITY RULE: MESSAGE. It omits zero
// values.
func Lines(rep gate.Report) []string {
	out := []string{string(rep.Status)}
	for _, f := range rep.Findings {
		at := f.Path
		for _, n := range []int{f.Line, f.Col} {
			if n > 0 {
				at += fmt.Sprintf(":%d", n)
			}
		}
		if at != "" {
			at += ": "
		}
		out = append(out, fmt.Sprintf("%s%s %s: %s", at, f.Severity, f.Rule, f.Message))
	}
	return out
}

// Run runs each archive *.txtar in dir as a test. Its files are the tree, except for those whose names begin with @:
//
//	-- @settings --   a JSON object
//	-- @changed --    the changed paths, one a line; without it all files have changed
//	-- @want --       the lines that the report is to have, or "refused: TEXT" for a gate that cannot look
//
// make makes the gate, again for each archive.
func Run(t *testing.T, dir string, make func() gate.Gate) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatalf("no archive *.txtar in %s", dir)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { archive(t, name, make()) })
	}
}

func archive(t *testing.T, name string, g gate.Gate) {
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Files: map[string]string{}}
	var want []string
	for _, f := range ar.Files {
		switch text := string(f.Data); {
		case f.Name == "@settings":
			if err := json.Unmarshal(f.Data, &c.Settings); err != nil {
				t.Fatalf("%s: @settings: %v", name, err)
			}
		case f.Name == "@changed":
			c.Changed = lines(text)
		case f.Name == "@want":
			want = lines(text)
		case strings.HasPrefix(f.Name, "@"):
			t.Fatalf("%s: unknown section %s; sections are @settings, @changed and @want", name, f.Name)
		default:
			c.Files[f.Name] = text
		}
	}
	if len(want) == 0 {
		t.Fatalf("%s: it has no @want, so it tests nothing", name)
	}
	if text, ok := strings.CutPrefix(want[0], "refused: "); ok {
		if err := Refusal(t, g, c); !strings.Contains(err.Error(), text) {
			t.Errorf("it could not run: %q, want %q", err, text)
		}
		return
	}
	Want(t, Look(t, g, c), gate.Status(want[0]), want[1:]...)
}

func lines(text string) []string {
	out := []string{}
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// Tree writes files to a new folder and returns it. A path that ends in ! is executable.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if n, ok := strings.CutSuffix(name, "!"); ok {
			name, mode = n, 0o755
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			t.Fatalf("%s is not in the tree", name)
		}
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// look configures g as runplan does at the start, and has it check the case.
func (c Case) look(t testing.TB, g gate.Gate) (gate.Report, error) {
	t.Helper()
	h := serve(t, g, c.Settings)
	if err := h.info(t.Context()); err != nil {
		return gate.Report{}, err
	}
	return h.check(t.Context(), c.subject(t))
}

func (c Case) subject(t testing.TB) gate.Subject {
	t.Helper()
	s := gate.Subject{Dir: c.Dir, Base: c.Base, Changed: c.Changed, Batch: c.Batch, Before: c.Before}
	if s.Dir == "" {
		s.Dir = Tree(t, c.Files)
	}
	switch {
	case c.Unknown:
		s.Changed = nil
	case s.Changed == nil:
		s.Changed = []string{}
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			s.Changed = append(s.Changed, strings.TrimSuffix(name, "!"))
		}
	}
	return s
}
