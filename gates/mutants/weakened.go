package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/mutants/mutant"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/patterns"
)

// RuleWeakened is the rule for a changed test file that no longer detects a mutant that it detected before.
const RuleWeakened = "test-weakened"

// mostWeakened limits the mutants that are reported for one changed test file. One is sufficient proof, and a few
// give more detail.
const mostWeakened = 3

// subjects returns the code files that changed tests probably test, with the tests of each.
func subjects(dir string, tests []gates.File) (map[string][]gates.File, error) {
	out := map[string][]gates.File{}
	err := walk(dir, func(rel string) {
		if !mutable(rel) || language.IsTest(rel) {
			return
		}
		for _, t := range tests {
			if gates.LanguageOf(t.Path) == gates.LanguageOf(rel) && (path.Dir(t.Path) == path.Dir(rel) ||
				gates.LanguageOf(rel) != gates.LangGo && strings.Contains(t.Before, stem(rel))) {
				out[rel] = append(out[rel], t)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("find the code that the changed tests test: %w", err)
	}
	return out, nil
}

// weakened makes mutants of all lines of the files that changed tests test. It adds the texts of the files to texts.
func (o Options) weakened(ctx context.Context, dir string, files []string, texts map[string]string) ([]mutant.Mutant,
	error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("make mutants for the changed tests: %w", err)
	}
	defer root.Close()
	var all []mutant.Mutant
	for _, f := range files {
		text, err := root.ReadFile(filepath.FromSlash(f))
		if err != nil {
			return nil, fmt.Errorf("make mutants for the changed tests: %w", err)
		}
		texts[f] = string(text)
		lines := map[int]bool{}
		for i := range strings.Count(texts[f], "\n") + 1 {
			lines[i+1] = true
		}
		more, err := o.of(ctx, dir, f, texts[f], lines)
		if errors.Is(err, patterns.ErrMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return mutant.Spread(all), nil
}

// compare reports changed tests that miss a mutant which the tests of the base detect. It returns when the time of ctx
// is up.
func (r *runner) compare(ctx context.Context, list []mutant.Mutant, of map[string][]gates.File) error {
	told, tried, fewer := map[string]int{}, 0, 0
	for _, m := range list {
		tests := slices.DeleteFunc(slices.Clone(of[m.Path]), func(t gates.File) bool { return told[t.Path] >= mostWeakened })
		if len(tests) == 0 {
			continue
		}
		now, err := r.try(ctx, m)
		if spent(ctx) {
			break
		}
		if err != nil {
			return err
		}
		if now == invalid {
			continue
		}
		tried++
		if now == killed {
			continue
		}
		before, err := r.tryBefore(ctx, m, tests)
		if spent(ctx) {
			break
		}
		if err != nil {
			return err
		}
		if before != killed {
			continue
		}
		fewer++
		r.weaker = true
		for _, t := range tests {
			told[t.Path]++
			r.look.Find(gates.Finding{
				Rule: RuleWeakened, Path: t.Path, Severity: gates.Warning,
				Message: fmt.Sprintf("before the change the tests failed if %s:%d was wrong: %s (%s); now they pass", m.Path,
					m.Line, m.Describe(), m.Kind),
				Fix: "restore the assertions, or explain in the plan why they are weaker",
			})
		}
	}
	if fewer > 0 {
		r.look.Note("%d of %s detected before but not now", fewer,
			phrase.Count(tried, "wrong version was", "wrong versions were"))
	}
	return nil
}

// tryBefore runs the tests of the base on a mutant.
func (r *runner) tryBefore(ctx context.Context, m mutant.Mutant, tests []gates.File) (what outcome, err error) {
	for _, t := range tests {
		if err := r.write(t.Path, t.Before); err != nil {
			return invalid, err
		}
		defer func() { err = errors.Join(err, r.write(t.Path, t.After)) }()
	}
	now := r.found
	r.found = r.before
	defer func() { r.before, r.found = r.found, now }()
	return r.try(ctx, m)
}
