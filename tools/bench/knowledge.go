package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

//go:embed knowledge_ast.py
var compareWithAst string

// knowledge measures the index: a cold one against ast-grep's own scan of the same files with the same rules, one
// changed file among many, memory, and the history against git log. It compares what is found with Python's own ast
// and with go/parser; the differences are printed as notes.
func (b *bench) knowledge() error {
	program, err := patterns.Find(context.Background(), b.place.Env, "")
	if errors.Is(err, patterns.ErrMissing) {
		b.notes = append(b.notes, "knowledge: NOT MEASURED: "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range []func(patterns.Program) error{b.pythonLibrary, b.goLibrary, b.oneOfMany, b.historyPass} {
		if err := m(program); err != nil {
			return err
		}
	}
	return nil
}

// indexed holds the cost of one indexing.
type indexed struct {
	took, cpu time.Duration // cpu with all children
	rss       int64
	result    struct {
		Changed int `json:"files_changed"`
		Commits int `json:"commits_read"`
		Millis  int `json:"duration_ms"`
	}
}

func (b *bench) indexRun(dir string, cold bool) (indexed, error) {
	if cold {
		os.RemoveAll(filepath.Join(dir, ".runplan"))
	}
	cmd := b.place.Command(dir, b.place.Runplan, "index", "--continue-on-error", "--json")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return indexed{}, fmt.Errorf("runplan index: %w\n%s", err, errOut.String())
	}
	x := indexed{took: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	x.rss = int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
	return x, json.Unmarshal(out.Bytes(), &x.result)
}

// commit makes a repository of a folder.
func (b *bench) commitAll(dir string) error {
	for _, args := range [][]string{{"init", "-q", "."}, {"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=b@example.org", "commit", "-q", "-m", "all"}} {
		if _, err := b.place.Git(dir, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) pythonLibrary(p patterns.Program) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.notes = append(b.notes, "knowledge: Python's library was NOT MEASURED: there is no python3")
		return nil
	}
	out, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	if err != nil {
		return fmt.Errorf("run python3 to find its library: %w", err)
	}
	dir := filepath.Join(b.place.Dir, "python-library")
	lib := strings.TrimSpace(string(out))
	if b.quick {
		lib = filepath.Join(lib, "asyncio")
	}
	copyCmd := "mkdir -p \"$2\" && cd \"$1\" && find . -name site-packages -prune -o -name __pycache__ -prune -o -name " +
		"'*.py' -type f -print0 | xargs -0 cp --parents -t \"$2\""
	if out, err := exec.Command("sh", "-c", copyCmd, "sh", lib, dir).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w\n%s", lib, err, out)
	}
	if err := b.commitAll(dir); err != nil {
		return err
	}
	files, _, err := patterns.Files(context.Background(), b.place.Env, dir)
	if err != nil {
		return err
	}
	conf, rules := filepath.Join(b.place.Dir, "sgconfig.yml"), filepath.Join(b.place.Dir, "rules.yml")
	if err := errors.Join(os.WriteFile(conf, []byte("ruleDirs: []\n"), 0o600),
		os.WriteFile(rules, []byte(outline.Rules(outline.Python)), 0o600)); err != nil {
		return err
	}
	args := append([]string{"scan", "--config", conf, "--rule", rules, "--json=stream", "--"}, files...)
	var ours, floor, ratio, cpu []float64
	var peak, theirs int64
	for range b.of(3, 3) {
		cmd := b.place.Command(dir, p.Path, args...)
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("ast-grep: %w", err)
		}
		fl := time.Since(began)
		theirs = max(theirs, int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)<<10)
		x, err := b.indexRun(dir, true)
		if err != nil {
			return err
		}
		peak = max(peak, x.rss)
		ours, floor, ratio = append(ours, float64(x.took)), append(floor, float64(fl)),
			append(ratio, float64(x.took)/float64(fl))
		cpu = append(cpu, float64(x.cpu)/float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
	}
	name := fmt.Sprintf("index of %d Python files", len(files))
	b.add("cold "+name+" (ast-grep)", ms(median(ours)), ms(median(floor)), median(ratio), 1.5)
	b.notes = append(b.notes,
		fmt.Sprintf("The same in CPU time, all processes together: %.2f times that of ast-grep.", median(cpu)))
	mib := func(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
	b.figures = append(b.figures,
		figure{"peak memory, cold " + name + " (ast-grep)", mib(peak), mib(theirs),
			fmt.Sprintf("%.2f", float64(peak)/float64(theirs)), "≤ 256 MiB", peak <= 256<<20})
	if err := b.sizeOnDisk(dir, files); err != nil {
		return err
	}
	return b.compareAst(python, dir)
}

// sizeOnDisk compares the size of the index, with its full text, with that of its source files.
func (b *bench) sizeOnDisk(dir string, files []string) error {
	var source, index int64
	for _, f := range files {
		if fi, err := os.Stat(filepath.Join(dir, f)); err == nil {
			source += fi.Size()
		}
	}
	for _, end := range []string{"", "-wal"} {
		if fi, err := os.Stat(filepath.Join(dir, ".runplan", "curated.sqlite"+end)); err == nil {
			index += fi.Size()
		}
	}
	mib := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	b.figures = append(b.figures,
		figure{what: "index on disk, with full text (the files)", value: mib(index), floor: mib(source),
			ratio: fmt.Sprintf("%.2f", float64(index)/float64(max(1, source)))})
	return nil
}

// compareAst compares with Python's own parser on the same files.
func (b *bench) compareAst(python, dir string) error {
	table, err := definitions(dir, "python")
	if err != nil {
		return err
	}
	cmd := exec.Command(python, "-W", "ignore", "-c", compareWithAst, dir)
	cmd.Stdin = strings.NewReader(table)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("compare with ast: %w\n%s", err, errOut.String())
	}
	var r struct {
		Total, Missing, Shifted, Extra int
		Notes                          []string
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return fmt.Errorf("compare with ast: %w", err)
	}
	b.figures = append(b.figures, figure{
		what: "functions and classes found (ast)", value: fmt.Sprint(r.Total - r.Missing), floor: fmt.Sprint(r.Total),
		ratio: fmt.Sprintf("%.5f", 1-float64(r.Missing)/float64(max(r.Total, 1))), goal: "all, but 0.01 %",
		met: r.Missing*10000 <= r.Total && r.Extra == 0,
	})
	b.notes = append(b.notes,
		fmt.Sprintf("Compared with ast: %d missing, %d under another parent, %d wrong.", r.Missing, r.Shifted, r.Extra))
	b.notes = append(b.notes, r.Notes...)
	return nil
}

