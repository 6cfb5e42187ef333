package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/patterns"
)

// commitCase is a fix with what its candidates do.
type commitCase struct {
	fix        fix
	lang       gates.Language
	red        []string // tests that the commit turns green: the judges, held out
	guard      []string // tests that pass before and after: the project's own
	base       outcomes
	candidates []candidate
}

// candidate is a version with the outcomes of its tests.
type candidate struct {
	kind, what string
	diff       int // added and removed lines of code
	tests      outcomes
}

// outcome of a test; one that did not run has failed.
func (o outcomes) of(test string) string {
	if how, ran := o[test]; ran {
		return how
	}
	return "not run"
}

// passes reports whether all tests pass.
func (o outcomes) passes(tests []string) bool {
	return !slices.ContainsFunc(tests, func(t string) bool { return o.of(t) != "" })
}

// collect takes commits of each history in turn until it has enough.
func collect(ctx context.Context, o options, all []history) ([]commitCase, error) {
	b := &bench{o: o, home: filepath.Join(o.cache, "home"), kept: filepath.Join(o.cache, "results")}
	for _, dir := range []string{b.home, b.kept} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if out, err := exec.CommandContext(ctx, "go", "env", name).Output(); err == nil {
			b.caches = append(b.caches, name+"="+strings.TrimSpace(string(out)))
		}
	}
	program, err := patterns.Find(ctx, os.Environ(), o.astGrep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "selection: commits in other languages than Go have no mutants:", err)
	}
	queues := make([][]fix, len(all))
	trees := make([]*tree, len(all))
	for i, h := range all {
		dir, err := h.clone(ctx, filepath.Join(o.cache, "clones"))
		if err != nil {
			return nil, err
		}
		if queues[i], err = fixes(ctx, h, dir, o.seed); err != nil {
			return nil, err
		}
		trees[i] = &tree{dir: dir}
	}
	began := time.Now()
	var out []commitCase
	taken := make([]int, len(all))
	for left := true; left && len(out) < o.commits; {
		left = false
		for i := range all {
			if len(queues[i]) == 0 || taken[i] >= o.each || len(out) >= o.commits {
				continue
			}
			if o.limit > 0 && time.Since(began) > o.limit {
				fmt.Fprintf(os.Stderr, "selection: stopped after %s\n", time.Since(began).Round(time.Second))
				return out, nil
			}
			f := queues[i][0]
			queues[i], left = queues[i][1:], true
			c, ok, err := b.look(ctx, f, trees[i], program)
			if err != nil && !errors.Is(err, errNotKept) {
				fmt.Fprintf(os.Stderr, "selection: %s %.12s: %v\n", f.repo, f.commit, err)
			}
			if ok {
				out = append(out, c)
				taken[i]++
				fmt.Fprintf(os.Stderr, "%4d %6s %s %.12s %s\n", len(out), time.Since(began).Round(time.Second), f.repo, f.commit,
					f.subject)
			}
		}
	}
	return out, nil
}

// slow limits the seconds for the tests of a fix, because each fix has a dozen candidates.
const slow = 5

// look runs one fix. It is a case only if its tests fail before it, build there, and pass after it.
func (b *bench) look(ctx context.Context, f fix, t *tree, program patterns.Program) (c commitCase, ok bool, err error) {
	m := &maker{f: f, program: program, before: map[string]string{}, after: map[string]string{}}
	if m.hunks, err = f.hunks(ctx); err != nil || len(m.hunks) == 0 {
		return c, false, err
	}
	lines := 0
	for _, h := range m.hunks {
		lines += h.n + len(h.new)
	}
	if lines > mostLines {
		return c, false, nil
	}
	tests := map[string]string{}
	for _, p := range f.rest {
		if tests[p], err = git(ctx, f.dir, "show", f.commit+":"+p); err != nil {
			return c, false, nil // a submodule
		}
	}
	for _, p := range f.code {
		if m.before[p], err = git(ctx, f.dir, "show", f.parent+":"+p); err != nil {
			return c, false, err
		}
		if m.after[p], err = git(ctx, f.dir, "show", f.commit+":"+p); err != nil {
			return c, false, err
		}
	}
	run := func(files map[string]string) (result, error) {
		all := maps.Clone(tests)
		maps.Copy(all, files)
		return b.run(ctx, f, t, all)
	}
	base, err := run(nil)
	if err != nil || !base.Built || base.Took > slow || !anyFailed(base.Tests) {
		return c, false, err
	}
	now, err := run(m.after)
	if err != nil || !now.Built {
		return c, false, err
	}
	c = commitCase{fix: f, lang: gates.LanguageOf(f.code[0]), base: base.Tests}
	c.sort(now.Tests)
	if len(c.red) == 0 {
		return c, false, nil
	}
	h := fnv.New64a()
	h.Write([]byte(f.commit))
	m.rng = rand.New(rand.NewPCG(b.o.seed, h.Sum64()))
	if err := m.make(ctx); err != nil {
		return c, false, err
	}
	for _, v := range m.candidates {
		r := base
		if !v.same {
			if r, err = run(v.files); err != nil {
				return c, false, err
			}
		}
		if r.Built { // code that does not build is not a candidate
			c.candidates = append(c.candidates,
				candidate{kind: v.kind, what: v.what, diff: changed(m.before, v.files), tests: r.Tests})
		}
	}
	return c, true, nil
}

func anyFailed(o outcomes) bool {
	for _, how := range o {
		if how != "" {
			return true
		}
	}
	return false
}

// sort separates the judging tests from the project's own. A test with judging subtests does not judge itself.
func (c *commitCase) sort(now outcomes) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch was, ran := c.base[name]; {
		case now[name] != "":
		case ran && was == "":
			c.guard = append(c.guard, name)
		default:
			c.red = append(c.red, name)
		}
	}
	c.red = slices.DeleteFunc(c.red, func(name string) bool {
		return slices.ContainsFunc(c.red, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}

// changed counts the lines between the common head and tail of each file and its version in the parent.
func changed(before, files map[string]string) int {
	n := 0
	for p, text := range files {
		n += distance(strings.SplitAfter(before[p], "\n"), strings.SplitAfter(text, "\n"))
	}
	return n
}

// distance is the number of lines that a shortest edit removes and adds.
func distance(a, b []string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return len(a) + len(b) - 2*row[len(b)]
}
