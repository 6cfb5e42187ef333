package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/tools/gatetest"
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

func TestOnlyPureAnswersAreCached(t *testing.T) {
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
			k := Around(g, Store{Dir: filepath.Join(t.TempDir(), "s")}, "here")
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

// The key covers everything that an answer depends on, and a subject without a known tree has no key.
func TestKey(t *testing.T) {
	info := gates.Info{Name: "lint"}
	base := gates.Subject{Tree: "t", Base: "b", Changed: []string{"x"}}
	keys := map[string]string{"base": Key(info, base, "s")}
	add := func(name, key string) {
		for other, k := range keys {
			if k == key {
				t.Errorf("%s and %s have the same key", name, other)
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

// A gate may read any field of a batch, so batches that differ in any field have different keys.
func TestKeyCoversBatchFields(t *testing.T) {
	info := gates.Info{Name: "secrets"}
	key := func(s gates.Subject) string { return Key(info, s, "s") }
	var s gates.Subject
	s.Tree = "t"
	full := reflect.ValueOf(&s.Batch).Elem()
	fill(full)
	again := s
	again.Batch = planparse.Batch{}
	fill(reflect.ValueOf(&again.Batch).Elem())
	before := key(s)
	if key(again) != before {
		t.Error("batches that are the same have different keys")
	}
	n := 0
	each(t, "Batch", full, func(at string, v reflect.Value) {
		n++
		old := reflect.ValueOf(v.Interface())
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "\n")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Slice:
			v.Set(v.Slice(0, 0))
		default:
			t.Fatalf("%s is a %s: see to it that keys tell it apart", at, v.Kind())
		}
		if key(s) == before {
			t.Errorf("%s does not count", at)
		}
		if v.Set(old); key(s) != before {
			t.Fatalf("%s: the old value gives another key", at)
		}
	})
	if n < 30 {
		t.Errorf("only %d fields were tried", n)
	}
}

// fill gives each list in v one element, recursively.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	}
}

// each calls do for each value in v that may change.
func each(t *testing.T, at string, v reflect.Value, do func(at string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			each(t, at+"."+v.Type().Field(i).Name, v.Field(i), do)
		}
	case reflect.Pointer:
		each(t, at, v.Elem(), do)
	case reflect.Slice:
		do(at, v)
		each(t, at+"[0]", v.Index(0), do)
	default:
		do(at, v)
	}
}

func TestBrokenEntriesAreMisses(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if err := s.Put("k", gates.Report{Gate: "g", Status: gates.Pass}); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Get("k"); !ok {
		t.Fatal("it is not there")
	}
	for _, text := range []string{"", "{", `{"version":99,"report":{"status":"pass"}}`,
		`{"version":1,"report":{"status":"error"}}`, `{"version":1,"report":{"status":"skipped"}}`} {
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

// The digest covers everything except the tree that affects answers, and nothing irrelevant.
func TestSurroundings(t *testing.T) {
	root, bin, home := t.TempDir(), t.TempDir(), t.TempDir()
	put := func(at, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, tool := filepath.Join(bin, "runplan"), filepath.Join(root, "tools", "ast-grep")
	put(self, "1")
	put(tool, "1")
	place := func() Place {
		return Place{
			Root: root, Roots: []string{"web"}, Ignored: []string{".env", "out/", "local.toml"}, Self: self,
			Programs: []string{tool},
			Env:      []string{"PATH=" + bin, "HOME=" + home, "A=1", "PWD=/x"}, More: []string{"m"},
		}
	}
	now := Surroundings(place())
	for name, change := range map[string]func(*Place){
		"a variable that means nothing":       func(p *Place) { p.Env = append(p.Env, "SSH_TTY=1", "OLDPWD=/") },
		"what a build leaves":                 func(*Place) { put(filepath.Join(root, "out", "x.json"), "x") },
		"a file that git ignores, of no kind": func(p *Place) { p.Ignored = append(p.Ignored, "x.o") },
		"the order of what git ignores":       func(p *Place) { slices.Reverse(p.Ignored) },
	} {
		p := place()
		if change(&p); Surroundings(p) != now {
			t.Errorf("%s counts", name)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Place)
	}{
		{"a variable", func(p *Place) { p.Env[2] = "A=2" }},
		{"a variable more", func(p *Place) { p.Env = append(p.Env, "B=") }},
		{"two variables that look like one of two lines", func(p *Place) { p.Env = append(p.Env[:2], "A=1\nB=2") }},
		{"what the caller knows", func(p *Place) { p.More[0] = "n" }},
		{"more that the caller knows", func(p *Place) { p.More = append(p.More, "m") }},
	} {
		p := place()
		if c.change(&p); Surroundings(p) == now {
			t.Errorf("%s does not count", c.name)
		}
	}
	// These changes accumulate: each digest has to differ from all earlier ones.
	seen := map[string]string{now: "before"}
	for _, c := range []struct{ name, file string }{
		{"this program", self},
		{"a program that the configuration names", tool},
		{"a program that was installed", filepath.Join(bin, "ruff")},
		{"a setting that git does not know", filepath.Join(root, ".env")},
		{"another one", filepath.Join(root, "local.toml")},
		{"packages of node", filepath.Join(root, "node_modules", ".package-lock.json")},
		{"packages of node in a project below", filepath.Join(root, "web", "node_modules", ".package-lock.json")},
		{"an environment of python", filepath.Join(root, ".venv", "pyvenv.cfg")},
		{"packages of python", filepath.Join(root, ".venv", "lib", "python3", "site-packages", "x", "x.py")},
		{"settings of go", filepath.Join(home, ".config", "go", "env")},
		{"the version of python", filepath.Join(home, ".pyenv", "version")},
	} {
		put(c.file, "longer than before: "+c.name)
		sum := Surroundings(place())
		if other, ok := seen[sum]; ok {
			t.Errorf("%s does not count: as %s", c.name, other)
		}
		seen[sum] = c.name
	}
	if err := os.Chtimes(self, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, ok := seen[Surroundings(place())]; ok {
		t.Error("a new date of the program does not change the key")
	}
}

// Answers are kept only for complete trees, which contain no submodule and no committed store. The store records that
// a tree is complete.
func TestOnlyCompleteTreesAreCached(t *testing.T) {
	sub := gatetest.Change(t, nil, map[string]string{"a": "a"})
	for name, tt := range map[string]struct {
		files    map[string]string
		index    string // an entry more
		complete bool
	}{
		"plain":                     {map[string]string{"a.txt": "a"}, "", true},
		"a store was committed":     {map[string]string{".runplan/cache/gates/x.json": "{}"}, "", false},
		"a submodule":               {map[string]string{"a.txt": "a"}, "160000," + sub.Base + ",sub", false},
		"a name like that of store": {map[string]string{"x/.runplan/cache/gates/x.json": "{}"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			subject := gatetest.Change(t, nil, tt.files)
			repo, err := git.Open(t.Context(), subject.Dir, subject.Env)
			if err != nil {
				t.Fatal(err)
			}
			tree := subject.Tree
			if tt.index != "" {
				if _, err := repo.Run(t.Context(), "update-index", "--add", "--cacheinfo", tt.index); err != nil {
					t.Fatal(err)
				}
				if tree, err = repo.Run(t.Context(), "write-tree"); err != nil {
					t.Fatal(err)
				}
			}
			s := Store{Dir: filepath.Join(t.TempDir(), "s")}
			for range 2 {
				if ok, err := s.Complete(t.Context(), repo, tree); err != nil || ok != tt.complete {
					t.Error(ok, err)
				}
			}
			notes, err := filepath.Glob(filepath.Join(s.Dir, "*"))
			if err != nil || (len(notes) == 1) != tt.complete {
				t.Error("notes:", notes, err)
			}
			if ok, err := (Store{}).Complete(t.Context(), repo, tree); err != nil || ok != tt.complete {
				t.Error("without a store:", ok, err)
			}
		})
	}
}

// A gate is known if the store has its answer for exactly this subject.
func TestKnown(t *testing.T) {
	g, _ := counting(gates.Info{Name: "lint", Pure: true})
	s := gates.Subject{Dir: t.TempDir(), Tree: "abc"}
	k := Around(g, Store{Dir: filepath.Join(t.TempDir(), "s")}, "here")
	if Known(k, s) || Known(g, s) {
		t.Error("the result is known before the gate ran")
	}
	if _, err := k.Check(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	other := s
	other.Tree = "def"
	if !Known(k, s) || Known(k, other) || Known(g, s) {
		t.Error(Known(k, s), Known(k, other), Known(g, s))
	}
}
