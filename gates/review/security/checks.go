package security

import (
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
)

// check is one thing to look for in a line.
type check struct {
	rule    string
	langs   []string
	look    func(lang, line string) gates.Severity // "" is nothing
	message string
	fix     string
}

var code = []string{"go", "python", "js"}

// checks lists the checks, most severe first.
var checks = []check{
	{"security/sql", code, sql,
		"SQL is concatenated from text and a variable: anyone who sets the variable controls the query",
		"pass the value as a parameter of the query"},
	{"security/shell", code, shell,
		"a shell runs concatenated text: anyone who sets a part of it can run any command",
		"start the program with a list of arguments, without a shell"},
	{"security/eval", []string{"python"}, found(ownCode, gates.Note), "text is run as code",
		"read the value with a parser for its format"},
	{"security/eval", []string{"python"}, found(evaluated, gates.Error), "text is run as code",
		"read the value with a parser for its form"},
	{"security/eval", []string{"js"}, found(requestCode, gates.Error), "text is run as code",
		"read the value with a parser for its form"},
	{"security/eval", []string{"js"}, found(madeFunction, gates.Note), "text is run as code",
		"read the value with a parser for its form"},
	{"security/eval", []string{"js"}, found(evaluatedJS, gates.Error), "text is run as code",
		"read the value with a parser for its form"},
	{"security/deserialise", []string{"python"}, deserialise, "deserialising foreign data can run code",
		"use json, or yaml.safe_load"},
	{"security/tls", code, found(unverified, gates.Error), "certificates are not checked: anyone on the network can " +
		"impersonate the server",
		"trust the certificate authority that signed it"},
	{"security/html", []string{"go", "js"}, found(rawHTML, gates.Warning),
		"HTML is inserted without escaping, including foreign markup", "set text, or use a template that escapes"},
	{"security/html", []string{"js"}, found(setHTML, gates.Note),
		"HTML is inserted without escaping, including foreign markup", "set text, or use a template that escapes"},
	{"security/mode", code, found(open, gates.Warning), "every user of the machine may write this file", "0o644 or 0o600"},
}

// checked returns the first check that finds a problem in a line, or nil.
func checked(lang, line string) *flaw {
	for _, c := range checks {
		if !slices.Contains(c.langs, lang) {
			continue
		}
		if severity := c.look(lang, line); severity != "" {
			return &flaw{c.rule, c.message, c.fix, severity}
		}
	}
	return nil
}

var (
	evaluated   = lazyre.New(`(?:^|[^\w.])(?:eval|exec)\(\s*(?:[A-Za-z_]|f["'])`)
	evaluatedJS = lazyre.New(`(?:^|[^\w.])eval\(\s*(?:[A-Za-z_` + "`" + `]|["'][^"']*["']\s*\+)`)
	// requestCode matches code from a request that the program runs.
	requestCode  = lazyre.New(`(?:\bvm\.(?:runIn\w*Context|compileFunction)|\bnew (?:vm\.Script|Function))\(.*\b(?:req|request|ctx)\.(?:body|query|params)\b`)
	madeFunction = lazyre.New(`\bnew Function\(`)
	ownCode      = lazyre.New(`(?:eval|exec)\(\s*compile\(`)
	unverified   = lazyre.New(`InsecureSkipVerify:\s*true|\bverify\s*=\s*False\b|_create_unverified_context|\brejectUnauthorized:\s*false|NODE_TLS_REJECT_UNAUTHORIZED`)
	rawHTML      = lazyre.New(`\btemplate\.HTML\(\s*[A-Za-z_]|\.(?:inner|outer)HTML\s*\+?=\s*[A-Za-z_][\w.]*\s*;?\s*$|\.insertAdjacentHTML\([^,]+,\s*(?:[A-Za-z_][\w.]*\s*\)|.*["']\s*\+|.*\$\{)|\bdocument\.write(?:ln)?\(\s*(?:[A-Za-z_][\w.]*\s*\)|["'].*["']\s*\+|.*\$\{)`)
	setHTML      = lazyre.New("\\.(?:inner|outer)HTML\\s*\\+?=\\s*[^\"'\\s;]|dangerouslySetInnerHTML")
	open         = lazyre.New(`\bchmod\([^)]*\b0o?777\b|\b(?:MkdirAll|Mkdir|WriteFile|OpenFile|Chmod)\([^)]*\b0o?777\b|\bChmod\([^)]*\b0o?666\b`)
)

func found(re *lazyre.Regexp, s gates.Severity) func(string, string) gates.Severity {
	return func(_, line string) gates.Severity {
		if re.MatchString(line) {
			return s
		}
		return ""
	}
}

