package promise

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// frameLines match lines that a file needs for its language only, such as the package clause.
const frameLines = `^[ \t]*(?:package \w+|export \{\};?|module\.exports = \{\};?|['"]use strict['"];?)[ \t]*$`

// skeletonWords match words of a batch that asks for code without a function.
const skeletonWords = `stubs?|placeholders? (?:implementation|function|method|module|class|file|code|page|command|for|only)\w*|(?:as|add|create|only|just|with) (?:an? )?placeholders?|skeletons?|scaffold\w*|not.?implemented|unimplemented|todo!`

var (
	// mayBeEmpty matches files that have a purpose even if they are empty, and words of a batch that asks for such a file.
	mayBeEmpty = lazyre.New(`(?:^|/)(?:__init__\.py|py\.typed|doc\.go|\.[^/]*|conftest\.py|[^/]*\.lock)$|(?i)empty|blank|stub|placeholder|fixtures?/|testdata/`)
	asksEmpty  = lazyre.New(`(?i)\b(?:empty|blank|touch|todo|` + skeletonWords + `)\b`)
	// later matches functions that are marked as not written yet, and abstract functions that subclasses complete.
	later = lazyre.New(`(?m)^def \w+\(.*\n(?:\s+"""(?s:.*?)"""\n)?\s+raise NotImplementedError|^\s+def self\.\w+.*\n\s+raise NotImplementedError|\berrors\.New\("(?i:not (?:yet )?implemented|todo|unimplemented)|\bpanic\("(?i:not (?:yet )?implemented|todo|unimplemented)|\b(?:todo|unimplemented)!\(|` +
		`\bthrow new Error\(\s*['"\x60](?i:not (?:yet )?implemented|todo|unimplemented)`)
	// declares matches the declaration of a function, idle matches lines that do nothing, and tells matches lines that
	// print text.
	declares = lazyre.New(`\b(?:def|fn|func|function)\s+\w|=>|^#!`)
	idle     = lazyre.New(`(?m)^\s*(?:[{}()\[\];,]+|(?:(?:pub|export|default|async|static)\s+)*(?:def|fn|func|function|mod|module|class)\b.*|(?:import|from|use|require)\b.*|(?:const|let|var)\b.*\brequire\(.*|module\.exports\b.*|end|pass|\.\.\.|` +
		`(?:return\b)?\s*(?:None|null|nil|undefined|0|""|'')?;?|exit 0|set -\w+|if __name__.*|sys\.exit\(main\(.*\)\)|main\(.*\))\s*(?://|#)?\s*$`)
	// oneLine matches a function with its body on the same line.
	oneLine  = lazyre.New(`(?m)^(.*\b(?:func|fn|function)\b.*\{)([^{}\n]*[^{}\s][^{}\n]*)\}[ \t]*;?$|^(.*\bdef\s.*\)(?:\s*->[^:\n]*)?:)[ \t]*(\S.*)$`)
	tells    = lazyre.New(`(?m)^\s*(?:print|console\.log|puts|echo|println!|fmt\.Println)\b.*$`)
	promises = lazyre.New(`(?i)\b(?:todo|fixme|tbd)\b`)
	abstract = lazyre.New(`\bclass\b|\babstract\b|\binterface\b|\btrait\b|\b[Mm]ock|\b[Ff]ake`)
	// remarks matches comments and docstrings on lines of their own.
	remarks = lazyre.New(`(?m)^[ \t]*(?:(?:#|//[/!]?)(?:[ \t].*)?|"""[^"\n]*"""|/\*(?s:.*?)\*/)[ \t]*$`)
	// filler matches lines without content: comments, the frame of a file, and promises to write it later.
	filler = lazyre.New(`(?m)/\*(?s:.*?)\*/|^\s*(?:#(?:[ \t!#]|$)|//|--|;|%).*$|"""(?s:.*?)"""|^[ \t]*pass[ \t]*$|` + frameLines + `|` +
		`(?i)\b(?:todo|tbd|fixme|to be (?:done|written)|coming soon|work in progress|lorem ipsum)\b[^\n]*|(?i)\[(?:insert|your|add|describe)\b[^\]\n]*\]`)
)

