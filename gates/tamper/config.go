package tamper

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/tamper/section"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

var (
	strictOption = lazyre.New(`^(?:strict\w*|no(?:Implicit|Unused|Unchecked|Property|Fallthrough|Emit)\w*|exact\w*|alwaysStrict|useUnknown\w*|checkJs|forceConsistent\w*|isolatedDeclarations)$`)
	looseOption  = lazyre.New(`^(?:skip(?:Default)?LibCheck|allowUn\w+|suppress\w+|noCheck|allowJs)$`)
)

// config finds changed sections of shared files.
func (j judge) config(f gates.File) {
	read := section.Reader(f.Path, j.commands())
	if f.Status == gates.Added {
		return
	}
	if read == nil {
		j.limits(f)
		return
	}
	old, now := section.ByName(read(f.Before)), section.ByName(read(f.After))
	named := j.s.Names(f.Path)
	both := maps.Clone(old)
	maps.Copy(both, now)
	for _, n := range slices.Sorted(maps.Keys(both)) {
		o, was := old[n]
		a, is := now[n]
		if was && is && o.Value == a.Value {
			continue
		}
		if was && strings.Contains(o.Value, "no test specified") || strings.HasPrefix(n, "compilerOptions.") &&
			!lowered(n, o, was, a, is) {
			continue
		}
		sev, verb := j.unless(named, gates.Warning), "was changed"
		switch {
		case was && is && section.Grown(n, o.Value, a.Value):
			sev, verb = gates.Note, "has more commands"
		case !is:
			verb = "was removed"
		case !was:
			verb = "is new"
			if !strings.HasPrefix(n, "compilerOptions.") {
				sev = gates.Warning
			}
			if n == "exclude" && !named && slices.ContainsFunc(j.s.Changed,
				func(p string) bool { return strings.Contains(a.Value, `"`+p+`"`) }) {
				sev = gates.Error // the code of the batch is no longer checked
			}
		}
		if is && section.Installs(strings.TrimPrefix(n, "scripts.")) {
			j.find("tamper/config", j.unless(named, gates.Warning), f.Path, a.Line,
				"revert the change, or name the file in the plan",
				"%s runs on each machine that installs the package, and %s%s", n, verb, fromTo(o, was, a, is))
			continue
		}
		line := a.Line
		if f.Status == gates.Deleted {
			line = 0
		}
		j.find("tamper/config", sev, f.Path, line, "revert the change, or name the file in the plan",
			"%s controls what is checked, and %s%s", n, verb, fromTo(o, was, a, is))
	}
}

// limit matches a limit of coverage or warnings in a file of code that configures a build or tests.
var limit = lazyre.New(`(?i)\b(?:thresholds?|minimum_coverage\w*|(?:cov-)?fail[-_]under|max-warnings)\b\W.*\d|^\s*['"]?(?:lines|branches|functions|statements)['"]?\s*:\s*\d`)

// limits finds changed limits in files that are code.
func (j judge) limits(f gates.File) {
	if !builds.MatchString(f.Path) && path.Ext(f.Path) != ".rb" && path.Base(f.Path) != "Rakefile" {
		return
	}
	for _, l := range (gates.File{Before: f.After, After: f.Before}).AddedLines() { // the removed lines
		if limit.MatchString(l.Text) && !comment(l.Text) {
			j.find("tamper/config", j.unless(j.s.Names(f.Path), gates.Warning), f.Path, 0,
				"revert the change, or name the file in the plan",
				"a limit of the checks was changed; it was: %s", strings.TrimSpace(l.Text))
		}
	}
}

// commands returns the scripts and targets that commands of the batch run but its prose does not mention.
func (j judge) commands() map[string]bool {
	out := map[string]bool{}
	prose := j.s.Batch.Title + "\n" + j.s.Batch.Text
	list := j.s.Batch.Checks()
	for _, c := range list {
		prose = strings.ReplaceAll(prose, c.Run, "")
	}
	for _, c := range list {
		for i, w := range strings.Fields(c.Run) {
			if i == 0 && !slices.Contains([]string{"make", "just", "npm", "pnpm", "yarn", "bun"}, w) {
				break
			}
			// A common word such as "style" alone does not ask for a change of the script of that name.
			q := regexp.QuoteMeta(w)
			out[w] = !regexp.MustCompile(`[\x60"']` + q + `\b|\b` + q +
				`[\x60"']|(?i:script|target|task|recipe|make|run|just|npm|pnpm|yarn|bun)s?[ \x60"']+` + q +
				`\b|\b` + q + `[ \x60"']+(?i:script|target|task|recipe)`).MatchString(prose)
		}
	}
	return out
}

// lowered reports whether a compiler option makes the checker less strict. Unrelated options do not count.
func lowered(name string, o section.Section, was bool, a section.Section, is bool) bool {
	key := strings.TrimPrefix(name, "compilerOptions.")
	switch {
	case looseOption.MatchString(key) || key == "noCheck":
		return is && a.Value == "true" && !(was && o.Value == "true")
	case strictOption.MatchString(key):
		return was && o.Value == "true" && !(is && a.Value == "true") || is && a.Value == "false" &&
			!(was && o.Value == "false")
	}
	return false
}

func fromTo(o section.Section, was bool, a section.Section, is bool) string {
	short := func(s string) string {
		s = phrase.Line(s)
		if len(s) > 60 {
			return ""
		}
		return s
	}
	from, to := short(o.Value), short(a.Value)
	switch {
	case was && is && from != "" && to != "":
		return fmt.Sprintf(": from %s to %s", from, to)
	case !is && from != "":
		return ": " + from
	case !was && to != "":
		return ": " + to
	}
	return ""
}
