package history

import (
	"cmp"
	"path"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/outline"
)

// Reason says why a commit gives no example. Each commit has at most one reason: the first that applies (TRAIN-11).
type Reason string

// The reasons, in the order of the checks.
const (
	Merge       Reason = "merge"
	NoParent    Reason = "no_parent"
	Reverted    Reason = "reverted"
	ByProgram   Reason = "by_program"
	SaysLittle  Reason = "says_little"
	TooManyFile Reason = "files"
	OtherCode   Reason = "language"
	Generated   Reason = "generated"
	NoReader    Reason = "no_reader"
	Missing     Reason = "missing"
	TooLarge    Reason = "too_large"
	Binary      Reason = "binary"
	TooMany     Reason = "lines"
	NoChange    Reason = "no_change"
	TellsLittle Reason = "tells_little"
	Secret      Reason = "secret"
	Broken      Reason = "broken"
	NoExample   Reason = "no_example"
)

// bundle says that a file was joined from others. This is no reason against a commit: its changes of the bundle follow
// from its other changes, so they are left out of the answer.
const bundle Reason = "bundle"

// Reasons returns all reasons in order.
func Reasons() []Reason {
	return []Reason{Merge, NoParent, Reverted, ByProgram, SaysLittle, TooManyFile, OtherCode, Generated, NoReader, Missing,
		TooLarge, Binary, TooMany, NoChange, TellsLittle, Secret, Broken, NoExample}
}

// Text describes a reason in words.
func (r Reason) Text() string { return cmp.Or(reasonTexts[r], string(r)) }

var reasonTexts = map[Reason]string{
	Merge:       "a merge",
	NoParent:    "the code before it is unknown",
	Reverted:    "a later commit reverts it",
	ByProgram:   "the message was written by a program: a revert, a bump, a release",
	SaysLittle:  "the message does not say what changed",
	TooManyFile: "no file, or more than 5",
	OtherCode:   "no file in a language of the index",
	Generated:   "only generated or vendored files",
	NoReader:    "ast-grep is not installed, which reads a file of it",
	Missing:     "git does not have the content here",
	TooLarge:    "a file of more than 512 KiB",
	Binary:      "a file that is not UTF-8 text",
	TooMany:     "200 changed lines or more",
	NoChange:    "no line of code changes",
	TellsLittle: "the message tells too little of the change",
	Secret:      "it contains a probable secret",
	Broken:      "a file does not parse before or after it",
	NoExample:   "no stage can make an example of it",
}

// Limits of TRAIN-11.
const (
	mostFiles = 5
	mostLines = 200       // upper limit, exclusive
	mostBytes = 512 << 10 // of a file
)

// byItself returns the reason that follows from the commit alone, before any file is read.
func byItself(c git.Past, reverted map[string]bool, reads func(outline.Language) bool) Reason {
	switch {
	case len(c.Parents) > 1:
		return Merge
	case len(c.Parents) == 0:
		return NoParent
	case reverted[c.Hash]:
		return Reverted
	}
	if r := ofMessage(c.Message); r != "" {
		return r
	}
	if len(c.Entries) == 0 || len(c.Entries) > mostFiles {
		return TooManyFile
	}
	code, own := 0, 0
	readable := true
	for _, e := range c.Entries {
		l := outline.LanguageOf(e.Path)
		if l == "" || !regular(e) {
			continue
		}
		code++
		if madeByProgram(e.Path) {
			continue
		}
		own++
		readable = readable && reads(l)
	}
	switch {
	case code == 0:
		return OtherCode
	case own == 0:
		return Generated
	case !readable:
		return NoReader
	}
	return ""
}

// regular reports whether both sides are regular files, not links or submodules.
func regular(e git.Entry) bool {
	is := func(mode string) bool { return mode == "000000" || strings.HasPrefix(mode, "100") }
	return e.Status != 'T' && is(e.OldMode) && is(e.NewMode)
}

// wanted reports whether examples are made from a changed file.
func wanted(e git.Entry) bool {
	return outline.LanguageOf(e.Path) != "" && regular(e) && !madeByProgram(e.Path)
}

// madeByProgram reports whether a path suggests a file that was not written in this project.
func madeByProgram(name string) bool {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if foreignFolder(dir) {
			return true
		}
	}
	return language.GeneratedName(path.Base(name))
}

