package tamper

import (
	_ "embed"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/tables"
)

// silencer is a comment that silences a tool.
type silencer struct {
	Name  string
	Types bool // of a type checker (GATE-11)
	Re    *lazyre.Regexp
	// Reasoned matches a comment that names a rule and gives a reason, or names the error of a type checker; nil if
	// the tool has no such form.
	Reasoned *lazyre.Regexp

	exts []string // of the files that may have it; nil for any text
}

//go:embed silencers.toml
var silencerTable string

var silencers = sync.OnceValue(func() (all []silencer) {
	var t struct {
		Group []struct {
			Exts     []string
			Silencer []silencer
		}
	}
	tables.Read(silencerTable, &t)
	for _, g := range t.Group {
		for _, s := range g.Silencer {
			s.exts = g.Exts
			all = append(all, s)
		}
	}
	return all
})

// silenced finds comments that silence tools, if a file now has more comments of one kind (GATE-11). In a new file all
// comments count. If the plan contains the line, the finding is a remark.
func (j judge) silenced(f gates.File) {
	ext := path.Ext(f.Path)
	if prose(ext) || language.Copied(f.Path) {
		return
	}
	if ext == "" && strings.HasPrefix(f.After, "#!") && strings.Contains(strings.SplitN(f.After, "\n", 2)[0], "sh") {
		ext = ".sh"
	}
	added := f.AddedLines()
	for _, s := range silencers() {
		if s.exts != nil && !slices.Contains(s.exts, ext) {
			continue
		}
		if s.Name == "@ts-expect-error" && typeTest(f) {
			continue // @ts-expect-error fails if there is no error, so it is an assertion
		}
		now := len(s.Re.FindAllStringIndex(f.After, -1))
		if now == 0 {
			continue
		}
		was := len(s.Re.FindAllStringIndex(f.Before, -1))
		if now <= was {
			continue
		}
		more := now - was
		for _, l := range added {
			if more == 0 {
				break
			}
			if !s.Re.MatchString(l.Text) {
				continue
			}
			more--
			rule, sev := "tamper/silenced", gates.Error
			if s.Types {
				rule = "tamper/type-ignore"
				if language.IsTest(f.Path) &&
					(s.Name == "@ts-expect-error" || s.Reasoned != nil && s.Reasoned.MatchString(l.Text) || j.likeOthers(s, f)) {
					// @ts-expect-error fails if there is no error, so it tests types. A comment that names the error is common in
					// tests, which often use code in ways that types forbid; it makes no test pass. likeOthers follows the style of
					// the project.
					sev = gates.Warning
				}
			} else if s.Reasoned != nil && s.Reasoned.MatchString(l.Text) ||
				s.Name == "noqa" && language.IsTest(f.Path) && layout.MatchString(l.Text) {
				sev = gates.Warning
			}
			if j.s.Contains(l.Text) || was > 0 && s.Name == "noqa" && reexport(f.Path, l.Text) {
				sev = gates.Note // the plan contains the line, or the file already had such lines
			}
			fix := "correct the code instead of silencing the tool"
			if s.Reasoned != nil && (!s.Types || language.IsTest(f.Path)) {
				fix = "correct the code; if the tool is wrong, name its rule in the comment and add the reason"
			}
			j.find(rule, sev, f.Path, l.Number, fix+"; only a batch whose text quotes the line allows it",
				"%s: the file has %d of these comments, it had %d", s.Name, now, was)
		}
	}
}

// layout matches a comment that silences only layout rules of pycodestyle. E722 is not a layout rule: a bare except
// catches failed assertions.
var layout = lazyre.New(`(?i)#\s*noqa:(?:\s*,?\s*(?:E[1-5]\d\d|E70\d|E731|E741|W[1-6]\d\d)\b)+\s*$`)

// likeOthers reports whether f is a new test file with @ts-nocheck, and an unchanged test file in its folder has this
// comment, too.
func (j judge) likeOthers(s silencer, f gates.File) bool {
	if s.Name != "@ts-nocheck" || f.Status != gates.Added || typeTest(f) {
		return false
	}
	dir := path.Dir(f.Path)
	entries, _ := os.ReadDir(filepath.Join(j.s.Dir, filepath.FromSlash(dir)))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		file := path.Join(dir, e.Name())
		return e.Type().IsRegular() && path.Ext(file) == path.Ext(f.Path) && language.IsTest(file) &&
			!slices.Contains(j.s.Changed, file) && mentions(filepath.Join(j.s.Dir, filepath.FromSlash(file)), s.Name)
	})
}

// reexport reports whether a line of a Python package imports a name only to export it, which linters report as unused.
func reexport(file, line string) bool {
	return path.Base(file) == "__init__.py" && importing.MatchString(line)
}

var importing = lazyre.New(`^\s*(?:from|import)\s+\.?\w`)

var typeAssertion = lazyre.New(`\b(?:expectTypeOf|satisfies |assertType|expectType|expectError|attest|util\.assertEqual|Expect<Equal|AssertEqual|IsEqual<)`)

// typeTest reports whether a file tests types: by its name, or by how it asserts.
func typeTest(f gates.File) bool {
	return gates.Match([]string{"**/*.test-d.*", "**/*.{typetest,types.test,test.types,spec-d}.*",
		"**/{type-tests,typetests,dtslint,types/test,test-d,__typetests__}/**"}, f.Path) ||
		language.IsTest(f.Path) && typeAssertion.MatchString(f.After)
}

// prose reports whether files with ext are documents, which can only describe such comments.
func prose(ext string) bool {
	return slices.Contains([]string{".md", ".mdx", ".rst", ".txt", ".adoc", ".snap", ".lock", ".sum"}, ext)
}

// snapshot finds rewritten recorded answers. It ignores new ones.
func (j judge) snapshot(f gates.File) {
	if !isSnapshot(f.Path) || f.Status == gates.Added {
		return
	}
	lost := gates.File{Before: f.After, After: f.Before}.AddedLines() // the removed lines
	if len(lost) == 0 && f.Status != gates.Deleted {
		return
	}
	named := j.s.Names(f.Path)
	if owner := snapshotOwner(f.Path); !named && owner != "" {
		named = j.s.Names(owner)
	}
	if f.Status == gates.Deleted {
		if owner := snapshotOwner(f.Path); owner != "" && j.s.NamesForDeletion(owner) {
			named = true
		}
	}
	line := 0
	if len(lost) > 0 && f.Status != gates.Deleted {
		line = min(lost[0].Number, max(1, strings.Count(f.After, "\n")))
	}
	j.find("tamper/snapshot", j.unless(named, gates.Note), f.Path, line,
		"restore the recorded answer, and make the code return it",
		"a recorded answer was rewritten: %d of its lines were removed", len(lost))
}

// snapshotOwner returns the test file that a jest or vitest snapshot belongs to, "" for others.
func snapshotOwner(p string) string {
	dir, base := path.Split(p)
	if stem, ok := strings.CutSuffix(base, ".snap"); ok && path.Base(dir) == "__snapshots__" {
		return path.Join(path.Dir(path.Clean(dir)), stem)
	}
	if stem, ok := strings.CutSuffix(base, ".ambr"); ok && path.Base(dir) == "__snapshots__" {
		return path.Join(path.Dir(path.Clean(dir)), stem+".py")
	}
	return ""
}