var (
	verb = lazyre.New(`(?i)["'` + "`" + `][^"'` + "`" +
		`]*\b(?:select\b.*\bfrom|insert\s+into|update\b.*\bset|delete\s+from)\b`)
	joined    = lazyre.New(`["'` + "`" + `]\s*\+\s*[A-Za-z_(]`)
	formatted = lazyre.New(`%[+#]?[svq]`)
	percent   = lazyre.New(`["']\s*%\s*[A-Za-z_(]`)
	braces    = lazyre.New(`\{[^{}]*\}`)
	dollar    = lazyre.New(`\$\{`)
	// value matches the end of a query at which a value is expected.
	value = lazyre.New(`(?i)(?:[=<>]|\blike|\bvalues\s*\(.*|\blimit|\boffset)\s*['"%\s]*$`)
	// list matches a query built from a list, which is often only a list of question marks.
	list  = lazyre.New(`(?i)\bin\s*\(\s*['"%\s]*$`)
	fText = lazyre.New(`\b[fF][rR]?["']|\b[rR][fF]["']`)
)

// sql looks for a place in a query that a variable fills.
func sql(lang, line string) gates.Severity {
	at := verb.FindStringIndex(line)
	if at == nil {
		return ""
	}
	rest := line[at[0]:]
	holes := []*lazyre.Regexp{joined}
	switch lang {
	case "go":
		if strings.Contains(line, "rintf(") {
			holes = append(holes, formatted)
		}
	case "python":
		if percent.MatchString(rest) {
			holes = append(holes, formatted)
		}
		if fText.MatchString(line) || strings.Contains(rest, ".format(") {
			holes = append(holes, braces)
		}
	case "js":
		if strings.Contains(rest, "`") {
			holes = append(holes, dollar)
		}
	}
	worst := gates.Severity("")
	for _, h := range holes {
		hole := h.FindStringIndex(rest)
		if hole == nil {
			continue
		}
		before := strings.TrimRight(rest[:hole[0]], `"'`+"`")
		switch {
		case value.MatchString(before):
			return gates.Error
		case list.MatchString(before):
			worst = gates.Warning
		case worst == "":
			worst = gates.Note
		}
	}
	return worst
}

var (
	shellGo   = lazyre.New(`exec\.Command(?:Context)?\((?:[^,()]+,\s*)?["'](?:/bin/)?(?:sh|bash|zsh)["']\s*,\s*["']-[a-z]*c["']\s*,\s*(.*)`)
	shellTrue = lazyre.New(`\bshell\s*=\s*True\b`)
	osSystem  = lazyre.New(`\bos\.(?:system|popen)\(\s*(.*)`)
	// pythonShell matches functions that start a shell. Often the command is the user's own.
	pythonShell = lazyre.New(`\bsubprocess\.get(?:status)?output\(\s*(.*)|\b(?:asyncio\.)?create_subprocess_shell\(\s*(.*)`)
	childProc   = lazyre.New(`(?:^|[^\w.])(?:exec|execSync)\(\s*(.*)|child_process(?:'\)|"\))?\.exec(?:Sync)?\(\s*(.*)`)
	plainName   = lazyre.New(`^[\w.]+\s*[,)]`)
	constantGo  = lazyre.New("^(?:\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)\\s*\\)")
	constant    = lazyre.New(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*[,)]`)
)

// shell looks for a shell that runs text which is not a constant.
func shell(lang, line string) gates.Severity {
	switch lang {
	case "go":
		switch m := shellGo.FindStringSubmatch(line); {
		case m == nil || constantGo.MatchString(m[1]):
			return ""
		case plainName.MatchString(m[1]):
			return gates.Warning
		}
		return gates.Error
	case "python":
		if m := osSystem.FindStringSubmatch(line); m != nil && !constant.MatchString(m[1]) {
			return gates.Error
		}
		if m := pythonShell.FindStringSubmatch(line); m != nil && !constant.MatchString(m[1]+m[2]) {
			if plainName.MatchString(m[1] + m[2]) {
				return gates.Warning
			}
			return gates.Error
		}
		if shellTrue.MatchString(line) {
			if fText.MatchString(line) || joined.MatchString(line) || percent.MatchString(line) ||
				strings.Contains(line, ".format(") {
				return gates.Error
			}
			_, args, _ := strings.Cut(line, "(")
			if constant.MatchString(strings.TrimSpace(args)) {
				return gates.Warning
			}
			return gates.Error
		}
	case "js":
		if m := childProc.FindStringSubmatch(line); m != nil {
			arg := m[1] + m[2]
			if strings.Contains(arg, "${") || joined.MatchString(arg) {
				return gates.Error
			}
		}
	}
	return ""
}

var (
	pickled  = lazyre.New(`\b(?:c?[pP]ickle|dill|shelve|marshal)\.(?:loads?|open)\(`)
	yamlLoad = lazyre.New(`\byaml\.(?:unsafe_load|full_load|load)\(`)
)

func deserialise(_, line string) gates.Severity {
	switch {
	case pickled.MatchString(line), yamlLoad.MatchString(line) && !strings.Contains(line, "SafeLoader"):
		return gates.Error
	}
	return ""
}
