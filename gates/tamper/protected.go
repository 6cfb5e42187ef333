package tamper

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/testcode"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// Protected makes the gate for changes of files that control checks: the batch must ask for them. The globs extend the
// built-in list. checks are the scripts that configured commands run; for these, it is enough if the batch mentions
// them. Without a batch, all findings are warnings, because no text could ask for the change.
func Protected(globs, checks []string) gates.Gate {
	info := gates.Info{Name: "protected", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Compares: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool {
			return kindOf(c.Path) != "" || migration.MatchString(c.Path) || gates.Match(globs, c.Path) ||
				language.IsTest(c.Path) && c.Status == gates.Modified
		})
		if err != nil || !ok {
			return err
		}
		changes, err := l.Subject().Diff.Changes(ctx)
		if err != nil {
			return err
		}
		p := protection{judge{l, l.Subject(), read(ctx, l.Subject(), files)}, changes}
		for _, c := range changes { // files that are too large to read are protected too
			kind := kindOf(c.Path)
			switch {
			case gates.Match(globs, c.Path):
				p.changed("protected/listed", "is listed as protected in the configuration", c, gates.Error)
			case slices.Contains(checks, c.Path) && c.Status != gates.Added &&
				!strings.Contains(p.s.Batch.Title+p.s.Batch.Text, path.Base(c.Path)):
				p.changed("protected/listed", "is a check that the configuration runs", c, gates.Error)
			case migration.MatchString(c.Path) && c.Status != gates.Added &&
				!strings.Contains(p.s.Batch.Text, path.Base(c.Path)):
				p.changed("protected/migration", "is a migration that databases may have already", c, gates.Error)
			case kind == kindRunplan:
				p.changed("protected/runplan", "belongs to runplan's own configuration", c, gates.Error)
			case kind == kindCI:
				p.changed("protected/ci", "controls what runs in CI", c, p.unless(p.namesService(c.Path), gates.Warning))
			case kind == kindGates:
				sev := gates.Error
				if c.Status == gates.Added && !p.hadConfig(c.Path) {
					sev = gates.Warning
				}
				p.changed("protected/gates", "controls what is checked", c, sev)
			}
		}
		for _, f := range files {
			if !language.IsTest(f.Path) || f.Status != gates.Modified || gates.Match(globs, f.Path) || !touched(f) {
				continue
			}
			sev := gates.Note
			if p.weakened(f) {
				sev = gates.Warning
			}
			p.changed("protected/test", "is an existing test", f.Change, sev)
		}
		return nil
	})
}

// migration matches numbered files that change databases one after the other.
var migration = lazyre.New(`(?:^|/)(?:migrations?|migrate|versions)/(?:[^/]+/)?[Vv]?\d[^/]*\.(?:sql|py|rb|js|ts|go|php)$|(?:^|/)V\d+(?:[._]\d+)*__[^/]*\.sql$`)

// services has, by a part of the path of its settings, how people call a CI service.
var services = map[string]*lazyre.Regexp{
	".travis":          lazyre.New(`(?i)\btravis\b`),
	".github/workflow": lazyre.New(`(?i)\bgithub[ -](?:actions?|workflows?)\b|\bci workflows?\b`),
	".circleci":        lazyre.New(`(?i)\bcircle ?ci\b`),
	"appveyor":         lazyre.New(`(?i)\bappveyor\b`),
	".gitlab-ci":       lazyre.New(`(?i)\bgitlab[ -]ci\b`),
	"jenkinsfile":      lazyre.New(`(?i)\bjenkins\b`),
	"azure-pipelines":  lazyre.New(`(?i)\bazure[ -]pipelines?\b`),
}

// outcome matches a word about the result of a CI service, which does not ask for a change of its settings.
var outcome = lazyre.New(`(?i)\b(?:green|red|pass\w*|fail\w*|broken|succeed\w*|happy)\b`)

