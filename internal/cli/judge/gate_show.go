package judge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/report"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
)

func (x *Inspection) show(v gates.Verdict) error {
	if x.Project.JSON {
		return cli.AsJSON(x.Project.Stdout, struct {
			Verdict gates.Status     `json:"verdict"`
			Base    string           `json:"base,omitempty"`
			Tree    string           `json:"tree"`
			Changed int              `json:"changed"`
			Tests   *gates.TestCount `json:"tests,omitempty"`
			Reports []gates.Report   `json:"reports"`
		}{v.Status, x.Subject.Base, x.Subject.Tree, len(x.Subject.Changed), v.Tests(), v.Reports})
	}
	return x.print(x.Project.Stdout, v)
}

func (x *Inspection) export(r report.Run) error {
	to := func(file string, flags int, write func(io.Writer, report.Run) error) error {
		if file == "" {
			return nil
		}
		f, err := os.OpenFile(file, flags|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			err = cmp.Or(write(f, r), f.Close())
		}
		if err != nil {
			return cli.Fail(cli.ExitCannotRun, fmt.Errorf("write the report: %w", err), "")
		}
		return nil
	}
	if err := to(x.Options.sarif, os.O_TRUNC, report.SARIF); err != nil {
		return err
	}
	if err := to(x.Options.junit, os.O_TRUNC, report.JUnit); err != nil {
		return err
	}
	if !x.Options.github {
		return nil
	}
	out := x.Project.Stdout
	if x.Project.JSON {
		out = x.Project.Stderr // standard output must contain only one JSON object; GitHub reads both streams
	}
	if err := report.GitHub(out, r); err != nil {
		return err
	}
	page, _ := x.Project.Getenv("GITHUB_STEP_SUMMARY")
	return to(page, os.O_APPEND, report.Summary)
}

func (x *Inspection) print(w io.Writer, v gates.Verdict) error {
	var rows, skipped ui.Rows
	for _, r := range v.Reports {
		note := ui.Brief(r.Note, 160)
		if r.Status == gates.Skipped {
			skipped.Add(r.Gate, r.Status, note)
			continue
		}
		tests := ""
		if t := r.Tests; t != nil {
			tests = fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
		}
		rows.Add(r.Gate, r.Status, tests, ui.Duration(r.Duration), note)
	}
	ui.Table(w, []string{"gate", "status", "tests", ">time", "note"}, rows)
	if len(skipped) > 0 {
		fmt.Fprintln(w)
		ui.Table(w, nil, skipped)
	}
	if lines := findingLines(v.Reports); len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	}
	printLogs(w, "", v.Reports)
	_, err := fmt.Fprintf(w, "\n%s\n", x.ending(v))
	return err
}

func printLogs(w io.Writer, indent string, reports []gates.Report) {
	for _, r := range reports {
		if (r.Status == gates.Fail || r.Status == gates.Errored) && r.Log != "" {
			fmt.Fprintf(w, "%slog of %s: %s\n", indent, r.Gate, cli.Rel(r.Log))
		}
	}
}

func (x *Inspection) ending(v gates.Verdict) string {
	what := phrase.Count(len(x.Subject.Changed), "changed file")
	if x.Options.all {
		what = "the whole tree"
	}
	found := ""
	if len(v.Blocking()) > 0 {
		found = blocking(v) + "; "
	}
	return fmt.Sprintf("%s: %s%s, compared with %s", v.Status, found, what, x.from)
}

// findingLines formats findings as compilers do, sorted by position.
func findingLines(reports []gates.Report) []string {
	var all []gates.Finding
	for _, r := range reports {
		if r.Status == gates.Skipped {
			continue
		}
		for _, f := range r.Findings {
			if f.Path == "" {
				f.Path = "(" + r.Gate + ")"
			}
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b gates.Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Rule, b.Rule))
	})
	var lines []string
	for _, f := range all {
		severity := string(f.Severity)
		if f.Known {
			severity = "known"
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s: %s", ui.Sanitize(phrase.Place(f.Path, f.Line, f.Col)), severity,
			ui.Sanitize(f.Rule), ui.Sanitize(f.Message)))
		if f.Fix != "" {
			lines = append(lines, "    fix: "+ui.Sanitize(f.Fix))
		}
	}
	return lines
}

// working knows which gates run now, and since when.
type working struct {
	mu    sync.Mutex
	since map[string]time.Time
	ended int
	all   int
}

// watched returns the gates so that w knows when each starts and ends.
func watched(list []gates.Gate) ([]gates.Gate, *working) {
	w := &working{since: map[string]time.Time{}, all: len(list)}
	return lists.Map(list, func(g gates.Gate) gates.Gate { return observed{g, w} }), w
}

// text lists the running gates, longest-running first. It is empty while none runs.
func (w *working) text(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.SortedFunc(maps.Keys(w.since), func(a, b string) int {
		return cmp.Or(w.since[a].Compare(w.since[b]), strings.Compare(a, b))
	})
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d  running %s", w.ended, w.all, phrase.Join(names, ", ", func(name string) string {
		return name + " " + ui.Duration(now.Sub(w.since[name]).Truncate(time.Second))
	}))
}

// observed is a gate that reports when it runs.
type observed struct {
	gates.Gate
	w *working
}

func (o observed) Check(ctx context.Context, s gates.Subject) (gates.Report, error) {
	name := o.Info().Name
	o.w.mu.Lock()
	o.w.since[name] = time.Now()
	o.w.mu.Unlock()
	defer func() {
		o.w.mu.Lock()
		delete(o.w.since, name)
		o.w.ended++
		o.w.mu.Unlock()
	}()
	return o.Gate.Check(ctx, s)
}

// status shows the running gates in a line on the terminal. Without a terminal it returns nil.
func status(a *cli.App, text func(time.Time) string) *ui.Status {
	in, _ := a.Stdin.(*os.File)
	out := a.StderrFile()
	return ui.ShowStatus(a.Getenv, in, out, text)
}

// logs creates the folder for the output of gates. It is under .runplan if that is writable, else a temporary folder,
// because nothing else may appear in the tree.
func (x *Inspection) logs() (string, error) {
	l := x.Project.Layout
	if _, err := os.Stat(l.Root); err == nil && l.Make() == nil {
		parent := filepath.Join(l.Root, "logs", "gate")
		if os.MkdirAll(parent, 0o755) == nil {
			prune(parent)
			if dir, err := os.MkdirTemp(parent, time.Now().UTC().Format("20060102-150405-")); err == nil {
				return dir, nil
			}
		}
	}
	dir, err := os.MkdirTemp("", "runplan-gate-")
	if err != nil {
		return "", cli.Fail(cli.ExitCannotRun, fmt.Errorf("make a folder for logs: %w", err), "")
	}
	x.forget = dir
	return dir, nil
}

// keptLogs is the number of checks whose logs are kept.
const keptLogs = 20

// prune removes the oldest logs. An error is ignored, because it must not stop the check.
func prune(parent string) {
	entries, err := os.ReadDir(parent) // sorted by name, which begins with the time
	if err != nil {
		return
	}
	for _, e := range entries[:max(0, len(entries)-keptLogs)] {
		os.RemoveAll(filepath.Join(parent, e.Name()))
	}
}
