// Package security makes the gates of the security pass: built-in checks without dependencies, and adapters for
// common tools. A tool is skipped with a note if it is not installed, or if it would ask a server without permission.
// Package secrets looks for secrets.
//
//	rule                     found in what a change adds                                        severity
//	security/sql             SQL concatenated from text and a variable, in place of a value    error
//	                         … in place of a list of values                                    warning
//	                         … anywhere else: a name of a table, a list of columns              info
//	security/shell           a shell gets text with a variable in it                            error
//	                         … a variable and nothing else, in Go; a constant, in Python        warning
//	security/eval            text is run as code                                                error
//	security/deserialise     data of others becomes objects that run code: pickle, yaml.load    error
//	security/tls             certificates are not checked; a setting of it: info               error
//	security/html            HTML is put together without a template; a constant: info            warning
//	security/mode            a file that everybody may write                                    warning
//	security/html            … what a request brought, as it stands in a page                   error
//	security/path            a path is made of what a request or an archive brought             warning
//	security/redirect        … and the target of a redirect                                     warning
//	security/fetch           … and an address or program                                        warning
//	security/hash            a password is hashed with MD5 or SHA-1                             error
//	security/random          a secret is drawn from a generator that can be guessed             error
//	security/temporary       the name of a temporary file is made before the file               error
//	security/credential      a password or key stands in the code                               warning
//	resource/leak            what is opened in a function, closed nowhere and handed to nobody  warning
//	async/blocking           a call that waits inside of an async function (JavaScript: info)   warning
//	async/not-awaited        a sleep that nothing waits for; functions for forEach: warning     error
//	async/executor           an async executor of a promise                                     info
//	silent/return            a broad except that ends in a plain return (a catch: info)         warning
//	security/suppressed      a line with "runplan:ignore security REASON"                       warning
//
// The built-in checks read single lines, or a call over a few lines, which they report at its first line. They do not
// analyse the whole program, but resolve names of imports. In tests the findings are remarks; fixtures are ignored.
package security

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
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
			if language.IsTest(f.Path) {
				find.Severity = gates.Note
			}
			if reason, ok := excused(text); ok {
				find.Rule, find.Severity, find.Message = "security/suppressed", gates.Warning, "allowed: "+reason+" ("+c.rule+")"
			}
			l.Find(find)
			break // one finding per line: the first check is the most severe
		}
		if flaw, last := flowOf(lang, all, line.Number); flaw != nil && !seen && !language.IsTest(f.Path) &&
			line.Number > behind[flaw.rule] {
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

// excused reads the comment that takes a finding back. It stays visible.
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

func fixture(p string) bool {
	return gates.Match([]string{"**/{testdata,fixtures,__fixtures__,vendor,node_modules}/**"}, p)
}
