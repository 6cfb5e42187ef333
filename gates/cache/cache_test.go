package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/gatetest"
	"github.com/runplan/runplan/internal/git"
)

func counting(info gates.Info, findings ...gates.Finding) (gates.Gate, *int) {
	n := new(int)
	return gates.New(info, func(_ context.Context, l *gates.Look) error {
		*n++
		for _, f := range findings {
			l.Find(f)
		}
		return nil
	}), n
}

func TestWhatIsKept(t *testing.T) {
	bad := gates.Finding{Rule: "r", Severity: gates.Error, Message: "m"}
	tests := map[string]struct {
		info     gates.Info
		findings []gates.Finding
		times    int
	}{
		"a pure gate that passes":     {gates.Info{Name: "lint", Pure: true}, nil, 1},
		"a pure gate that fails":      {gates.Info{Name: "lint", Pure: true}, []gates.Finding{bad}, 1},
		"a gate that does not say so": {gates.Info{Name: "custom"}, nil, 2},
		"tests that pass":             {gates.Info{Name: "tests:go", Pure: true}, nil, 1},
		"tests that fail":             {gates.Info{Name: "tests:go", Pure: true}, []gates.Finding{bad}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, n := counting(tt.info, tt.findings...)
			k := Around(g, Store{filepath.Join(t.TempDir(), "s")}, "here")
			s := gates.Subject{Dir: t.TempDir(), Tree: "abc"}
			first, err := k.Check(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			second, err := k.Check(t.Context(), s)
			if err != nil || second.Status != first.Status || len(second.Findings) != len(first.Findings) {
				t.Errorf("%+v, then %+v %v", first, second, err)
			}
			if *n != tt.times {
				t.Errorf("asked %d times, want %d", *n, tt.times)
			}
			if kept := strings.HasPrefix(second.Note, Note); kept != (tt.times == 1) {
				t.Errorf("note %q", second.Note)
			}
		})
	}
}

// Whatever an answer follows from is in the key, and a tree that is not known has none.
func TestKey(t *testing.T) {
	info := gates.Info{Name: "lint"}
	base := gates.Subject{Tree: "t", Base: "b", Changed: []string{"x"}}
	keys := map[string]string{"base": Key(info, base, "s")}
	add := func(name, key string) {
		for other, k := range keys {
			if k == key {
				t.Errorf("%s has the key of %s", name, other)
			}
		}
		keys[name] = key
	}
	for name, change := range map[string]func(*gates.Subject){
		"tree":    func(s *gates.Subject) { s.Tree = "u" },
		"commit":  func(s *gates.Subject) { s.Base = "c" },
		"changed": func(s *gates.Subject) { s.Changed = []string{"y"} },
		"nothing": func(s *gates.Subject) { s.Changed = []string{} },
		"all":     func(s *gates.Subject) { s.Changed = nil },
		"batch":   func(s *gates.Subject) { s.Batch.Title = "z" },
		"counts":  func(s *gates.Subject) { s.Before = &gates.TestCount{Passed: 1} },
		"literal": func(s *gates.Subject) { s.Literal = true },
	} {
		s := base
		change(&s)
		add(name, Key(info, s, "s"))
	}
	add("gate", Key(gates.Info{Name: "lint", Command: "x"}, base, "s"))
	add("surroundings", Key(info, base, "r"))
	if k := Key(info, gates.Subject{}, "s") + Key(info, base, ""); k != "" {
		t.Error("an unknown tree has a key", k)
	}
}

func TestBrokenEntriesAreMisses(t *testing.T) {
	s := Store{t.TempDir()}
	if err := s.Put("k", gates.Report{Gate: "g", Status: gates.Pass}); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Get("k"); !ok {
		t.Fatal("it is not there")
	}
	for _, text := range []string{"", "{", `{"version":99,"report":{"status":"pass"}}`, `{"version":1,"report":{"status":"error"}}`, `{"version":1,"report":{"status":"skipped"}}`} {
		if err := os.WriteFile(s.file("k"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r, ok := s.Get("k"); ok {
			t.Errorf("%s is read as %+v", text, r)
		}
	}
	for i := range mostKept + 10 {
		if err := s.Put(fmt.Sprint(i), gates.Report{Gate: "g", Status: gates.Pass}); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > mostKept {
		t.Errorf("%d entries are kept (%v)", len(left), err)
	}
}

func TestSurroundings(t *testing.T) {
	subject := gatetest.Change(t, nil, map[string]string{"a.txt": "a", ".gitignore": ".env\nout/\n"})
	repo, err := git.Open(t.Context(), subject.Dir, subject.Env)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	env := []string{"PATH=" + bin, "A=1", "PWD=/x"}
	here := func(env []string, more ...string) string {
		t.Helper()
		sum, err := Surroundings(t.Context(), repo, subject.Tree, "", env, more)
		if err != nil || sum == "" {
			t.Fatal(sum, err)
		}
		return sum
	}
	put := func(at string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first := here(env)
	if here(slices.Concat(env, []string{"SSH_TTY=1", "OLDPWD=/"})) != first {
		t.Error("a variable that means nothing counts")
	}
	put(filepath.Join(subject.Dir, "out", "x.json"))
	if here(env) != first {
		t.Error("what a build leaves counts")
	}
	if here([]string{"PATH=" + bin, "A=2"}) == first || here(env, "m") == first {
		t.Error("a variable, or what the caller knows, does not count")
	}
	put(filepath.Join(subject.Dir, ".env"))
	second := here(env)
	if second == first {
		t.Error("a setting that git does not know does not count")
	}
	put(filepath.Join(bin, "ruff"))
	if here(env) == second {
		t.Error("a program that was installed does not count")
	}
}

// A tree that does not say all, or that brings answers along, is looked at each time.
func TestNoStoreForSuchTrees(t *testing.T) {
	subject := gatetest.Change(t, nil, map[string]string{".runplan/cache/gates/x.json": "{}"})
	repo, err := git.Open(t.Context(), subject.Dir, subject.Env)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := Surroundings(t.Context(), repo, subject.Tree, "", nil, nil); err != nil || sum != "" {
		t.Error(sum, err)
	}
}
