package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
)

// GitHub writes r as workflow commands of GitHub, which shows the findings next to the code. Blocking ones come first:
// GitHub shows ten of each severity.
func GitHub(w io.Writer, r Run) error {
	var b strings.Builder
	for _, severity := range []gates.Severity{gates.Error, gates.Warning, gates.Note} {
		for _, rep := range r.Verdict.Reports {
			if rep.Status == gates.Errored && severity == gates.Error {
				fmt.Fprintf(&b, "::error title=%s::%s\n", property("gate "+rep.Gate), data(rep.Note))
			}
			if rep.Status == gates.Skipped || rep.Status == gates.Errored {
				continue
			}
			for _, f := range rep.Findings {
				if f.Severity == severity {
					b.WriteString(annotation(rep.Gate, f))
				}
			}
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write workflow commands: %w", err)
	}
	return nil
}

func annotation(gate string, f gates.Finding) string {
	word := map[gates.Severity]string{gates.Error: "error", gates.Warning: "warning", gates.Note: "notice"}[f.Severity]
	var props []string
	if f.Path != "" {
		props = append(props, "file="+property(f.Path))
		if f.Line > 0 {
			props = append(props, fmt.Sprintf("line=%d", f.Line))
			if f.Col > 0 {
				props = append(props, fmt.Sprintf("col=%d", f.Col))
			}
		}
	}
	props = append(props, "title="+property(ruleID(gate, f)))
	return fmt.Sprintf("::%s %s::%s\n", word, strings.Join(props, ","), data(message(f)))
}

// data escapes the message of a command, property one of its settings. Otherwise text that a test prints could act as
// a command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// maxShown limits the findings in the summary.
const maxShown = 50

// Summary writes r as markdown, for the summary page of a workflow.
func Summary(w io.Writer, r Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## runplan gate: %s\n\n| gate | status | tests | time | note |\n|---|---|---|---|---|\n",
		r.Verdict.Status)
	n := 0
	for _, rep := range r.Verdict.Reports {
		tests := ""
		if t := rep.Tests; t != nil {
			tests = fmt.Sprintf("%d passed, %d failed, %d skipped", t.Passed, t.Failed, t.Skipped)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1fs | %s |\n", cell(rep.Gate), rep.Status, tests, rep.Duration.Seconds(),
			cell(rep.Note))
		n += len(rep.Findings)
	}
	if n > 0 {
		b.WriteString("\n| place | severity | rule | message |\n|---|---|---|---|\n")
	}
	shown := 0
	for _, severity := range []gates.Severity{gates.Error, gates.Warning, gates.Note} {
		for _, rep := range r.Verdict.Reports {
			for _, f := range rep.Findings {
				if f.Severity != severity || shown >= maxShown {
					continue
				}
				shown++
				word := string(f.Severity)
				if f.Known {
					word = "known"
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(phrase.Place(f.Path, f.Line, f.Col)), word, cell(ruleID(rep.Gate, f)), cell(f.Message))
			}
		}
	}
	if n > shown {
		fmt.Fprintf(&b, "\n%s in the log.\n", phrase.Count(n-shown, "more finding is", "more findings are"))
	}
	if _, err := io.WriteString(w, b.String()+"\n"); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// cell escapes text for a cell of a markdown table.
func cell(s string) string {
	s = phrase.Cut(phrase.Line(s), 300)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "[",
		"\\[", "]", "\\]", "@", "@\u200b").Replace(s)
}
