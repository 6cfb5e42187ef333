// Package security makes the gates of the security pass: built-in checks without dependencies, and adapters for
// common tools. A tool is skipped with a note if it is not installed, or if it would ask a server without permission.
// Package secrets looks for secrets.
//
//	rule                     found in the added lines                                                    severity
//	security/sql             a value in an SQL query is concatenated from a variable                     error
//	                         … a list of values                                                          warning
//	                         … any other part, such as a table name or a list of columns                 info
//	security/shell           a shell gets text that contains a variable                                  error
//	                         … only a variable (Go), or a constant (Python)                              warning
//	security/eval            text is run as code                                                         error
//	security/deserialise     external data is decoded into objects that can run code: pickle, yaml.load  error
//	security/tls             certificates are not checked; info if a setting decides                     error
//	security/html            HTML is concatenated without a template; info for a constant                warning
//	security/mode            a file that all users may write                                             warning
//	security/html            request data is written into a page without escaping                        error
//	security/path            a path is built from request data or from a name in an archive              warning
//	security/redirect        the target of a redirect comes from request data                            warning
//	security/fetch           a fetched address or a started program comes from request data              warning
//	security/hash            a password is hashed with MD5 or SHA-1                                      error
//	security/random          a secret comes from a predictable random generator                          error
//	security/temporary       a temporary file name is chosen before the file is created                  error
//	security/credential      a password or a key is in the code                                          warning
//	resource/leak            a function opens a resource and neither closes it nor passes it on          warning
//	async/blocking           a blocking call in an async function; info in JavaScript                    warning
//	async/not-awaited        a sleep that is not awaited; warning for an async callback of forEach       error
//	async/executor           an async executor of a promise                                              info
//	silent/return            a broad except that ends in a plain return; info for a catch                warning
//	security/suppressed      a line with "runplan:ignore security REASON"                                warning
//
// The built-in checks read single lines, or a call over a few lines, which they report at its first line. They do not
// analyse the whole program, but resolve names of imports. In tests and benchmarks the findings are remarks;
// fixtures are ignored.
package security

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

// Built is the name of the gate with the built-in checks.
const Built = "security:built-in"

// All makes the gates of the pass, except the one for secrets. online allows tools that ask external servers.
func All(online bool) []gates.Gate {
	return append([]gates.Gate{New()}, Tools(online)...)
}

// New makes the gate of the checks that are built in.
func New() gates.Gate { return built(true) }

// Advice is [New] with warnings only: outside of a review, no reviewer judges the findings.
func Advice() gates.Gate { return built(false) }

func built(blocking bool) gates.Gate {
	info := gates.Info{Name: Built, Kind: gates.Static, Cost: gates.Instant, Blocking: blocking, Pure: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool {
			return c.Status != gates.Deleted && !c.Link && languageOf(c.Path) != "" && !fixture(c.Path)
		})
		if err != nil || !ok {
			return err
		}
		list := checks()
		for _, f := range files {
			look(l, f, list)
		}
		return nil
	})
}

func look(l *gates.Look, f gates.File, list []check) {
	lang := languageOf(f.Path)
	added := f.AddedLines()
	all := canonical(lang, strings.Split(strings.ReplaceAll(f.After, "\r\n", "\n"), "\n"))
	aside := language.IsTest(f.Path) || benchmark.MatchString(f.Path)
	behind := map[string]int{} // last line of the call in which a rule found something
	for _, line := range added {
		if line.Number > len(all) || comment(lang, line.Text) {
			continue
		}
		text := all[line.Number-1]
		call, last := text, line.Number
		if goesOn(text) {
			call, last = joinedCall(all, line.Number-1)
		}
		seen := false
		for _, c := range list {
			if !slices.Contains(c.langs, lang) {
				continue
			}
			sev := c.look(lang, call)
			if sev == "" {
				continue
			}
			if seen = true; line.Number <= behind[c.rule] {
				break
			}
			behind[c.rule] = last
			find := gates.Finding{Rule: c.rule, Path: f.Path, Line: line.Number, Severity: sev, Message: c.message, Fix: c.fix}
			if aside {
				find.Severity = gates.Note
			}
			if reason, ok := excused(text); ok {
				find.Rule, find.Severity, find.Message = "security/suppressed", gates.Warning, "allowed: "+reason+" ("+c.rule+")"
			}
			l.Find(find)
			break // one finding per line: the first check is the most severe
		}
		if flaw, last := flowOf(lang, all, line.Number); flaw != nil && !seen && !aside && line.Number > behind[flaw.rule] {
			behind[flaw.rule] = last
			find := gates.Finding{Rule: flaw.rule, Path: f.Path, Line: line.Number, Severity: flaw.severity,
				Message: flaw.message, Fix: flaw.fix}
			if reason, ok := excused(text); ok {
				find.Rule, find.Severity, find.Message = "security/suppressed", gates.Warning, "allowed: "+reason+" ("+flaw.rule+")"
			}
			l.Find(find)
		}
	}
}

// goesOn reports whether an expression ends on the next line.
func goesOn(text string) bool {
	t := strings.TrimSpace(text)
	return strings.HasSuffix(t, "+") || strings.HasSuffix(t, "%") || strings.HasSuffix(t, `\`) || strings.HasSuffix(t, "(")
}

// excused reads the reason in a comment that suppresses a finding. The finding stays visible.
func excused(text string) (reason string, ok bool) {
	_, reason, ok = strings.Cut(text, "runplan:ignore security")
	reason = strings.Trim(reason, " \t:*/-#")
	return reason, ok && reason != ""
}

func languageOf(p string) string {
	switch path.Ext(p) {
	case ".go":
		return "go"
	case ".py":
		return "python"
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		return "js"
	}
	return ""
}

func comment(lang, text string) bool {
	t := strings.TrimSpace(text)
	if lang == "python" {
		return strings.HasPrefix(t, "#")
	}
	return strings.HasPrefix(t, "//") || strings.HasPrefix(t, "* ") || strings.HasPrefix(t, "/*")
}

// benchmark matches files whose queries and commands have only values of their own.
var benchmark = lazyre.New(`(?i)(?:^|[/._-])bench(?:es|marks?)?(?:/|[._-][^/]*$)`)

func fixture(p string) bool {
	return gates.Match([]string{"**/{testdata,fixtures,__fixtures__,vendor,node_modules}/**"}, p)
}