// definitions returns the symbols of the index as lines: path, kind, qualified name, line.
func definitions(dir, language string) (string, error) {
	ctx := context.Background()
	r, err := store.OpenCuratedReader(ctx, filepath.Join(dir, ".runplan", "curated.sqlite"))
	if err != nil {
		return "", err
	}
	defer r.Close()
	files, err := r.Files(ctx, 1, language)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%s\t%s\t%s\t0\n", f.Path, f.State, f.Reason)
		symbols, err := r.Symbols(ctx, f.ID, "")
		if err != nil {
			return "", err
		}
		byID := map[int64]store.Symbol{}
		for _, s := range symbols {
			byID[s.ID] = s
		}
		for _, s := range symbols {
			name := s.Name
			for p := s.Parent; p != 0; p = byID[p].Parent {
				name = byID[p].Name + "." + name
			}
			fmt.Fprintf(&text, "%s\t%s\t%s\t%d\n", f.Path, s.Kind, name, s.Start)
		}
	}
	return text.String(), nil
}

// goLibrary compares with go/parser: its declarations, counted by file, kind, name and line.
func (b *bench) goLibrary(patterns.Program) error {
	src, name, err := b.goSource()
	if err != nil {
		return err
	}
	dir := filepath.Join(b.place.Dir, "go-library")
	if err := os.CopyFS(dir, os.DirFS(src)); err != nil {
		return fmt.Errorf("copy %s: %w", src, err)
	}
	if err := b.commitAll(dir); err != nil {
		return err
	}
	x, err := b.indexRun(dir, true)
	if err != nil {
		return err
	}
	table, err := definitions(dir, "go")
	if err != nil {
		return err
	}
	ours := map[string]int{}
	known := map[string]bool{}
	for line := range strings.Lines(table) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[3] == "0" {
			known[f[0]] = f[1] == "parsed"
			continue
		}
		if f[1] == "function" || f[1] == "method" {
			ours[f[0]+"\t"+f[2][strings.LastIndexByte(f[2], '.')+1:]+"\t"+f[3]]++
		}
	}
	total, missing := 0, 0
	var floor time.Duration
	for path, whole := range known {
		if !whole {
			continue
		}
		began := time.Now()
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(dir, path), nil, parser.ParseComments|parser.SkipObjectResolution)
		floor += time.Since(began)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name == "_" {
				continue
			}
			total++
			key := fmt.Sprintf("%s\t%s\t%d", path, fn.Name.Name, set.PositionFor(fn.Pos(), false).Line)
			if ours[key]--; ours[key] < 0 {
				missing++
			}
		}
	}
	b.figures = append(b.figures, figure{
		what: "functions and methods of " + name + " (go/parser)", value: fmt.Sprint(total - missing),
		floor: fmt.Sprint(total),
		ratio: fmt.Sprintf("%.5f", 1-float64(missing)/float64(max(total, 1))), goal: "all", met: missing == 0,
	})
	b.figures = append(b.figures, figure{
		what: fmt.Sprintf("cold index of %d Go files (go/parser, one thread)", len(known)), value: ms(float64(x.took)),
		floor: ms(float64(floor)),
		ratio: fmt.Sprintf("%.2f", float64(x.took)/float64(floor)),
	})
	return nil
}

