package tamper

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// silencer is a comment that silences a tool.
type silencer struct {
	name  string
	types bool // of a type checker (GATE-11)
	re    *lazyre.Regexp
	// reasoned matches a comment that names a rule and gives a reason, or names the error of a type checker; nil if
	// the tool has no such form.
	reasoned *lazyre.Regexp
	exts     string // extensions with a space around each; "" for any text
}

const (
	jsExts = " .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte "
	cExts  = " .c .h .cc .cpp .hpp .m .cs "
)

var silencers = []silencer{
	{"type: ignore", true, lazyre.New(`#\s*type:\s*ignore\b`), lazyre.New(`#\s*type:\s*ignore\[[\w, -]+\]`), " .py .pyi "},
	{"pyright: ignore", true, lazyre.New(`#\s*pyright:\s*(?:ignore\b|basic\b|\w+\s*=\s*(?:false|none|warning))`), nil,
		" .py .pyi "},
	{"mypy: ignore", true, lazyre.New(`#\s*mypy:\s*(?:ignore|disable|allow|no-)`), nil, " .py .pyi "},
	{"@no_type_check", true, lazyre.New(`@(?:typing\.)?no_type_check\b`), nil, " .py .pyi "},
	{"@ts-ignore", true, lazyre.New(`@ts-ignore\b`), nil, jsExts},
	{"@ts-expect-error", true, lazyre.New(`@ts-expect-error\b`), nil, jsExts},
	{"@ts-nocheck", true, lazyre.New(`@ts-nocheck\b`), nil, jsExts},
	{"nolint", false, lazyre.New(`//\s*nolint\b`), lazyre.New(`//\s*nolint:[\w,-]+\s*//\s*\w+`), " .go "},
	{"lint:ignore", false, lazyre.New(`//\s*lint:(?:file-)?ignore\b`), lazyre.New(`//\s*lint:ignore\s+\S+\s+\w+`),
		" .go "},
	{"#nosec", false, lazyre.New(`#\s*nosec\b`), lazyre.New(`#\s*nosec\s+[GB]\d+\s+\S+\s+\w+`), " .go .py "},
	{"noqa", false, lazyre.New(`(?i)#\s*(?:ruff:\s*|flake8:\s*)?noqa\b`),
		lazyre.New(`(?i)#\s*noqa:\s*[A-Z]+\d+(?:[, ]+[A-Z]+\d+)*\s*(?:#|--|-|:|\()\s*\w+`), " .py .pyi "},
	{"pylint: disable", false, lazyre.New(`#\s*pylint:\s*(?:disable|skip-file)\b`),
		lazyre.New(`#\s*pylint:\s*disable=[\w,-]+\s*#\s*\w+`), " .py .pyi "},
	{"fmt: off", false, lazyre.New(`#\s*fmt:\s*(?:off|skip)\b`), nil, " .py .pyi "},
	{"pragma: no cover", false, lazyre.New(`#\s*pragma:\s*no\s*cover\b`), nil, " .py .pyi "},
	{"istanbul ignore", false, lazyre.New(`\b(?:istanbul|c8|v8)\s+ignore\b`), nil, jsExts},
	{"eslint-disable", false, lazyre.New(`\beslint-disable(?:-next-line|-line)?\b|\beslint\s+[\w/@-]+:\s*(?:0|"?off)`),
		lazyre.New(`\beslint-disable(?:-next-line|-line)\s+[\w@/, -]+?\s--\s+\w+`), jsExts + ".html "},
	{"biome-ignore", false, lazyre.New(`\bbiome-ignore\b`), lazyre.New(`\bbiome-ignore\s+[\w/]+:\s*\w+`), jsExts +
		".json .css "},
	{"tslint:disable", false, lazyre.New(`\btslint:disable\b`), nil, jsExts},
	{"prettier-ignore", false, lazyre.New(`\bprettier-ignore\b`), nil, ""},
	{"shellcheck disable", false, lazyre.New(`#\s*shellcheck\s+disable=`),
		lazyre.New(`#\s*shellcheck\s+disable=[\w,]+\s*#\s*\w+`), " .sh .bash .bats .ksh "},
	{"ast-grep-ignore", false, lazyre.New(`\bast-grep-ignore\b`), nil, ""},
	{"#pragma", false, lazyre.New(`#\s*pragma\s+(?:warning\s+disable|(?:GCC|clang)\s+diagnostic\s+ignored)`), nil, cExts},
	{"NOLINT", false, lazyre.New(`//\s*NOLINT(?:NEXTLINE|BEGIN)?\b`), nil, cExts},
	{"#[allow]", false, lazyre.New(`#!?\[\s*(?:allow|expect)\s*\(`),
		lazyre.New(`#\[\s*(?:allow|expect)\s*\([^)]*reason\s*=`), " .rs "},
	{"@SuppressWarnings", false, lazyre.New(`@(?:SuppressWarnings|Suppress)\b`), nil, " .java .kt "},
	{"rubocop:disable", false, lazyre.New(`#\s*(?:rubocop:(?:disable|todo)|standard:disable)\b|#\s*:nocov:`),
		lazyre.New(`#\s*rubocop:(?:disable|todo)\s+[\w/, ]+?\s--\s+\w+`), " .rb .rake "},
	{"deno-lint-ignore", false, lazyre.New(`\b(?:deno-lint-ignore|oxlint-disable)\b`),
		lazyre.New(`\bdeno-lint-ignore\s+[\w-]+\s+--\s+\w+`), jsExts},
	{"stylelint-disable", false, lazyre.New(`\bstylelint-disable\b`),
		lazyre.New(`\bstylelint-disable\S*\s+[\w/@, -]+?\s--\s+\w+`), " .css .scss .sass .less .vue "},
	{"nosemgrep", false, lazyre.New(`\bnosemgrep\b`), nil, ""},
	{"gitleaks:allow", false, lazyre.New(`\bgitleaks:allow\b|\bpragma:\s*allowlist\s+secret\b`), nil, ""},
	{"runplan:ignore", false, lazyre.New(`\brunplan:ignore\b`), lazyre.New(`\brunplan:ignore\s+[\w/:.-]+\s+\w.{2,}`), ""},
}

