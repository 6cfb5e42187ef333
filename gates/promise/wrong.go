package promise

import (
	"cmp"
	"go/version"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// wrongs replaces operators that have spaces around them. Constants stay, because tests often do not depend on them.
var wrongs = map[string]string{"+": "-", "-": "+", "*": "+", "/": "*", "%": "*", "==": "!=", "!=": "==", "===": "!==",
	"!==": "===", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// parts matches a string literal, a comment, a word or a sign of code.
const parts = `"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `|//.*|#.*|[\w.$]+|[^\s\w"'` + "`" + `]+`

var (
	part = lazyre.New(parts)
	// withPatterns is parts for languages in which a regular expression is written between slashes.
	withPatterns = lazyre.New(`\(?/[^\s/*](?:[^/\\\n]|\\.)*/[a-z]*|` + parts)
	// begins matches lines at which a statement may begin, and goesOn lines after which the next one is not a statement.
	begins   = lazyre.New(`^\s*(?:return|if|for|while|let|const|var|raise|throw|[\w.\[\]$@]+(?:, *\w+)* *:?[-+*/]?= |[\w.:]+\()|^\s*[\w()$]+ [-+*/%] `)
	goesOn   = lazyre.New(`(?:[(\[,\\=|&+*/?:.-]|\band|\bor|\bnot)\s*$`)
	opens    = lazyre.New(`[:{]\s*(?:#.*|//.*)?$`)
	result   = lazyre.New(`^(\s*return )([^({\[;]*(?:\([^()]*\))?[^({\[;]*?)(;?)$`)
	root     = lazyre.New(`^(?:lib|mod|index|__init__)$`) // tests import it by the name of its package
	constant = lazyre.New(`^(?:[-+]?\d+|[Tt]rue|[Ff]alse|None|nil|null|undefined|self|this|err|["'].*["'])$`)
	loopHead = lazyre.New(`^\s*(?:\} )?(?:for|while|until|loop)\b`)
	comment  = lazyre.New(`^\s*(?:#|//|/\*|$)`)
	built    = lazyre.New(`\b(?:dist|build|target)/`) // tests that run build output do not run the changed lines
	// idleHeader matches a function header that is on one line.
	idleHeader = lazyre.New(`^\s*(?:async )?def \w+.*\):\s*$|^\s*(?:async )?def \w+.*->.*:\s*$|` +
		`^\s*def [\w.]+[?!]?(?:\([^()]*\))?\s*$|^[^=]*\{\s*$`)
	goNoResult = lazyre.New(`^func (?:\([^()]*\) )?\w+\([^()]*\) \{$`)
	goPackage  = lazyre.New(`(?m)^package \w+`)
	goBuild    = lazyre.New(`(?m)^//go:build (.+)$`)
	marks      = map[string]string{".py": `open("MARK", "a").close()`, ".rb": `File.write("MARK", "")`,
		".go": `runplanRan()`,
		".rs": `std::fs::write("MARK", "").ok();`,
		".js": `process.getBuiltinModule("fs").writeFileSync("MARK", "");`, ".sh": `: >"MARK";`}
	empty = map[string]string{".py": "None", ".rb": "nil", ".js": "undefined"}
)

// wrongLine is a wrong version of a line.
type wrongLine struct {
	at       int    // in the file, from 0
	was, bad string // without white space around
	kind     wrongKind
}

// wrongKind tells what is wrong in a line.
type wrongKind int

const (
	wrongOperator wrongKind = iota
	wrongLoop               // an operator in the head of a loop, which may become endless
	noResult                // the result is empty
)

// wrongLines returns wrong versions of lines of the new functions of a file. In a new file all lines count.
func wrongLines(f gates.File) (out []wrongLine) {
	ext, lines := codeExt(f.Path), strings.Split(f.After, "\n")
	if marks[ext] == "" {
		return nil
	}
	before := func(i int) string {
		for i--; i >= 0; i-- {
			if t := strings.TrimSpace(lines[i]); t != "" && !strings.HasPrefix(t, "//") && !strings.HasPrefix(t, "#") {
				return t
			}
		}
		return ""
	}
	added := map[int]bool{}
	for _, a := range f.AddedLines() {
		added[a.Number-1] = true
	}
	var above []int // the headers of the blocks around a line
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		for len(above) > 0 && language.Depth(lines[above[len(above)-1]]) >= language.Depth(line) {
			above = above[:len(above)-1]
		}
		above = append(above, i)
		if f.Status != gates.Added && !slices.ContainsFunc(above, func(at int) bool {
			return added[at] && freshName(f, lines[at]) != ""
		}) {
			continue
		}
		last := before(i)
		if ext != ".sh" && (language.Depth(line) == 0 || !begins.MatchString(line)) ||
			goesOn.MatchString(last) && !opens.MatchString(last) {
			continue
		}
		w := wrongLine{at: i, was: strings.TrimSpace(line), bad: withWrongOperators(line, ext)}
		if loopHead.MatchString(line) {
			w.kind = wrongLoop
		}
		if m := result.FindStringSubmatch(line); m != nil && w.bad == line && !constant.MatchString(m[2]) &&
			!comment.MatchString(m[2]) {
			w.kind = noResult
			switch one, rest, more := strings.Cut(m[2], ","); {
			case empty[ext] != "":
				w.bad = m[1] + empty[ext] + m[3]
			case ext == ".go" && more && strings.Count(one, "(") == strings.Count(one, ")"):
				w.bad = m[1] + "runplanZero(" + one + ")," + rest
			case ext == ".go" && !more:
				w.bad = m[1] + "runplanZero(" + one + ")"
			}
		}
		if w.bad != line {
			w.bad = strings.TrimSpace(w.bad)
			out = append(out, w)
		}
	}
	return out
}

// withWrong returns a file with wrong lines. Each wrong line creates the file mark when it runs.
func withWrong(f gates.File, wrong []wrongLine, mark string) string {
	ext := codeExt(f.Path)
	marker, lines := strings.Replace(marks[ext], "MARK", mark, 1), strings.Split(f.After, "\n")
	for _, w := range wrong {
		indent := lines[w.at][:language.Depth(lines[w.at])]
		if at := strings.Index(w.bad, ") "); ext == ".sh" && at > 0 && !strings.Contains(w.bad[:at], "(") {
			lines[w.at] = indent + w.bad[:at+2] + marker + w.bad[at+1:] // a branch of case
			continue
		}
		lines[w.at] = indent + marker + "\n" + indent + w.bad
	}
	return strings.Join(lines, "\n")
}

// worst returns the wrong lines of a file that can be combined. It takes headers of loops only if there are no other
// lines.
func worst(f gates.File) []wrongLine {
	all := wrongLines(f)
	some := lists.Filter(all, func(w wrongLine) bool { return w.kind != wrongLoop })
	if len(some) == 0 {
		return all
	}
	return some
}

// addWrong adds a file with wrong lines to the texts, and for Go a file with the functions that these lines call.
func addWrong(texts map[string]string, dir string, f gates.File, wrong []wrongLine, mark string) {
	texts[f.Path] = withWrong(f, wrong, mark)
	if path.Ext(f.Path) == ".go" {
		helper := path.Join(path.Dir(f.Path), "zz_runplan_ran.go")
		texts[f.Path], texts[helper] = goHelper(texts[f.Path], texts[helper], mark, goVersion(dir, f.Path))
	}
}

// codeExt returns the extension that stands for the language of a file.
func codeExt(file string) string {
	ext := path.Ext(file)
	if slices.Contains([]string{".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts"}, ext) {
		return ".js"
	}
	return ext
}

// withWrongOperators replaces the operators of a line, outside of texts and comments.
func withWrongOperators(line, ext string) string {
	re := part
	if ext == ".js" || ext == ".rb" {
		re = withPatterns
	}
	return re.ReplaceAllStringFunc(line, func(w string) string {
		if to, ok := wrongs[w]; ok && (ext != ".sh" || len(w) == 1 && strings.Contains("+-*/%", w)) {
			return to
		}
		return w
	})
}

// goVersion returns the version of the language in the module of a file, "" if its go.mod names none.
func goVersion(dir, file string) string {
	for at := path.Dir(file); ; at = path.Dir(at) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(at), "go.mod"))
		if mod, _ := modfile.ParseLax("go.mod", text, nil); err == nil && mod != nil && mod.Go != nil {
			return "go" + mod.Go.Version
		}
		if err == nil || at == "." {
			return ""
		}
	}
}

// goHelper returns a wrong file and the file with the functions that its lines call. If the module is older than
// generics, a build constraint gives both files a version that has them.
func goHelper(text, helper, mark, module string) (wrong, calls string) {
	if helper == "" {
		helper = goPackage.FindString(text) + "\n\nimport \"os\"\n\n" +
			"func runplanRan() { _ = os.WriteFile(" + strconv.Quote(mark) + ", nil, 0644) }\n"
	}
	if !strings.Contains(text, "runplanZero(") {
		return text, helper
	}
	const generics, constraint = "go1.18", "//go:build "
	older := version.Compare(cmp.Or(module, "go1.16"), generics) < 0
	if !strings.Contains(helper, "runplanZero") {
		if helper += "\nfunc runplanZero[T any](T) (zero T) { return zero }\n"; older {
			helper = constraint + generics + "\n\n" + helper
		}
	}
	if had := goBuild.FindStringSubmatch(text); older && had != nil {
		text = strings.Replace(text, had[0], constraint+generics+" && ("+had[1]+")", 1)
	} else if older {
		text = constraint + generics + "\n\n" + text
	}
	return text, helper
}