// oneOfMany measures an index after a change of one of many files: in a body, and in a part that other files see.
func (b *bench) oneOfMany(patterns.Program) error {
	n := b.of(5000, 500)
	files := map[string]string{}
	text := func(i int, body string) string {
		var t strings.Builder
		fmt.Fprintf(&t,
			"\"\"\"Module %d.\"\"\"\nfrom pkg.m%d import C%d\n\n\nclass C%d(C%d):\n    \"\"\"A class.\n\n    Args:\n        "+
				"a: what\n    \"\"\"\n\n", i, i/2, i/2, i, i/2)
		for k := range 12 {
			fmt.Fprintf(&t,
				"    def method%d(self, a, b=%d):\n        # because of the order\n        value = self.method%d(a) + "+
					"len(str(b))\n        return value\n\n", k, k, (k+1)%12)
		}
		return t.String() + body
	}
	for i := range n {
		files[fmt.Sprintf("pkg/m%d.py", i)] = text(i, "")
	}
	dir, err := b.place.Repo("many", files)
	if err != nil {
		return err
	}
	if _, err := b.indexRun(dir, true); err != nil {
		return err
	}
	time.Sleep(2100 * time.Millisecond) // files newer than the clock's resolution are read again
	if _, err := b.indexRun(dir, false); err != nil {
		return err
	}
	var none, body, outside []float64
	for i := range b.of(9, 5) {
		path := filepath.Join(dir, "pkg", fmt.Sprintf("m%d.py", n/2+i))
		x, err := b.indexRun(dir, false)
		if err != nil {
			return err
		}
		none = append(none, float64(x.took))
		for _, change := range []struct {
			text string
			to   *[]float64
		}{{text(n/2+i, "# a remark\n"), &body}, {text(n/2+i, "\ndef added(): pass\n"), &outside}} {
			if err := os.WriteFile(path, []byte(change.text), 0o644); err != nil {
				return err
			}
			x, err := b.indexRun(dir, false)
			if err != nil {
				return err
			}
			if x.result.Changed != 1 {
				return fmt.Errorf("%d files were read again, not 1", x.result.Changed)
			}
			*change.to = append(*change.to, float64(x.took))
		}
	}
	for _, f := range []struct {
		what string
		took []float64
	}{{"index, one body changed of %d files (nothing changed)", body},
		{"index, a function added in one of %d files (nothing changed)", outside}} {
		v := median(f.took)
		b.figures = append(b.figures,
			figure{fmt.Sprintf(f.what, n), ms(v), ms(median(none)), fmt.Sprintf("%.2f", v/median(none)), "≤ 150 ms", v <= 150e6})
	}
	return nil
}

// historyPass measures the time that the history adds to a cold index. Its floor is git log with the same arguments.
func (b *bench) historyPass(patterns.Program) error {
	n := b.of(5000, 500)
	dir := filepath.Join(b.place.Dir, "history")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := b.place.Git(dir, "init", "-q", "-b", "main", "."); err != nil {
		return err
	}
	var in strings.Builder
	for i := range n {
		msg := fmt.Sprintf("Commit %d\n\nSome words about it.\n", i)
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter Ada <a@example.org> %d +0000\ndata %d\n%s\n", 1_700_000_000+i*60,
			len(msg), msg)
		for k := range 1 + i%5 {
			body := fmt.Sprintf("package p\n\n// Version %d.\nfunc F%d() {}\n", i, (i*7+k)%200)
			fmt.Fprintf(&in, "M 644 inline p%d/f.go\ndata %d\n%s\n", (i*7+k)%200, len(body), body)
		}
	}
	load := b.place.Command(dir, "git", "fast-import", "--quiet")
	load.Stdin = strings.NewReader(in.String())
	if out, err := load.CombinedOutput(); err != nil {
		return fmt.Errorf("git fast-import: %w\n%s", err, out)
	}
	if _, err := b.place.Git(dir, "reset", "-q", "--hard", "main"); err != nil {
		return err
	}
	shallow := filepath.Join(b.place.Dir, "history-shallow")
	if _, err := b.place.Git(b.place.Dir, "clone", "-q", "--depth", "1", "file://"+dir, shallow); err != nil {
		return err
	}
	var ours, floor, ratio []float64
	for range b.of(5, 3) {
		with, err := b.indexRun(dir, true)
		if err != nil {
			return err
		}
		without, err := b.indexRun(shallow, true)
		if err != nil {
			return err
		}
		log := b.place.Command(dir, "git", "log", "-z", "--numstat", "--no-renames",
			"--format=%x01%H%x00%an%x00%ct%x00%B%x00", "HEAD")
		began := time.Now()
		if err := log.Run(); err != nil {
			return fmt.Errorf("git log: %w", err)
		}
		fl := float64(time.Since(began))
		v := float64(with.took - without.took)
		ours, floor, ratio = append(ours, v), append(floor, fl), append(ratio, v/fl)
	}
	b.add(fmt.Sprintf("history of %d commits in an index (git log)", n), ms(median(ours)), ms(median(floor)),
		median(ratio), 1.3)
	return nil
}
