package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/review"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
)

func (x *Inspection) showReview(w io.Writer, v review.Review) error {
	if x.Project.JSON {
		return cli.AsJSON(w, v)
	}
	var rows ui.Rows
	for _, p := range v.Passes {
		asked, confidence, found := "", "", ""
		if len(p.Calls) > 0 {
			asked = ui.Sanitize(p.Calls[0].Reviewer)
		}
		if p.ConfidencePct != nil {
			confidence = fmt.Sprint(*p.ConfidencePct)
		}
		if n := len(p.Findings); n > 0 {
			found = fmt.Sprint(n)
		}
		note := p.Note
		if p.Tests != nil {
			note = joinText(fmt.Sprintf("%d passed, %d failed, %d skipped", p.Tests.Passed, p.Tests.Failed, p.Tests.Skipped),
				note)
		}
		if p.Number == review.Security {
			note = joinText(note, notInstalled(p.Tools))
		}
		rows.Add(p.Number, p.Name, p.Status, asked, confidence, found, ui.Duration(p.Duration),
			ui.Brief(note, 160))
	}
	header := []string{">pass", "", "status", "reviewer", ">sure", ">findings", ">time", "note"}
	ui.Table(w, header, rows)
	for _, p := range v.Passes {
		if len(p.Findings) == 0 {
			continue
		}
		fmt.Fprintf(w, "\npass %d, %s\n", p.Number, p.Name)
		remarks := 0
		for _, f := range p.Findings {
			if f.Fact && f.Severity == gates.Note && !f.Known {
				remarks++ // programs report many of them
				continue
			}
			fmt.Fprintln(w, reviewLine(f))
			if f.Citation != "" {
				fmt.Fprintln(w, "    > "+ui.Brief(f.Citation, 140))
			}
			if f.Fix != "" {
				fmt.Fprintln(w, "    fix: "+ui.Sanitize(f.Fix))
			}
		}
		if remarks > 0 {
			fmt.Fprintf(w, "  remarks of programs: %d; --json has them\n", remarks)
		}
		printLogs(w, "    ", p.Tools)
	}
	for _, e := range v.Fixed {
		fmt.Fprintf(w, "\nfixed: %s [%s]", entryLine(e), e.ID)
	}
	for _, e := range v.Open {
		fmt.Fprintf(w, "\nstill open, and not checked this time: %s [%s]", entryLine(e), e.ID)
	}
	if len(v.Fixed)+len(v.Open) > 0 {
		fmt.Fprintln(w)
	}
	if len(v.Only) > 0 {
		fmt.Fprintf(w, "\nonly the passes %s were run; the verdict covers only them",
			strings.Trim(strings.Join(strings.Fields(fmt.Sprint(v.Only)), ", "), "[]"))
	}
	_, err := fmt.Fprintf(w, "\n%s, confidence %d of 100, round %d: %s, compared with %s\n", v.Verdict, v.ConfidencePct,
		v.Round, phrase.Count(v.Changed, "changed file"), x.from)
	return err
}

func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func notInstalled(tools []gates.Report) string {
	var names []string
	for _, t := range tools {
		if name, ok := strings.CutPrefix(t.Gate, "security:"); ok && t.Status == gates.Skipped {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "did not run: " + strings.Join(names, ", ")
}

// reviewLine formats a finding as compilers do, with its id and status.
func reviewLine(f review.Finding) string {
	at := ui.Sanitize(phrase.Place(f.Path, f.Line, 0))
	if at != "" {
		at += ": "
	}
	words := []string{f.ID}
	switch {
	case f.State == review.Accepted || f.State == review.Refuted:
		words = append(words, string(f.State))
	case f.New:
		words = append(words, "new")
	case f.State == review.Open:
		words = append(words, "open")
	}
	if f.Unproven {
		words = append(words, "unproven")
	}
	severity := string(f.Severity)
	if f.Known {
		severity = "known"
	}
	return fmt.Sprintf("  %s%s %s: %s [%s]", at, severity, ui.Sanitize(f.Rule), ui.Sanitize(f.Message),
		strings.Join(words, ", "))
}

func entryLine(e review.Entry) string {
	at := ui.Sanitize(phrase.Place(e.Path, e.Line, 0))
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", at, ui.Sanitize(e.Rule), ui.Brief(e.Message, 140)))
}

func openLedger(ctx context.Context, p *cli.Project) (file string, l *review.Ledger, err error) {
	_, branch, err := p.Repo.Head(ctx)
	if err != nil && !errors.Is(err, git.ErrNoCommits) {
		return "", l, err
	}
	branch = cmp.Or(branch, "detached")
	file = filepath.Join(p.Layout.BranchFindings(), review.LedgerName(branch))
	l, err = review.ReadLedger(file, branch)
	return file, l, err
}

func decideFinding(ctx context.Context, p *cli.Project, o *ReviewOptions) error {
	id, state := o.accept, review.Accepted
	if o.refute != "" {
		id, state = o.refute, review.Refuted
	}
	if strings.TrimSpace(o.reason) == "" {
		return cli.Usage(errors.New("a decision needs a reason"), "add --reason 'TEXT'")
	}
	file, l, err := openLedger(ctx, p)
	if err != nil {
		return err
	}
	e, err := l.Decide(id, state, o.reason, time.Now())
	if err != nil {
		var ids []string
		for _, known := range l.Findings {
			if known.State == review.Open && len(ids) < 10 {
				ids = append(ids, known.ID)
			}
		}
		slices.Sort(ids)
		if len(ids) == 0 {
			return cli.Usage(err, "runplan review lists the findings of this branch, with their ids")
		}
		return cli.Usage(err, "open on this branch: %s", strings.Join(ids, ", "))
	}
	if err := l.Write(file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %s [%s]\n", e.State, entryLine(e), e.ID)
	return err
}
