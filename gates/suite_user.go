package gates

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
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
	inDebug      = lazyre.New(`\bdebug_assertions\b`)
	needsLogging = lazyre.New(`\bcaplog\b|--log-|\blog_(?:cli|level|file|format)\b`)
	// captured matches code of Python that asks for what pytest replaces: streams and handlers of logs.
	captured = lazyre.New(`\bsys\.(?:__)?std(?:in|out|err)\b|\.handlers\b|\bhasHandlers\(|\bisatty\(`)
)

// asUser runs the suite again without the variables of CI and gates if the change reads them, without debug
// assertions if the change asks for them, and without the streams and log handlers of pytest if the change asks for
// those: a pass only in CI is not a pass for users.
func (s suite) asUser(ctx context.Context, w *work) error {
	if !w.subject.Sealed || w.subject.Diff == nil ||
		slices.ContainsFunc(w.rep.Findings, func(f Finding) bool { return f.Severity == Error }) {
		return nil
	}
	files, _, err := Files(ctx, w.subject.Diff, nil)
	if err != nil {
		return err
	}
	at, inside, release, bare := Finding{}, false, false, false
	for _, f := range files {
		for _, l := range f.AddedLines() {
			ci, debug := inCI.MatchString(l.Text), s.project.Language == LangRust && inDebug.MatchString(l.Text)
			streams := s.project.Language == LangPython && language.OfTest(f.Path) == "" && captured.MatchString(l.Text)
			if !source(f.Path) || !ci && !debug && !streams {
				continue
			}
			if at.Path == "" {
				at.Path, at.Line = f.Path, l.Number
			}
			inside, release, bare = inside || ci, release || debug, bare || streams
		}
	}
	bare = bare && !s.needsLogging(w)
	if !inside && !release && !bare {
		return nil
	}
	w.user, w.release, w.bare = inside || bare, release, bare
	defer func() { w.user, w.release, w.bare = false, false, false }()
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
		what := "the variables of CI and gates"
		switch {
		case release:
			what = "debug assertions"
		case bare:
			what = "the streams and log handlers of pytest"
		}
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

// needsLogging reports whether tests or settings of the project need the logging of pytest.
func (s suite) needsLogging(w *work) bool {
	return anyFile(w.subject.Dir, s.project, nil, func(dir, name string) bool {
		return slices.Contains([]string{".py", ".toml", ".ini", ".cfg"}, path.Ext(name)) &&
			needsLogging.MatchString(readText(w.subject.Dir, path.Join(s.project.Root, dir), name))
	})
}

// source reports whether a file may contain code, and not prose or CI settings.
func source(file string) bool {
	return !slices.ContainsFunc([]string{".md", ".rst", ".txt", ".yml", ".yaml", ".adoc"},
		func(ext string) bool { return strings.HasSuffix(file, ext) })
}