// foreignFolder reports whether a folder name suggests third-party code or build output.
func foreignFolder(dir string) bool {
	return dir == "dist" || dir == "external" || language.Vendored(dir)
}

// saysGenerated reports whether the first lines or very long lines mark a file as generated.
func saysGenerated(text string) bool {
	const longLine = 4000 // bytes; no person writes more
	if language.Generated(text) {
		return true
	}
	for len(text) > longLine {
		end := strings.LastIndexByte(text[:longLine], '\n')
		if end < 0 {
			return true
		}
		text = text[end+1:]
	}
	return false
}

var (
	byProgram    = lazyre.New(`(?i)^(?:merge\b|revert\b|bump\b|release\b|(?:chore|build)\(deps[^)]*\)|update dependenc|fixup!|squash!|amend!|auto[- ]?(?:generated|commit|merge|update)|\[?(?:bot|ci skip|skip ci|automated)\b|version \d|v?\d+\.\d+[\w.+-]*$)`)
	conventional = lazyre.New(`^[a-z]+(?:\([^)]{1,60}\))?!?:\s+`)
	trailer      = lazyre.New(`^(?i:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|cc|change-id|reviewed-on|commit-queue|auto-submit|tryjob-request|lucy-tested|run-trybot|trybot-result|git-svn-id|gerrit-\w+|cherry-picked-from|link|bug|task-id|differential revision)\b\s*:.*$|^\(cherry picked from commit .*\)$`)
	revertLine   = lazyre.New(`(?m)^This reverts commit ([0-9a-f]{7,64})\b`)
)

// emptyWords are words that say nothing about a change.
var emptyWords = wordset.New(
	"fix fixes fixed fixing wip misc miscellaneous update updates updated updating change changes changed changing " +
		"cleanup clean up minor small tiny stuff things thing tmp temp test tests " +
		"typo typos more commit work progress some various further again oops done add added edit edits edited final " +
		"initial init first save checkpoint code file files bug bugs issue issues review comments comment address " +
		"feedback pr polish tweak tweaks improve improvements improvement adjust adjustments correction corrections per " +
		"refactor refactoring refactored lint format formatting style the a an of for in on to and or it its this that " +
		"with from as by at is are be was were not no new old use used")

// Minimum contents of a subject line.
const (
	leastChars = 15
	leastWords = 3 // words of at least two letters
	leastTells = 2 // of these, words not in emptyWords
)

// ofMessage returns why a commit message is unusable. The subject must have at least 15 characters and three words,
// two of them not in emptyWords. A prefix such as "fix(parser):" and issue numbers do not count.
func ofMessage(message string) Reason {
	subject, _, _ := strings.Cut(message, "\n")
	if byProgram.MatchString(subject) || len(revertedBy(message)) > 0 {
		return ByProgram
	}
	subject = withoutPrefix(bareSubject(subject))
	words, tells := 0, map[string]bool{}
	for _, w := range letters(subject) {
		if len(w) < 2 {
			continue
		}
		words++
		if !emptyWords.Has(w) {
			tells[w] = true
		}
	}
	if len([]rune(strings.TrimSpace(subject))) < leastChars || words < leastWords || len(tells) < leastTells {
		return SaysLittle
	}
	return ""
}

// withoutPrefix removes the prefix of conventional commits: "fix(parser): "
func withoutPrefix(subject string) string {
	if !strings.Contains(subject, ":") {
		return subject
	}
	return conventional.ReplaceAllString(subject, "")
}

// letters returns the words of a text in lower case.
func letters(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !(r >= 'a' && r <= 'z' || r > 0x7f || r == '_' || r == '\'') })
}

// revertedBy returns the commits that a message says it reverts.
func revertedBy(message string) []string {
	if !strings.Contains(message, "This reverts commit ") { // fast check for the common case
		return nil
	}
	return lists.Map(revertLine.FindAllStringSubmatch(message, 20), func(m []string) string { return m[1] })
}

// maxTask is the highest length of a task in characters.
const maxTask = 4000

// taskOf returns the task text of a message, without trailers and tool output.
func taskOf(message string) string {
	var lines []string
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, " \t\r\n")
		if (strings.Contains(line, ":") || strings.HasPrefix(line, "(")) && trailer.MatchString(line) {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(phrase.Cut(strings.TrimSpace(strings.Join(lines, "\n")), maxTask))
}
