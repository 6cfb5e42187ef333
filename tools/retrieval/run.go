package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/patterns"
)

// methods lists the compared methods in the order of the tables.
var methods = []string{"runplan, no model", "runplan, perfect judge", "runplan, judge accepts all",
	"runplan, judge refuses all", "BM25, chunks of 40 lines", "BM25, whole files", "grep, whole files"}

// checkout is a checked-out repository with its index.
type checkout struct {
	dir, db string
	repo    *git.Repo
	program patterns.Program
	env     []string
}

func measureRepo(ctx context.Context, b *board, s source, dir string) (result, error) {
	res := newResult(s.name)
	if err := clone(s, dir); err != nil {
		return res, err
	}
	list, err := tasks(dir, b.o.each, b.o.seed)
	if err != nil {
		return res, err
	}
	c := &checkout{dir: dir, db: filepath.Join(filepath.Dir(dir), s.name+".sqlite"),
		env: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")}
	defer os.Remove(c.db)
	if c.program, err = patterns.Find(ctx, c.env, ""); err != nil {
		return res, err
	}
	for i := range list {
		if err := c.measure(ctx, b, &list[i], &res); err != nil {
			return res, fmt.Errorf("commit %s: %w", short(list[i].hash), err)
		}
		res.commits++
	}
	return res, nil
}

// measure does one commit with all methods and budgets.
func (c *checkout) measure(ctx context.Context, b *board, t *task, res *result) error {
	if _, err := run(c.dir, "checkout", "-q", "-f", "--detach", t.parent); err != nil {
		return err
	}
	if _, err := run(c.dir, "clean", "-qfdx"); err != nil {
		return err
	}
	if c.repo == nil {
		repo, err := git.OpenReadOnly(ctx, c.dir, c.env)
		if err != nil {
			return err
		}
		c.repo = repo
	}
	db, err := store.OpenCurated(ctx, c.db)
	if err != nil {
		return err
	}
	defer db.Close()
	start := time.Now()
	if _, err := knowledge.Index(ctx,
		knowledge.Options{Repo: c.repo, Store: db, Program: c.program, ContinueOnError: true, Now: time.Now()}); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	res.indexed += time.Since(start)
	base := knowledge.NewBase(&db.CuratedReader)
	id, err := base.Repo(ctx, c.repo.Root)
	if err != nil {
		return err
	}
	all, err := readCode(c.dir)
	if err != nil {
		return err
	}
	t.files = slices.DeleteFunc(t.files, func(f changedFile) bool {
		return !slices.ContainsFunc(all, func(x retrieve.Lines) bool { return x.Path == f.path })
	})
	want, err := wanted(ctx, base, id, t, all)
	if err != nil {
		return err
	}
	offered := offers{}
	deps := func(kind string) retrieve.Deps {
		prompts, err := retrieve.LoadPrompts()
		if err != nil {
			panic(err)
		}
		d := retrieve.Deps{Base: base, Repo: id, Log: forgetful{}, Session: forgetful{}, Prompts: prompts, Program: c.program,
			Environ: c.env}
		if kind != "" {
			d.LLM, d.Model = llm.CompleterFunc(judge{t, kind, offered}.Complete), model
		}
		return d
	}
	whole := retrieve.Windows(all, 0, t.message)
	ranked := map[string][]piece{
		"BM25, chunks of 40 lines": bm25(retrieve.Windows(all, retrieve.PlainLines, t.message)),
		"BM25, whole files":        bm25(whole),
		"grep, whole files":        grep(whole, t.message),
	}
	if b.dump != nil {
		return b.dumpFeatures(ctx, deps(""), c.dir, t, want, all, res.name, ranked["BM25, chunks of 40 lines"])
	}
	if err := res.measureOpening(ctx, deps(""), c.dir, t, all, want, ranked); err != nil {
		return err
	}
	for _, budget := range b.o.budgets {
		for _, m := range b.o.methods {
			var shown []piece
			start := time.Now()
			if list, ok := ranked[m]; ok {
				shown = fill(list, budget*tokens.PerToken)
			} else {
				kind := map[string]string{"runplan, perfect judge": "perfect", "runplan, judge accepts all": "takes",
					"runplan, judge refuses all": "refuses"}[m]
				pkg, err := retrieve.Retrieve(ctx, deps(kind),
					retrieve.Request{Task: short(t.hash), Text: t.message, Dir: c.dir, Stages: []string{"scope", "precision"},
						Budget: tokens.Budget{Window: budget}})
				if err != nil && !errors.As(err, new(*retrieve.NoMatchError)) { // pieces that show nothing
					return fmt.Errorf("%s: %w", m, err)
				}
				for _, p := range pkg.Parts {
					shown = append(shown, piece{p.Path, p.Start, p.End, len([]rune(p.Text)), !p.Whole})
				}
				res.took += time.Since(start)
				res.asked++
			}
			res.add(m, budget, want, shown)
			if b.o.verbose && (m == methods[0] || m == methods[1]) && budget == slices.Max(b.o.budgets) {
				o := offered
				if m == methods[0] {
					o = nil
				}
				b.say(want.missed(res.name+", "+m, t, shown, o))
			}
		}
	}
	return nil
}

// goal is the expected result for a commit.
type goal struct {
	files []string
	units []unit
}

// unit is a function or a top-level block, with its changed lines.
type unit struct {
	path, name string
	lines      []int
}

// wanted finds the functions and blocks around the changed lines.
func wanted(ctx context.Context, base knowledge.Base, repo int64, t *task, all []retrieve.Lines) (goal, error) {
	var g goal
	for _, f := range t.files {
		g.files = append(g.files, f.path)
		i := slices.IndexFunc(all, func(x retrieve.Lines) bool { return x.Path == f.path })
		lines := all[i].Lines
		var functions []store.Symbol
		if file, ok, err := base.FileByPath(ctx, repo, f.path); err != nil {
			return g, err
		} else if ok {
			symbols, err := base.Symbols(ctx, file.ID, "")
			if err != nil {
				return g, err
			}
			for _, s := range symbols {
				if s.Kind == string(outline.Function) || s.Kind == string(outline.Method) {
					functions = append(functions, s)
				}
			}
		}
		owner := func(n int) string {
			best, name := 1<<30, ""
			for _, s := range functions {
				if s.Start <= n && n <= s.End && s.End-s.Start < best {
					best, name = s.End-s.Start, fmt.Sprintf("%s:%d", s.Name, s.Start)
				}
			}
			if name == "" {
				name = fmt.Sprintf("block:%d", blockStart(lines, n))
			}
			return name
		}
		add := func(name string, n int) {
			for i := range g.units {
				if u := &g.units[i]; u.path == f.path && u.name == name {
					if !slices.Contains(u.lines, n) {
						u.lines = append(u.lines, n)
					}
					return
				}
			}
			g.units = append(g.units, unit{f.path, name, []int{n}})
		}
		for _, n := range f.lines {
			switch {
			case n > 0 && n <= len(lines) && strings.TrimSpace(lines[n-1]) != "":
				add(owner(n), n)
			case n < 0 && -n < len(lines) && owner(-n) == owner(-n+1): // the added lines are within one
				for _, k := range []int{-n, -n + 1} {
					if strings.TrimSpace(lines[k-1]) != "" {
						add(owner(-n), k)
					}
				}
			}
		}
	}
	return g, nil
}

// blockStart returns the first line of the top-level block that contains a line: a line without indentation after a
// blank one.
func blockStart(lines []string, n int) int {
	for i := min(n, len(lines)); i > 1; i-- {
		l := lines[i-1]
		if l != "" && !strings.ContainsAny(l[:1], " \t})]") && strings.TrimSpace(lines[i-2]) == "" {
			return i
		}
	}
	return 1
}

// score compares the result of a method with the expected one.
type score struct {
	files, found     int
	units, whole     int
	chars, inChanged int
}

func (g goal) score(shown []piece) score {
	s := score{files: len(g.files), units: len(g.units)}
	for _, f := range g.files {
		if slices.ContainsFunc(shown, func(p piece) bool { return p.path == f }) {
			s.found++
		}
	}
	for _, u := range g.units {
		if g.shows(u, shown) {
			s.whole++
		}
	}
	for _, p := range shown {
		s.chars += p.chars
		if slices.Contains(g.files, p.path) {
			s.inChanged += p.chars
		}
	}
	return s
}

// shows reports whether all changed lines of a unit are shown.
func (g goal) shows(u unit, shown []piece) bool {
	for _, n := range u.lines {
		if !slices.ContainsFunc(shown,
			func(p piece) bool { return p.path == u.path && !p.described && p.start <= n && n <= p.end }) {
			return false
		}
	}
	return true
}

// missed describes what the shown pieces lack. If a judge was asked, it adds whether the judge was offered it.
func (g goal) missed(repo string, t *task, shown []piece, o offers) string {
	first, _, _ := strings.Cut(t.message, "\n")
	text := fmt.Sprintf("%s %s %q\n", repo, short(t.hash), first)
	for _, f := range g.files {
		if !slices.ContainsFunc(shown, func(p piece) bool { return p.path == f }) {
			text += "    file " + f + o.whether(f, nil) + "\n"
		}
	}
	for _, u := range g.units {
		if !g.shows(u, shown) {
			text += fmt.Sprintf("    lines %v of %s in %s%s\n", u.lines[:min(6, len(u.lines))], u.name, u.path,
				o.whether(u.path, u.lines))
		}
	}
	return text
}
