package judge

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/report"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
)

// gateResult is the output of gate --json.
type gateResult struct {
	Verdict gates.Status     `json:"verdict"`
	Base    string           `json:"base,omitempty"`
	Tree    string           `json:"tree"`
	Changed int              `json:"changed"`
	Tests   *gates.TestCount `json:"tests,omitempty"`
	Reports []gates.Report   `json:"reports"`
}

func (x *Inspection) show(v gates.Verdict) error {
	if x.Options.JSON {
		return cli.AsJSON(x.App.Stdout,
			gateResult{v.Status, x.Subject.Base, x.Subject.Tree, len(x.Subject.Changed), v.Tests(), v.Reports})
	}
	return x.print(x.App.Stdout, v)
}

// export writes the report formats for other programs.
func (x *Inspection) export(r report.Run) error {
	to := func(file string, flags int, write func(io.Writer, report.Run) error) error {
		if file == "" {
			return nil
		}
		f, err := os.OpenFile(file, flags|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			err = write(f, r)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
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
	out := x.App.Stdout
	if x.Options.JSON {
		out = x.App.Stderr // standard output must contain only one JSON object; GitHub reads both streams
	}
	if err := report.GitHub(out, r); err != nil {
		return err
	}
	page, _ := x.App.Getenv("GITHUB_STEP_SUMMARY")
	return to(page, os.O_APPEND, report.Summary)
}

// print shows the gates that ran, their findings, the skipped gates, and the verdict.
func (x *Inspection) print(w io.Writer, v gates.Verdict) error {
	var rows, skipped [][]string
	for _, r := range v.Reports {
		note := ui.Cut(ui.Sanitize(r.Note), 160, "…")
		if r.Status == gates.Skipped {
			skipped = append(skipped, []string{r.Gate, string(r.Status), note})
			continue
		}
		tests := ""
		if t := r.Tests; t != nil {
			tests = fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
		}
		rows = append(rows, []string{r.Gate, string(r.Status), tests, ui.Duration(r.Duration), note})
	}
	if err := cli.Table(w, []string{"gate", "status", "tests", ">time", "note"}, rows); err != nil {
		return err
	}
	if len(skipped) > 0 {
		fmt.Fprintln(w)
		if err := cli.Table(w, nil, skipped); err != nil {
			return err
		}
	}
	if lines := findingLines(v.Reports); len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	}
	printLogs(w, "", v.Reports)
	_, err := fmt.Fprintf(w, "\n%s\n", x.ending(v))
	return err
}

// printLogs names the logs of the gates that failed.
func printLogs(w io.Writer, indent string, reports []gates.Report) {
	for _, r := range reports {
		if (r.Status == gates.Fail || r.Status == gates.Errored) && r.Log != "" {
			fmt.Fprintf(w, "%slog of %s: %s\n", indent, r.Gate, cli.ShortPath(r.Log))
		}
	}
}

// ending summarises the result and the scope of the check in one line.
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
