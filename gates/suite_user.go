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
	needsFilters = lazyre.New(`filterwarnings|\brecwarn\b|\bpytest\.warns\b|-W[ =]?error`)
)

// replaced lists what pytest replaces in its process: code that asks for it, and the options that turn it off.
var replaced = []struct {
	asks    *lazyre.Regexp
	options string
}{
	{lazyre.New(`\bsys\.(?:__)?std(?:in|out|err)\b|\.handlers\b|\bhasHandlers\(|\bisatty\(`), "-s -p no:logging"},
	{lazyre.New(`\bmeta_path\b`), "--assert=plain"},
	{lazyre.New(`\b(?:except|unraisable)hook\b`), "-p no:threadexception -p no:unraisableexception"},
	{lazyre.New(`\bfaulthandler\b`), "-p no:faulthandler"},
	{lazyre.New(`\bwarnings\b.*\bfilters\b`), "-p no:warnings"},
	{lazyre.New(`\bset_trace\b`), "-p no:debugging"},
}

// asUser runs the suite again without the variables of CI and gates if the change reads them, without debug
// assertions if the change asks for them, and without what pytest replaces if the change asks for that: a pass only in
// CI is not a pass for users.
func (s suite) asUser(ctx context.Context, w *Look) error {
	if !w.subject.Sealed || w.subject.Diff == nil ||
		slices.ContainsFunc(w.rep.Findings, func(f Finding) bool { return f.Severity == Error }) {
		return nil
	}
	files, _, err := Files(ctx, w.subject.Diff, nil)
	if err != nil {
		return err
	}
	at, inside, release, bare := Finding{}, false, false, ""
	for _, f := range files {
		for _, l := range f.AddedLines() {
			ci, debug := inCI.MatchString(l.Text), s.project.Language == LangRust && inDebug.MatchString(l.Text)
			options := ""
			for _, r := range replaced {
				if s.project.Language == LangPython && language.OfTest(f.Path) == "" && r.asks.MatchString(l.Text) {
					options += " " + r.options
				}
			}
			if !source(f.Path) || !ci && !debug && options == "" {
				continue
			}
			if at.Path == "" {
				at.Path, at.Line = f.Path, l.Number
			}
			inside, release, bare = inside || ci, release || debug, bare+options
		}
	}
	if strings.Contains(bare, "logging") && s.needs(w, needsLogging) || strings.Contains(bare, "warnings") &&
		s.needs(w, needsFilters) {
		bare = ""
	}
	if !inside && !release && bare == "" {
		return nil
	}
	w.user, w.release, w.bare = inside || bare != "", release, bare
	runs, err := s.plan(ctx, w)
	if err != nil {
		return s.cannot(err)
	}
	for _, r := range runs {
		res, out, err := w.once(ctx, r)
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
		case bare != "":
			what = "the streams, handlers and hooks of pytest"
		}
		msg := "the tests fail without " + what + " and pass with them"
		if len(res.Failures) > 0 && res.Failures[0].Name != "" {
			msg += ": " + phrase.Cut(phrase.Line(res.Failures[0].Name), 200)
		}
		w.Find(Finding{Rule: ruleOnlyInCI, Severity: Error, Path: at.Path, Line: at.Line, Message: msg,
			Fix: "make code and tests behave the same in CI and elsewhere"})
		return nil
	}
	return nil
}

// needs reports whether tests or settings of the project match re.
func (s suite) needs(w *Look, re *lazyre.Regexp) bool {
	return anyFile(w.subject.Dir, s.project, nil, func(dir, name string) bool {
		return slices.Contains([]string{".py", ".toml", ".ini", ".cfg"}, path.Ext(name)) &&
			re.MatchString(readText(w.subject.Dir, path.Join(s.project.Root, dir), name))
	})
}

// source reports whether a file may contain code, and not prose or CI settings.
func source(file string) bool {
	return !slices.ContainsFunc([]string{".md", ".rst", ".txt", ".yml", ".yaml", ".adoc"},
		func(ext string) bool { return strings.HasSuffix(file, ext) })
}
