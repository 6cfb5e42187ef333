// Package rules makes gates of the two libraries of rules: lessons, which are regular expressions, and patterns,
// which see structure through ast-grep. Both check the changed files.
package rules

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/lessons"
	"github.com/runplan/runplan/patterns"
)

// Lessons finds the mistakes of a library (GATE-06, LES-06). Blockers fail; the others warn. The library is read only
// if there are files to check.
func Lessons(read func() (*lessons.Scanner, error)) gates.Gate {
	info := gates.Info{Name: "lessons", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Pure: true, Scoped: true}
	return overChanged(info, func(ctx context.Context, l *gates.Look, files []string) error {
		sub := l.Subject()
		s, err := read()
		if err != nil {
			return err
		}
		res, err := s.Scan(ctx, sub.Dir, files)
		if err != nil {
			return err
		}
		err = report(ctx, l, ofLessons(res), func(before map[string][]byte) ([]gates.Finding, error) {
			var old lessons.Result
			for path, text := range before {
				old.Add(s.Source(path, text))
			}
			return ofLessons(old), ctx.Err()
		})
		if err != nil {
			return err
		}
		skips := lists.Map(res.Skipped, func(k lessons.Skip) string { return k.Path + " (" + k.Reason + ")" })
		note(l, "not checked", skips)
		if res.Files == 0 {
			l.Skip("no changed file is text that a lesson covers")
		}
		return nil
	})
}

// ofLessons returns the findings of a scan.
func ofLessons(res lessons.Result) []gates.Finding {
	var out []gates.Finding
	for _, h := range res.Hits {
		sev := map[lessons.Level]gates.Severity{lessons.Error: gates.Error, lessons.Remark: gates.Note}[h.Level]
		sev = cmp.Or(sev, gates.Warning)
		out = append(out, gates.Finding{Rule: "lesson/" + h.ID, Path: h.Path, Line: h.Line, Col: h.Col, Severity: sev,
			Message: h.Lesson.Title, Fix: h.Lesson.Fix})
	}
	for _, p := range res.Problems {
		out = append(out, gates.Finding{Rule: "lesson/suppression", Path: p.Path, Line: p.Line, Severity: gates.Warning,
			Message: p.Message})
	}
	for _, h := range res.Suppressed {
		out = append(out, gates.Finding{Rule: "lesson/" + h.ID, Path: h.Path, Line: h.Line, Severity: gates.Note,
			Message: "allowed: " + h.Reason})
	}
	return out
}

// overChanged makes a gate that checks the changed files, and is skipped without any.
func overChanged(info gates.Info, look func(context.Context, *gates.Look, []string) error) gates.Gate {
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, err := changed(ctx, l)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			l.Skip("no regular file changed")
			return nil
		}
		return look(ctx, l, files)
	})
}

// Patterns finds the structures of a set of rules (ASTG-03), which it reads only if there are files to check. Without
// ast-grep it is skipped visibly. Hits warn; with strict, rules of severity error and the hard patterns fail.
func Patterns(find func(context.Context) (patterns.Program, error), read func() ([]patterns.Rule, error),
	strict bool) gates.Gate {
	info := gates.Info{Name: "patterns", Kind: gates.Static, Cost: gates.Cheap, Blocking: strict, Command: "ast-grep scan",
		Pure: true, Scoped: true, Tools: []gates.Tool{
			{Name: "ast-grep", Program: "ast-grep", Version: []string{"--version"},
				Install: "npm install --global @ast-grep/cli, or cargo install ast-grep"},
		}}
	return overChanged(info, func(ctx context.Context, l *gates.Look, files []string) error {
		sub := l.Subject()
		p, err := find(ctx)
		if errors.Is(err, patterns.ErrMissing) {
			l.Skip("%s", patterns.MissingNote)
			return nil
		}
		if err != nil {
			return err
		}
		rules, err := read()
		if err != nil {
			return err
		}
		p.Env, p.Limit, p.Reaper = sub.Env, sub.Timeout, sub.Reaper
		res, err := patterns.Scan(ctx, p, sub.Dir, files, rules)
		if err != nil {
			return err
		}
		found := ofPatterns(res, strict)
		err = report(ctx, l, found, func(before map[string][]byte) (old []gates.Finding, err error) {
			its := slices.DeleteFunc(slices.Clone(rules), func(r patterns.Rule) bool {
				return !slices.ContainsFunc(found, func(f gates.Finding) bool { return f.Rule == "pattern/"+r.ID })
			})
			err = laid(before, func(dir string, paths []string) error {
				res, err := patterns.Scan(ctx, p, dir, paths, its)
				old = ofPatterns(res, strict)
				return err
			})
			return old, err
		})
		if err != nil {
			return err
		}
		skips := lists.Map(res.Skipped, func(k patterns.Skip) string { return k.Path + " (" + k.Reason + ")" })
		note(l, "not checked", skips)
		note(l, "parsed in part", res.Partial)
		if p.Warning != "" {
			l.Note("%s", p.Warning)
		}
		if res.Scanned == 0 {
			l.Skip("no rule covers the changed files")
		}
		return nil
	})
}

// ofPatterns returns the findings of a scan.
func ofPatterns(res patterns.Result, strict bool) []gates.Finding {
	out := lists.Map(res.Hits, func(h patterns.Hit) gates.Finding { return finding(h, strict) })
	for _, s := range res.Suppressed {
		out = append(out, gates.Finding{Rule: "pattern/" + s.Rule, Path: s.Path, Line: s.Line, Severity: gates.Note,
			Message: "allowed: " + s.Reason})
	}
	return out
}

// hard lists the patterns that fail in strict mode, whatever their severity.
var hard = []string{"retry-loop", "bare-except", "async-no-await", "empty-catch", "unused-import"}

func finding(h patterns.Hit, strict bool) gates.Finding {
	sev := gates.Note
	switch {
	case strict && (h.Severity == patterns.Error || slices.Contains(hard, h.Rule)):
		sev = gates.Error
	case h.Severity == patterns.Warning || h.Severity == patterns.Error:
		sev = gates.Warning
	}
	f := gates.Finding{Rule: "pattern/" + h.Rule, Path: h.Path, Line: h.Line, Col: h.Col, Severity: sev,
		Message: h.Message, Fix: h.Fix}
	if h.Lesson != "" {
		f.Message += " (lesson " + h.Lesson + ")"
		f.Same = "lesson/" + h.Lesson
	}
	return f
}

// changed lists the files to check: those that differ and still exist. For a check of the whole tree, all of its files
// count as new.
func changed(ctx context.Context, l *gates.Look) ([]string, error) {
	sub := l.Subject()
	paths := sub.Changed
	if sub.Diff != nil {
		changes, err := sub.Diff.Changes(ctx)
		if err != nil {
			return nil, err
		}
		paths = nil
		paths = append(paths, lists.Map(changes, func(c gates.Change) string { return c.Path })...)
	}
	out := lists.Filter(paths, l.Exists)
	return out, nil
}

// mostNamed limits how many files a note names.
const mostNamed = 5

func note(l *gates.Look, what string, names []string) {
	if len(names) > 0 {
		l.Note("%s: %s", what, phrase.Few(names, mostNamed))
	}
}