// silenced finds comments that silence tools, if a file has more of a kind than before (GATE-11). A new file had none.
// Lines that the plan spells out are remarks.
func (j judge) silenced(f gates.File) {
	ext := path.Ext(f.Path)
	if prose(ext) || language.Copied(f.Path) {
		return
	}
	if ext == "" && strings.HasPrefix(f.After, "#!") && strings.Contains(strings.SplitN(f.After, "\n", 2)[0], "sh") {
		ext = ".sh"
	}
	added := f.AddedLines()
	for _, s := range silencers {
		if s.exts != "" && !strings.Contains(s.exts, " "+ext+" ") {
			continue
		}
		if s.name == "@ts-expect-error" && typeTest(f) {
			continue // it fails without an error, so it is an assertion
		}
		now := len(s.re.FindAllStringIndex(f.After, -1))
		if now == 0 {
			continue
		}
		was := len(s.re.FindAllStringIndex(f.Before, -1))
		if now <= was {
			continue
		}
		more := now - was
		for _, l := range added {
			if more == 0 {
				break
			}
			if !s.re.MatchString(l.Text) {
				continue
			}
			more--
			rule, sev := "tamper/silenced", gates.Error
			if s.types {
				rule = "tamper/type-ignore"
				if language.IsTest(f.Path) &&
					(s.name == "@ts-expect-error" || s.reasoned != nil && s.reasoned.MatchString(l.Text) || j.likeOthers(s, f)) {
					// The first fails without an error, so it tests types. The second names its error, and tests often
					// use what they test in ways that types forbid; no test passes because of it. The third is how the
					// project writes its tests.
					sev = gates.Warning
				}
			} else if s.reasoned != nil && s.reasoned.MatchString(l.Text) ||
				s.name == "noqa" && language.IsTest(f.Path) && layout.MatchString(l.Text) {
				sev = gates.Warning
			}
			if j.s.Contains(l.Text) || was > 0 && s.name == "noqa" && reexport(f.Path, l.Text) {
				sev = gates.Note // the plan spells the line out, or the file has such lines
			}
			fix := "correct the code instead of silencing the tool"
			if s.reasoned != nil {
				fix = "correct the code; if the tool is wrong, name its rule in the comment and add the reason"
			}
			j.find(rule, sev, f.Path, l.Number, fix+"; only a batch whose text quotes the line allows it",
				"%s: the file has %d of these comments, it had %d", s.name, now, was)
		}
	}
}

// layout matches a comment that silences only rules of pycodestyle on how a line is written. E722 is not one of them: a
// bare except catches failed assertions.
var layout = lazyre.New(`(?i)#\s*noqa:(?:\s*,?\s*(?:E[1-5]\d\d|E70\d|E731|E741|W[1-6]\d\d)\b)+\s*$`)

// likeOthers reports whether f is a new test whose types are not checked, like those of another test in its folder that
// the change leaves alone.
func (j judge) likeOthers(s silencer, f gates.File) bool {
	if s.name != "@ts-nocheck" || f.Status != gates.Added || typeTest(f) {
		return false
	}
	dir := path.Dir(f.Path)
	entries, _ := os.ReadDir(filepath.Join(j.s.Dir, filepath.FromSlash(dir)))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		file := path.Join(dir, e.Name())
		return e.Type().IsRegular() && path.Ext(file) == path.Ext(f.Path) && language.IsTest(file) &&
			!slices.Contains(j.s.Changed, file) && mentions(filepath.Join(j.s.Dir, filepath.FromSlash(file)), s.name)
	})
}

// reexport reports whether a line of a Python package imports a name for others, which linters report as unused.
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

// prose reports whether files with ext only write about such comments.
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
