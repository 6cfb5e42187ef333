package tasks

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/training"
)

// split sorts the files of a commit into its answer and its judging tests.
func (x *export) split(ctx context.Context, w *work) error {
	for _, e := range w.Entries {
		lang := gates.LanguageOf(e.Path)
		switch {
		case !language.ServesTests(e.Path):
			w.code = append(w.code, e.Path)
			continue
		case e.Status != 'D' && runs(e.Path, lang) && w.lang != "" && lang != w.lang:
			return refuse(OtherLanguage, "tests of two languages")
		case e.Status != 'D' && runs(e.Path, lang):
			w.lang = lang
			w.run = append(w.run, e.Path)
		}
		w.test = append(w.test, e.Path)
	}
	switch {
	case len(w.test) == 0:
		return refuse(NoTest, "")
	case len(w.code) == 0:
		return refuse(NoCode, "")
	case len(w.run) == 0:
		return refuse(OtherLanguage, "")
	}
	w.receipt.Files = w.run
	return nil
}

// runs reports whether a runner of the language takes tests from a file with that name.
func runs(name string, lang gates.Language) bool {
	switch lang {
	case gates.LangGo:
		return language.OfTest(name) == language.Go
	case gates.LangPython:
		return language.PythonTest(name) || path.Base(name) == "tests.py"
	}
	return false
}

// hold makes the patches, and refuses those that must not leave the project.
func (x *export) hold(ctx context.Context, w *work) error {
	c := x.Repo.Compare(w.Parents[0], w.Hash)
	var err error
	if w.patch, err = c.Patch(ctx, w.code); err == nil {
		w.testPatch, err = c.Patch(ctx, w.test)
	}
	if err != nil {
		return err
	}
	text := w.task + "\n" + string(w.patch) + string(w.testPatch)
	if x.Redact(text) != text {
		return refuse(Secret, "")
	}
	if _, found := x.Canary.Find(text); found {
		return refuse(Secret, "")
	}
	if len(training.Addresses(w.task)) > 0 {
		return refuse(Address, "")
	}
	return nil
}

// trees makes the trees of both sides.
func (x *export) trees(ctx context.Context, w *work) error {
	var err error
	if w.before, err = x.Repo.TreeOf(ctx, w.Parents[0]); err != nil {
		return err
	}
	if w.after, err = x.Repo.TreeOf(ctx, w.Hash); err != nil {
		return err
	}
	put := map[string]git.TreeFile{}
	there, drop := w.contents(w.test)
	for _, e := range there {
		_, blob := e.Blobs()
		put[e.Path] = git.TreeFile{Mode: e.NewMode, Blob: blob}
	}
	w.judged, err = x.Repo.EditTree(ctx, w.before, put, drop)
	return err
}

// side holds the results of the test files on one tree.
type side struct {
	ends  []string                              // of each file
	cases map[string]map[string]*testout.Status // by file and name; nil: not the same in all runs
	at    []place                               // where each file ran
	red   bool                                  // a run failed
}

// place names the folder and the command with which a file of tests ran.
type place struct {
	file, dir string
	args      []string
}

// judge runs the tests without the code of the commit and with it, and chooses the judging ones.
func (x *export) judge(ctx context.Context, w *work) error {
	w.receipt.tried, w.receipt.Runs = true, x.Runs
	before, err := x.side(ctx, w, w.judged)
	w.receipt.Before = before.ends
	if err != nil {
		return err
	}
	for i, end := range before.ends {
		if end == string(gates.RunBroken) {
			return refuse(NotBuilt, "%s: %s", w.run[i], before.why(w.run[i]))
		}
	}
	if !before.red {
		return refuse(GreenBefore, "")
	}
	after, err := x.side(ctx, w, w.after)
	w.receipt.After = after.ends
	if err != nil {
		return err
	}
	flaky := w.choose(before, after)
	switch {
	case len(w.receipt.Fixed) > 0:
		return nil
	case flaky:
		return refuse(Flaky, "")
	}
	return refuse(RedAfter, "")
}