// hollow reports whether a file that the batch creates has no content. A file whose lines are all in the plan is not
// hollow.
func (o Options) hollow(s gates.Subject, name string) bool {
	if s.Dir == "" || mayBeEmpty.MatchString(name) || asksEmpty.MatchString(s.Batch.Title+"\n"+s.Batch.Text) {
		return false
	}
	files := o.in(func(p string) bool { return p == name })
	if len(files) == 0 {
		return false
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(name)))
	text, lines := string(data), fullLines(data)
	asked := len(lines) > 0 && !slices.ContainsFunc(lines, func(l string) bool {
		return !slices.Contains(fullLines([]byte(s.Batch.Text)), l)
	})
	return err == nil && len(data) < 4<<10 && !asked && (strings.TrimSpace(filler.ReplaceAllString(text, "")) == "" ||
		!language.IsTest(name) && (stub(name, text) || later.MatchString(text) && !abstract.MatchString(text) ||
			strings.HasSuffix(name, ".py") && unwritten(text)))
}

var (
	// classes matches a class of Python with its body, and classHead its first line.
	classes   = lazyre.New(`(?m)^class (\w+).*:\n((?:(?:[ \t].*)?\n)*)`)
	classHead = lazyre.New(`(?m)^\s*class \w+.*$`)
)

// unwritten reports whether a Python file creates an object of its own class although a method of this class is not
// written yet. Base classes do not count: no object is created, or another class completes them.
func unwritten(text string) bool {
	code := filler.ReplaceAllString(text, "")
	heads, rest := strings.Join(classHead.FindAllString(code, -1), "\n"), classHead.ReplaceAllString(code, "")
	return slices.ContainsFunc(classes.FindAllStringSubmatch(code, -1), func(m []string) bool {
		return strings.Contains(m[2], "raise NotImplementedError") &&
			regexp.MustCompile(`\b`+m[1]+`\(`).MatchString(rest) && !regexp.MustCompile(`\(.*\b`+m[1]+`\b`).MatchString(heads)
	})
}

// stub reports whether a file declares functions and all of them do nothing: they return their input, always fail, or
// only print although a comment says that work remains.
func stub(name, text string) bool {
	if !declares.MatchString(text) || protocol.MatchString(text) {
		return false
	}
	rest := oneLine.ReplaceAllString(filler.ReplaceAllString(text, ""), "$1$3\n$2$4\n")
	if promises.MatchString(text) {
		rest = tells.ReplaceAllString(rest, "")
	}
	failing, params := fails.MatchString(path.Base(name)), map[string]bool{}
	for line := range strings.Lines(rest) {
		failing = failing || fails.MatchString(language.Declared(line))
		if m := parameters.FindStringSubmatch(line); m != nil {
			for _, word := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(" ,:=*&", r) }) {
				params[word] = true
			}
		}
	}
	if !failing {
		rest = refuses.ReplaceAllString(rest, "")
	}
	rest = same.ReplaceAllStringFunc(rest, func(line string) string {
		if params[same.FindStringSubmatch(line)[1]] {
			return ""
		}
		return line
	})
	return strings.TrimSpace(idle.ReplaceAllString(rest, "")) == ""
}

var (
	parameters = lazyre.New(`\b(?:def|fn|func|function)\s+\w+\s*\(([^)]*)\)`)
	// same matches the return of a name, and refuses a line that always raises an error.
	same    = lazyre.New(`(?m)^\s*(?:return\s+)?(\w+);?\s*$`)
	refuses = lazyre.New(`(?m)^\s*(?:raise (?:[^S\s]|S[^y\s])\S*\(.*\)|throw new \w+\(.*\);?|panic\(.*\))\s*$`)
	// fails matches names of code whose purpose is to report errors.
	fails = lazyre.New(`(?i)err|exception|fail|abort|raise|throw|die|panic|unsupported|refuse|reject|deny|forbid`)
)

// protocol matches code whose functions may do nothing.
var protocol = lazyre.New(`\bProtocol\b|\bABC\b|\babstract|\binterface\b|\btrait\b|\bimpl\b|\bhookspec|\boverload\b|\b(?i:no-?op|null ?object|dummy|mock|fake)`)
