// Package held runs the tests of the base on the candidate's code.
//
// If an author changes code and tests together, both may agree on a wrong result. So the old tests and their
// configuration replace those in the candidate's tree, and their suite runs on the new tree. Git makes that tree
// without a checkout; a [Room] checks it out for the suite.
//
// Limit: a test of the base that does not build with the candidate's code proves nothing about it.
package held

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// Options configures where the suites run.
type Options struct {
	Repo  *git.Repo
	Room  gates.Room
	Gates func(dir string) []gates.Gate // makes the gates of a tree
	// Decides reports whether a file controls how tests run, in addition to the function of that name; nil adds none.
	Decides func(path string) bool
}

const (
	rebuilds = 3 // maximum number of runs that omit test files which do not build
	lucky    = 5 // runs of the tests if the change uses random numbers, because its code may be right by chance
)

// random matches code that uses random numbers.
var random = lazyre.New(`\brandom\.|\brand\.[A-Z]|\brand::|\brand\(|\b(?:from|import) (?:random|secrets)\b|\bsecrets\.|\burandom\b|\bMath\.random\(|\brandom(?:Bytes|Int)\(|\bgetRandomValues\(|` +
	`\b(?:Secure)?Random(?:\.|\()|\bRANDOM\b|\bshuf\b|\.(?:sample|shuffle)\b`)

// Runner runs the base's tests for one subject. It makes the tree at the first call.
type Runner struct {
	Options
	subject gates.Subject

	mu   sync.Mutex
	mix  *mix
	err  error
	dirs map[string]room // by tree
}

type room struct {
	dir  string
	env  []string
	done func()
}

// New makes a runner for the subject of a candidate. Its tree, base and diff must be known.
func New(o Options, s gates.Subject) *Runner {
	return &Runner{Options: o, subject: s, dirs: map[string]room{}}
}

// Close closes the rooms.
func (r *Runner) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.dirs {
		d.done()
	}
	clear(r.dirs)
}

// Run implements [gates.Subject.Held].
func (r *Runner) Run(ctx context.Context, gate string) (gates.HeldRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mix == nil && r.err == nil {
		r.mix, r.err = r.plan(ctx)
	}
	if r.err != nil {
		return gates.HeldRun{}, r.err
	}
	if r.mix.nothing() && !r.mix.chance {
		return gates.HeldRun{Nothing: true}, nil
	}
	out := gates.HeldRun{Reverted: r.mix.reverted, Chance: r.mix.chance}
	for try := 0; ; try++ {
		rep, why, err := r.suite(ctx, gate)
		if err != nil {
			return out, err
		}
		broken := r.mix.leave(rep.Findings)
		if len(broken) == 0 || try == rebuilds {
			out.Cases = rep.Cases
			for n := 1; n < lucky && out.Chance && why == "" && !fails(out.Cases); n++ {
				if rep, why, err = r.suite(ctx, gate); err != nil {
					return out, err
				}
				out.Cases = rep.Cases
			}
			if len(rep.Cases) == 0 && why == "" {
				why = "no test ran" + because(rep)
			}
			if len(broken) > 0 && why == "" {
				why = "they do not build with it" + because(rep)
			}
			out.Why, out.Left = why, r.mix.left
			return out, nil
		}
	}
}

func fails(cases []testout.Case) bool {
	return slices.ContainsFunc(cases, func(c testout.Case) bool { return c.Status == testout.Failed })
}

func because(rep gates.Report) string {
	for _, f := range rep.Findings {
		if f.Severity == gates.Error {
			return ": " + phrase.Cut(phrase.Line(strings.TrimPrefix(f.Path+": ", ": ")+f.Message), 200)
		}
	}
	return ""
}

