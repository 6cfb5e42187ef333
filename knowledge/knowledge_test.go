package knowledge

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
)

// Base combines several queries: the files around a file, all data of a file, and an overview of the repository.
func TestBase(t *testing.T) {
	p := newPlace(t, sample)
	p.index()
	b, repo := p.base()
	ctx := t.Context()
	id := func(path string) int64 {
		f, found, err := b.FileByPath(ctx, repo, path)
		if err != nil || !found {
			t.Fatalf("%s: %v %v", path, found, err)
		}
		return f.ID
	}
	for depth, want := range []string{"app/base.py", "app/base.py app/core.py",
		"app/__init__.py app/base.py app/core.py app/models.py app/util.py tests/test_core.py"} {
		g, err := b.DependencySubgraph(ctx, []int64{id("app/base.py")}, depth)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		in := map[int64]bool{}
		for _, f := range g.Files {
			paths = append(paths, f.Path)
			in[f.ID] = true
		}
		if d := cmp.Diff(want, strings.Join(paths, " ")); d != "" {
			t.Errorf("depth %d: %s", depth, d)
		}
		for _, e := range g.Edges {
			if !in[e.Source] || !in[e.Target] {
				t.Errorf("depth %d: edge %+v leads out", depth, e)
			}
		}
	}
	c, err := b.FileContext(ctx, id("app/core.py"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Symbols) != 6 || len(c.Docstrings) != 1 || len(c.Rationale) != 1 || len(c.Imports) != 3 ||
		len(c.ImportedBy) != 2 || len(c.Commits) != 1 || c.Metadata != nil {
		t.Errorf("%+v", c)
	}
	if c.Docstrings[0].Format != "google" ||
		c.Docstrings[0].Fields != `{"summary":"Runs.","params":[{"name":"size","type":"int","text":"how many"}]}` {
		t.Errorf("%+v", c.Docstrings)
	}
	o, err := b.RepoOverview(ctx, repo)
	if err != nil || o.Files != 12 || o.Languages[0] != (store.Tally{Name: "python", Count: 6}) ||
		o.MostConnected[0] != (store.Tally{Name: "app/core.py", Count: 5}) || len(o.Domains) != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	if files, err := b.FilesByMetadata(ctx, repo, "", "", nil); err != nil || len(files) != 0 {
		t.Errorf("without enrichment: %v, %v", files, err)
	}
	if x, err := b.FileContext(ctx, 4711); err != nil || x.File.ID != 0 {
		t.Errorf("an unknown file: %+v, %v", x, err)
	}
}

// parseLog passes the output of git log to the reader in pieces of the given size.
func parseLog(out string, size int) ([]store.Touched, error) {
	l := newLogReader(newFeed(context.Background()), withNumbers)
	for len(out) > 0 {
		n := min(size, len(out))
		if _, err := l.Write([]byte(out[:n])); err != nil {
			return nil, err
		}
		out = out[n:]
	}
	l.to.end(l.close())
	var all []store.Touched
	var count int
	for c, err := range l.to.all(&count) {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func TestParseLog(t *testing.T) {
	hash := strings.Repeat("a", 40)
	out := "\x01" + hash + "\x00A\x01da\x001700000000\x00\x00\x00" +
		"\x01" + strings.Repeat("b", 40) + "\x00Bo\x001700000060\x00Two\n\nlines\n\x00\x00\n1\t2\ta.py\x00-\t-\tpic.png\x00"
	want := []store.Touched{
		{Commit: store.Commit{Hash: hash, Author: "A\x01da", Time: "2023-11-14T22:13:20Z",
			Insertions: new(0), Deletions: new(0)}},
		{Commit: store.Commit{Hash: strings.Repeat("b", 40), Author: "Bo", Message: "Two\n\nlines",
			Time: "2023-11-14T22:14:20Z", Files: 2, Insertions: new(1), Deletions: new(2)}, Paths: []string{"a.py", "pic.png"},
			Words: "two line"},
	}
	for _, size := range []int{1, 7, len(out)} {
		got, err := parseLog(out, size)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	if got, err := parseLog(strings.Repeat(out, feedStep), 100); err != nil || len(got) != 2*feedStep {
		t.Errorf("%d commits of %d, %v", len(got), 2*feedStep, err)
	}
	for _, bad := range []string{"hello", "\x01short\x00a\x001\x00m\x00", "\x01" + hash + "\x00a\x00soon\x00m\x00",
		"1\t2\ta.py\x00"} {
		if _, err := parseLog(bad, 9); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestPlainRemote(t *testing.T) {
	for in, want := range map[string]string{
		"https://me:secret@example.org/x.git": "https://example.org/x.git", "git@example.org:x.git": "git@example.org:x.git",
		"https://example.org/a@b": "https://example.org/a@b", "": "",
	} {
		if got := plainRemote(in); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// Imports resolve to files by the rules of each language.
func TestImportsResolveByLanguage(t *testing.T) {
	ids := map[string]int64{}
	for i, p := range strings.Fields(
		"a/__init__.py a/b.py a/b/__init__.py a/c/d.py src/e.py tool/x.py tool/y.py stub.pyi w/index.ts w/n.tsx w/o.d.ts " +
			"w/p.js lib/pkg/src/index.ts lib/pkg/src/sub.ts") {
		ids[p] = int64(i + 1)
	}
	l := newLayout(t.TempDir(), nil, ids)
	l.setting("lib/pkg/package.json", []byte(`{"name": "@me/pkg"}`))
	l.setting("w/tsconfig.json",
		[]byte(
			"{ // why\n\"compilerOptions\": {\"baseUrl\": \".\", \"paths\": {\"#/*\": [\"../lib/pkg/src/*\", \"*\"], "+
				"\"#/s*b\": [\"p\"],},},}"))
	name := map[int64]string{0: "none"}
	for p, id := range ids {
		name[id] = p
	}
	for _, tc := range []struct {
		from  string
		level int
		spec  string
		want  string
	}{
		{"tool/x.py", 0, "y", "tool/y.py"}, {"tool/x.py", 0, "a.b", "a/b/__init__.py"}, {"tool/x.py", 0, "a.c.d", "a/c/d.py"},
		{"tool/x.py", 0, "e", "src/e.py"},
		{"a/b.py", 1, "b", "a/b/__init__.py"}, {"a/b.py", 1, "", "a/__init__.py"}, {"a/b/__init__.py", 2, "c.d", "a/c/d.py"},
		{"a/b.py", 9, "x", "none"},
		{"a/b.py", 0, "stub", "stub.pyi"}, {"a/b.py", 0, "os", "none"}, {"a/b.py", 0, "y", "none"},
	} {
		if got := name[l.pyModule(tc.from, tc.level, tc.spec).file]; got != tc.want {
			t.Errorf("%s imports %d %s: %s, want %s", tc.from, tc.level, tc.spec, got, tc.want)
		}
	}
	for _, tc := range [][3]string{
		{"w/p.js", "./n", "w/n.tsx"}, {"w/p.js", "./n.js", "w/n.tsx"}, {"w/p.js", ".", "w/index.ts"},
		{"w/p.js", "./o", "w/o.d.ts"}, {"w/p.js", "p", "w/p.js"},
		{"w/p.js", "#/sub", "w/p.js"}, {"w/p.js", "#/index", "lib/pkg/src/index.ts"},
		{"w/p.js", "@me/pkg", "lib/pkg/src/index.ts"}, {"w/p.js", "@me/pkg/sub", "lib/pkg/src/sub.ts"},
		{"w/p.js", "react", "none"}, {"w/p.js", "../../../x", "none"}, {"w/p.js", "./n?raw", "w/n.tsx"},
		{"a/x.js", "p", "none"},
	} {
		if got := name[l.script(tc[0], tc[1])]; got != tc[2] {
			t.Errorf("%s imports %s: %s, want %s", tc[0], tc[1], got, tc[2])
		}
	}
}

// Resolving any import terminates and returns an existing file or none.
func FuzzResolve(f *testing.F) {
	f.Add("a/b.py", "c.d", 1, `{"compilerOptions": {"paths": {"@/*": ["x/*"]}}}`)
	f.Add("x.ts", "../..//./@/y", -3, `{"name": "@/y", "main": "../../.."}`)
	f.Add("/", "", 99, "module x\n")
	f.Fuzz(func(t *testing.T, from, spec string, level int, setting string) {
		ids := map[string]int64{"a/b.py": 1, "a/__init__.py": 2, "c/index.ts": 3, "d/e.go": 4}
		l := newLayout(t.TempDir(), nil, ids)
		for _, name := range []string{"tsconfig.json", "package.json", "go.mod", "a/package.json"} {
			l.setting(name, []byte(setting))
		}
		if from == "" || strings.HasPrefix(from, "/") || strings.Contains(from, "..") {
			from = "a/b.py" // paths of an index are relative and clean
		}
		if id := l.pyModule(from, min(level, 1000), spec).file; id < 0 || id > 4 {
			t.Errorf("file %d", id)
		}
		l.script(from, spec)
		if dir, ok := l.goDir(spec); ok && dir != "d" {
			t.Errorf("folder %q", dir)
		}
		parseLog(spec, 3)
		refsOf(spec)
		hasParameter(setting, spec)
	})
}
