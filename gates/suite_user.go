package gates

import (
	"context"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// ruleOnlyInCI marks code that passes its tests only if the environment says that it runs in CI.
const ruleOnlyInCI = "passes-only-in-ci"

var (
	// inCI matches code that asks whether it runs in CI, by variables that gates set and users do not.
	inCI = lazyre.New(`\bCI\b|\bCONTINUOUS_INTEGRATION\b|\b(?:GITHUB|GITLAB)_\w+|\bGIT_(?:CEILING_DIRECTORIES|TERMINAL_PROMPT)\b|` +
		`\bTERM\b|\bNO_COLOR\b|\bPYTHONDONTWRITEBYTECODE\b|\bRUFF_NO_CACHE\b|\bNPM_CONFIG_(?:UPDATE_NOTIFIER|FUND)\b|\bGOENV\b`)
	// inDebug matches code of Rust that is built in another way for a release.
	inDebug = lazyre.New(`\bdebug_assertions\b`)
)

// asUser runs the suite again without the variables of CI and gates if the change reads them, and without debug
// assertions if the change asks for them: a pass only in CI is not a pass for users.
func (s suite) asUser(ctx context.Context, w *work) error {
	if !w.subject.Sealed || w.subject.Diff == nil ||
		slices.ContainsFunc(w.rep.Findings, func(f Finding) bool { return f.Severity == Error }) {
		return nil
	}
	files, _, err := Files(ctx, w.subject.Diff, nil)
	if err != nil {
		return err
	}
	at, release := Finding{}, false
	for _, f := range files {
		for _, l := range f.AddedLines() {
			switch {
			case at.Path != "" || !source(f.Path):
				continue
			case inCI.MatchString(l.Text):
				release = false
			case s.project.Language == LangRust && inDebug.MatchString(l.Text):
				release = true
			default:
				continue
			}
			at.Path, at.Line = f.Path, l.Number
		}
	}
	if at.Path == "" {
		return nil
	}
	w.user, w.release = !release, release
	defer func() { w.user, w.release = false, false }()
	runs, err := s.plan(ctx, w)
	if err != nil {
		return s.cannot(err)
	}
	for _, r := range runs {
		res, out, err := w.plain(ctx, &bed{alone: func() (testRun, error) { return r, nil }})
		if err != nil {
			return s.cannot(err)
		}
		if out.ok() && res.Failed == 0 || r.empty != 0 && out.exit == r.empty {
			continue
		}
		what := map[bool]string{false: "the variables of CI and gates", true: "debug assertions"}[release]
		msg := "the tests fail without " + what + " and pass with them"
		if len(res.Failures) > 0 && res.Failures[0].Name != "" {
			msg += ": " + phrase.Cut(phrase.Line(res.Failures[0].Name), 200)
		}
		w.find(Finding{Rule: ruleOnlyInCI, Severity: Error, Path: at.Path, Line: at.Line, Message: msg,
			Fix: "make code and tests behave the same in CI and elsewhere"})
		return nil
	}
	return nil
}

// source reports whether a file may contain code, and not prose or CI settings.
func source(file string) bool {
	return !slices.ContainsFunc([]string{".md", ".rst", ".txt", ".yml", ".yaml", ".adoc"},
		func(ext string) bool { return strings.HasSuffix(file, ext) })
}