// side runs each test file on a tree.
func (x *export) side(ctx context.Context, w *work, tree string) (side, error) {
	s := side{cases: map[string]map[string]*testout.Status{}}
	err := x.Rooms.In(ctx, w.Parents[0], tree, func(dir, _ string, env []string) error {
		for _, file := range w.run {
			if err := x.file(ctx, w, &s, file, dir, env); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.As(err, new(*refusedError)) && ctx.Err() == nil {
		err = refuse(CannotRun, "%s", phrase.Line(err.Error()))
	}
	return s, err
}

// file runs one test file in a room, several times.
func (x *export) file(ctx context.Context, w *work, s *side, file, dir string, env []string) error {
	var made []gates.SingleRun
	g := gates.New(gates.Info{Name: "task", Blocking: true}, func(ctx context.Context, l *gates.Look) error {
		return l.Single(ctx, gates.Single{Path: file}, max(1, x.Runs), func(one gates.SingleRun) bool {
			made = append(made, one)
			return one.Outcome != gates.RunBroken
		})
	})
	subject := gates.Subject{Dir: dir, Env: withSource(dir, w.lang, env), Sealed: true, Timeout: x.Limit, Reaper: x.Reaper}
	if _, err := g.Check(ctx, subject); err != nil {
		return err
	}
	if len(made) == 0 {
		return refuse(CannotRun, "%s did not run", file)
	}
	end := string(made[0].Outcome)
	for _, one := range made {
		s.red = s.red || one.Outcome == gates.RunFailed
		if string(one.Outcome) != end {
			end = string(Flaky)
		}
	}
	s.ends = append(s.ends, end)
	s.at = append(s.at, place{file, made[0].Dir, made[0].Args})
	known := map[string]*testout.Status{}
	for i, one := range made {
		now := map[string]*testout.Status{}
		for _, c := range one.Cases {
			if name := nameOf(w.lang, c); name != "" {
				status := c.Status
				now[name] = &status
			}
		}
		if i == 0 {
			known = now
			continue
		}
		for name := range maps.Keys(known) {
			if now[name] == nil || known[name] != nil && *now[name] != *known[name] {
				known[name] = nil
			}
		}
		for name := range now {
			if _, was := known[name]; !was {
				known[name] = nil
			}
		}
	}
	s.cases[file] = known
	if end == string(gates.RunBroken) {
		why := strings.ReplaceAll(made[0].Why, dir+string(filepath.Separator), "") // the room has another name each time
		status := testout.Status(cmp.Or(phrase.Line(why), "no reason"))
		s.cases[file] = map[string]*testout.Status{"": &status}
	}
	return nil
}

// why returns the message of a file that did not build.
func (s side) why(file string) string {
	if text := s.cases[file][""]; text != nil {
		return phrase.Cut(string(*text), 300)
	}
	return ""
}

// nameOf returns the name of a test as the loaders of SWE-bench expect it: Go's name, or pytest's id. It is "" for a
// name that does not fit into a line.
func nameOf(lang gates.Language, c testout.Case) string {
	name := c.Name
	if lang == gates.LangPython {
		name = c.NodeID()
	}
	if strings.ContainsAny(name, "\n\r\x00") {
		return ""
	}
	return name
}

// choose sorts the tests: those that the commit makes pass, those that still pass, and the rest, which are not used.
// It reports whether a test that failed is flaky.
func (w *work) choose(before, after side) (flaky bool) {
	times := map[string]int{} // a name in two files is ambiguous
	for _, cases := range after.cases {
		for name := range cases {
			times[name]++
		}
	}
	r := &w.receipt
	for i, file := range w.run {
		s := suite{place: after.at[i]}
		for _, name := range slices.Sorted(maps.Keys(after.cases[file])) {
			now := after.cases[file][name]
			was, ran := before.cases[file][name]
			switch {
			case now == nil || ran && was == nil:
				flaky = flaky || now == nil || *now == testout.Passed
				r.LeftOut = append(r.LeftOut, name)
			case *now != testout.Passed || times[name] > 1 || ran && *was == testout.Skipped:
				r.LeftOut = append(r.LeftOut, name)
			case ran && *was == testout.Passed:
				r.Kept = append(r.Kept, name)
				s.names = append(s.names, name)
			default:
				r.Fixed = append(r.Fixed, name)
				s.names = append(s.names, name)
			}
		}
		if s.names = s.whole(w.lang); len(s.names) > 0 {
			w.suites = append(w.suites, s)
		}
	}
	named := map[string]bool{}
	for _, s := range w.suites {
		for _, name := range s.names {
			named[name] = true
		}
	}
	drop := func(name string) bool {
		if !named[name] {
			r.LeftOut = append(r.LeftOut, name)
		}
		return !named[name]
	}
	r.Fixed, r.Kept = slices.DeleteFunc(r.Fixed, drop), slices.DeleteFunc(r.Kept, drop)
	slices.Sort(r.Fixed)
	slices.Sort(r.Kept)
	slices.Sort(r.LeftOut)
	return flaky
}