// suite runs a gate on the planned tree.
func (r *Runner) suite(ctx context.Context, gate string) (rep gates.Report, why string, err error) {
	tree, err := r.Repo.EditTree(ctx, r.subject.Tree, r.mix.put, r.mix.drop)
	if err != nil {
		return rep, "", fmt.Errorf("copy the base's tests into the candidate: %w", err)
	}
	in, ok := r.dirs[tree]
	if !ok {
		s := r.subject
		s.Tree = tree
		if in.dir, in.env, in.done, err = r.Room(ctx, s); err != nil {
			if in.done != nil {
				in.done()
			}
			return rep, "", fmt.Errorf("check out the candidate with the base's tests: %w", err)
		}
		if in.done == nil {
			in.done = func() {}
		}
		r.dirs[tree] = in
	}
	s := r.subject
	s.Dir, s.Tree, s.Changed, s.Diff, s.Before, s.BaseTests, s.BaseSuites, s.Held, s.Fresh = in.dir, tree, nil, nil, nil,
		nil, nil, nil, nil
	if in.env != nil {
		s.Env = in.env
	}
	if s.LogDir != "" {
		s.LogDir = filepath.Join(s.LogDir, "held")
	}
	if base := r.subject.BaseTests; base != nil {
		// A test that fails on the base has to pass at once: what passes in the second run is not correct.
		s.FailedBefore = func(ctx context.Context) []string {
			known, _ := base(ctx, gate) // unknown ones are run again
			var failed []string
			for _, c := range known {
				if c.Status == testout.Failed {
					failed = append(failed, c.Name, c.NodeID(), c.Group+"."+c.Name)
				}
			}
			return failed
		}
	}
	list := r.Gates(in.dir)
	at := slices.IndexFunc(list, func(g gates.Gate) bool { return g.Info().Name == gate })
	if at < 0 {
		return rep, "the candidate has no suite " + gate + " in it", nil
	}
	v, err := gates.Run(ctx, list[at:at+1], s, nil)
	if ctx.Err() != nil {
		return rep, "", context.Cause(ctx)
	}
	if err != nil {
		return rep, phrase.Cut(phrase.Line(err.Error()), 300), nil
	}
	if v.Reports[0].Status == gates.Skipped {
		why = v.Reports[0].Note
	}
	return v.Reports[0], why, nil
}

// plan decides which files of the base are restored.
func (r *Runner) plan(ctx context.Context) (*mix, error) {
	m := &mix{repo: r.Repo, put: map[string]git.TreeFile{}}
	diff := r.Repo.Compare(r.subject.Base, r.subject.Tree)
	entries, err := diff.Entries(ctx)
	if err != nil {
		return nil, err
	}
	servants, err := r.servants(ctx, entries)
	if err != nil && !errors.Is(err, git.ErrPartial) {
		return nil, fmt.Errorf("find the files that serve tests: %w", err)
	}
	m.serves = func(p string) bool {
		return servants[p] || r.Options.Decides != nil && r.Options.Decides(p) && !r.subject.Names(p)
	}
	m.stays, m.imported = r.kept(ctx, entries), r.imported(ctx)
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
		before, err := diff.Before(ctx, e.Path)
		var after []byte
		if err == nil {
			after, err = diff.After(ctx, e.Path)
		}
		if err == nil {
			err = m.add(ctx, e, before, after)
		}
		if err != nil && !strings.Contains(err.Error(), "too large") {
			return nil, err
		}
	}
	for _, e := range entries { // the base's replacements need the folders that they name
		if old, _ := e.Blobs(); old != "" &&
			slices.ContainsFunc(m.folders, func(dir string) bool { return strings.HasPrefix(e.Path, dir+"/") }) {
			m.put[e.Path] = git.TreeFile{Mode: e.OldMode, Blob: old}
		}
	}
	if !m.nothing() {
		m.reverted = r.reverted(ctx, paths, m)
	}
	return m, nil
}

// kept returns a function that reports whether a file of the base is in the candidate too.
func (r *Runner) kept(ctx context.Context, entries []git.Entry) func(string) bool {
	files := sync.OnceValue(func() map[string]bool {
		out, err := r.Repo.Run(ctx, "ls-tree", "-r", "-z", "--name-only", r.subject.Base)
		if err != nil {
			return nil
		}
		files := map[string]bool{}
		for name := range strings.SplitSeq(out, "\x00") {
			files[name] = true
		}
		for _, e := range entries {
			if _, now := e.Blobs(); now == "" {
				delete(files, e.Path)
			}
		}
		return files
	})
	return func(p string) bool { return files()[p] }
}

// imported returns a function that reports whether a file of the base may import a module of Node without its ending:
// lib/calc as "./calc", and lib/index as "./lib".
func (r *Runner) imported(ctx context.Context) func(stem string) bool {
	return func(stem string) bool {
		name, found := path.Base(stem), false
		if name == "index" {
			if name = path.Base(path.Dir(stem)); name == "." {
				return true
			}
		}
		line := regexp.MustCompile(`['"` + "`" + `/]` + regexp.QuoteMeta(name) + `['"` + "`" + `]`)
		err := r.Repo.Grep(ctx, r.subject.Base, []string{name}, func(h git.Hit) {
			found = found || slices.Contains(nodeOrder(), path.Ext(h.Path)) && line.MatchString(h.Text)
		})
		return found || err != nil
	}
}

// reverted reports whether the whole change, code and tests, restores an older commit.
func (r *Runner) reverted(ctx context.Context, paths []string, m *mix) bool {
	return m.code && r.Repo.Reverts(ctx, r.subject.Base, r.subject.Tree, paths)
}