// namesService reports whether a sentence of the batch names the CI service of a file, and not only its result.
func (p protection) namesService(file string) bool {
	for part, service := range services {
		if !strings.Contains(strings.ToLower(file), part) {
			continue
		}
		for _, text := range strings.FieldsFunc(p.s.Batch.Title+"\n"+p.s.Batch.Text,
			func(r rune) bool { return r == '\n' || r == '.' || r == ';' }) {
			if service.MatchString(text) && !outcome.MatchString(text) {
				return true
			}
		}
	}
	return false
}

type protection struct {
	judge
	changes []gates.Change
}

func (p protection) changed(rule, what string, c gates.Change, sev gates.Severity) {
	named := p.s.Names(c.Path)
	deleted := c.Status == gates.Deleted
	if deleted {
		named = p.s.NamesForDeletion(c.Path)
	}
	fix, text := "revert the change", "the batch does not name it"
	switch {
	case deleted && (p.s.Names(c.Path) || p.s.Mentions(c.Path)):
		text = "the batch names it, but does not ask to delete it"
	case p.s.Mentions(c.Path):
		text = "the batch mentions it, but does not list it as a file to change"
	}
	switch {
	case named:
		sev, fix, text = gates.Note, "", "the batch names it"
	case p.s.Batch.Key == "":
		fix, text = "", "have a look"
	case sev == gates.Warning && rule == "protected/ci":
		text = "the batch names its service"
	}
	p.find(rule, sev, c.Path, 0, fix, "%s was %s, and %s; %s", path.Base(c.Path), c.Status, what, text)
}

// hadConfig reports whether the new file p replaces older settings of the same tool, in its folder or above: another
// file of the tool, or a section of a shared file.
func (p protection) hadConfig(file string) bool {
	fam := family(file)
	isNew := map[string]bool{}
	for _, c := range p.changes {
		if c.Status == gates.Added {
			isNew[c.Path] = true
		}
		if c.Status == gates.Deleted && family(c.Path) == fam {
			return true
		}
	}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		entries, _ := os.ReadDir(filepath.Join(p.s.Dir, filepath.FromSlash(dir)))
		for _, e := range entries {
			full := path.Join(dir, e.Name())
			if full == file || isNew[full] || !e.Type().IsRegular() {
				continue
			}
			if family(full) == fam || mixed(full) && mentions(filepath.Join(p.s.Dir, filepath.FromSlash(full)), fam) {
				return true
			}
		}
		if dir == "." {
			return false
		}
	}
}

// mentions reports whether a shared file contains the name of a tool, which counts as a section for it.
func mentions(file, tool string) bool {
	if fi, err := os.Lstat(file); err != nil || fi.Size() > 1<<20 {
		return false
	}
	data, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(data), tool)
}

// weakened reports whether an existing test checks less now.
func (p protection) weakened(f gates.File) bool {
	old, now := testcode.Read(f.Path, f.Before), testcode.Read(f.Path, f.After)
	if len(old.Units) == 0 {
		return len(gates.File{Before: f.After, After: f.Before}.AddedLines()) > 0 // the effect of its lines is unknown
	}
	for _, u := range old.Units {
		n, ok := now.Find(u.Name)
		switch {
		case !ok && p.because(f.Path, u) == "":
			return true
		case !ok || u.Opaque || n.Opaque:
		case n.Skips > u.Skips, n.Only > u.Only, n.Empty && !u.Empty, n.Asserts < u.Asserts &&
			p.tale.fewer(u, n) == "", n.Trivial > u.Trivial && n.Asserts < u.Asserts:
			return true
		case n.Asserts == u.Asserts && lost(u, n):
			return true // the same number of assertions, but other assertions
		}
	}
	return false
}

// lost reports whether a test lost lines with assertions without a new loop in their place.
func lost(u, n testcode.Unit) bool { return len(n.Lines) < len(u.Lines) && n.Loops <= u.Loops }

// touched reports whether existing tests of a file changed; new tests do not count.
func touched(f gates.File) bool {
	old, now := testcode.Read(f.Path, f.Before), testcode.Read(f.Path, f.After)
	if len(old.Units) == 0 {
		return f.Before != f.After
	}
	for _, u := range old.Units {
		n, ok := now.Find(u.Name)
		if !ok || strings.Join(u.Lines, "\n") != strings.Join(n.Lines, "\n") {
			return true
		}
	}
	return false
}
