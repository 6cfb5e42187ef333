// Package security makes the gates of the security pass: built-in checks without dependencies, and adapters for
// common tools. A tool is skipped with a note if it is not installed, or if it would ask a server without permission.
// Package secrets looks for secrets. docs/rules.md lists the rules.
//
// The built-in checks read single lines, or a call over a few lines, which they report at its first line. They do not
// analyse the whole program, but resolve names of imports. In tests and benchmarks the findings are remarks;
// fixtures are ignored.
package security

import (
	"context"
	"path"
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
			return c.Status != gates.Deleted && !c.Link && languageOf(c.Path) != "" && !language.Copied(c.Path) &&
				!language.TestData(c.Path)
		})
		if err != nil || !ok {
			return err
		}
		for _, f := range files {
			look(l, f)
		}
		return nil
	})
}

func look(l *gates.Look, f gates.File) {
	lang := languageOf(f.Path)
	all := canonical(lang, strings.Split(strings.ReplaceAll(f.After, "\r\n", "\n"), "\n"))
	inTest := language.IsTest(f.Path) || benchmark.MatchString(f.Path)
	behind := map[string]int{} // last line of the call in which a rule found something
	for _, line := range f.AddedLines() {
		if line.Number > len(all) || comment(lang, line.Text) {
			continue
		}
		text := all[line.Number-1]
		call, last := text, line.Number
		if goesOn(text) {
			call, last = joinedCall(all, line.Number-1)
		}
		flaw := checked(lang, call)
		if flaw == nil && !inTest {
			flaw, last = flowOf(lang, all, line.Number)
		}
		if flaw == nil || line.Number <= behind[flaw.rule] {
			continue
		}
		behind[flaw.rule] = last
		find := gates.Finding{Rule: flaw.rule, Path: f.Path, Line: line.Number, Severity: flaw.severity,
			Message: flaw.message, Fix: flaw.fix}
		if inTest {
			find.Severity = gates.Note
		}
		if reason, ok := excused(text); ok {
			find.Rule, find.Severity, find.Message = "security/suppressed", gates.Warning, "allowed: "+reason+" ("+flaw.rule+")"
		}
		l.Find(find)
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

// benchmark matches files whose queries and commands contain only fixed values.
var benchmark = lazyre.New(`(?i)(?:^|[/._-])bench(?:es|marks?)?(?:/|[._-][^/]*$)`)
