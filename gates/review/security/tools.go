package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// prefix starts the names of the gates that run external tools.
const prefix = "security:"

// IsTool reports whether a gate is an external security tool and not a built-in check.
func IsTool(gate string) bool { return strings.HasPrefix(gate, prefix) && gate != Built }

// tool is a security program with a parser for its report.
type tool struct {
	name   string
	cost   gates.Cost
	wants  func(path string) bool // the files that it checks
	none   string                 // note if none of its files changed
	server string                 // the server that it uses; "" without one
	// local, if set, reports whether it can work without the server.
	local func(l *gates.Look) bool
	// run starts it and reads its report.
	run func(ctx context.Context, l *gates.Look, t *task) ([]hit, error)
}

// task holds the files that a tool checks.
type task struct {
	changed []string // the files to check
	all     []string // all changed files
}

// hit is one finding of a tool.
type hit struct {
	rule, path, message, fix string
	line                     int
	severity                 gates.Severity
	everywhere               bool // it concerns the project, not a line
}

// Tools makes a gate for each tool. online allows tools that ask external servers.
func Tools(online bool) []gates.Gate {
	return lists.Map([]tool{gosec(), govulncheck(), bandit(), semgrep(), gitleaks(), npmAudit()},
		func(t tool) gates.Gate { return t.gate(online) })
}

func (t tool) gate(online bool) gates.Gate {
	info := gates.Info{Name: prefix + t.name, Kind: gates.Static, Cost: t.cost, Blocking: true, Command: t.name}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool { return c.Status != gates.Deleted && !c.Link })
		if err != nil || !ok {
			return err
		}
		var job task
		added := map[string][]gates.Line{}
		for _, f := range files {
			job.all = append(job.all, f.Path)
			added[f.Path] = f.AddedLines()
			if t.wants == nil || t.wants(f.Path) {
				job.changed = append(job.changed, f.Path)
			}
		}
		if len(job.changed) == 0 {
			l.Skip("%s", t.none)
			return nil
		}
		if t.server != "" && !online && (t.local == nil || !t.local(l)) {
			l.Skip("%s needs access to %s; review.online = true in the settings allows it", t.name, t.server)
			return nil
		}
		hits, err := t.run(ctx, l, &job)
		if errors.Is(err, gates.ErrNoProgram) {
			l.Skip("%s is not installed", t.name)
			return nil
		}
		if err != nil {
			return err
		}
		old := 0
		for _, h := range hits {
			f := gates.Finding{Rule: t.name + "/" + h.rule, Path: h.path, Line: h.line, Severity: h.severity, Message: h.message,
				Fix: h.fix}
			if !h.everywhere && !touches(added[h.path], h.line) {
				if old++; f.Severity == gates.Error {
					f.Severity = gates.Warning // it existed before the change
				}
				f.Known = true
			}
			l.Find(f)
		}
		if old > 0 {
			l.Note("%s in unchanged lines, as %s only", phrase.Count(old, "finding"),
				phrase.Noun(old, "a warning", "warnings"))
		}
		return nil
	})
}

func touches(lines []gates.Line, n int) bool {
	return slices.ContainsFunc(lines, func(l gates.Line) bool { return l.Number == n })
}

// read parses a report. It ignores unknown fields: tools add some with each version.
func read(name string, out gates.Ended, v any) error {
	if err := json.Unmarshal(out.Stdout, v); err != nil {
		return fmt.Errorf("read the report of %s (%s): %w", name, out.How, err)
	}
	return nil
}

// report runs a program and parses the report on its standard output.
func report(ctx context.Context, l *gates.Look, p gates.Program, v any) error {
	p.Stdout = true
	out, err := l.Run(ctx, p)
	if err != nil {
		return err
	}
	return read(p.Args[0], out, v)
}

// graded maps the severities of tools: severe and certain findings block.
func graded(severity, confidence string) gates.Severity {
	switch strings.ToUpper(severity) {
	case "HIGH", "CRITICAL", "ERROR":
		if strings.EqualFold(confidence, "low") {
			return gates.Warning
		}
		return gates.Error
	case "LOW", "INFO":
		return gates.Note
	}
	return gates.Warning
}

func withExt(exts ...string) func(string) bool {
	return func(p string) bool { return slices.Contains(exts, path.Ext(p)) }
}

// fileArgs formats paths so that none is read as an option.
func fileArgs(paths []string) []string {
	return lists.Map(paths, func(p string) string { return "./" + p })
}

// mostArgs limits the files that one call of a tool gets.
const mostArgs = 400
