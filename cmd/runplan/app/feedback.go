package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/llm"
)

func newFeedbackCommand(a *App) *cobra.Command {
	var id, severity, url string
	var asJSONFlag bool
	cmd := &cobra.Command{
		Use:   "feedback TEXT",
		Short: "Report what is wrong, to have it fixed",
		Long: `Say what is wrong with this project. It is put into the feedback of this repository, as pending; no model is
asked, and nothing is changed. runplan self-fix process takes it from there. - reads the text from standard input.

  runplan feedback "Total leaves out the last price" --severity high --on https://github.com/ada/shop/issues/7` + exitStatus(exitOK, exitUsage, exitCannotRun),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if text == "-" {
				var err error
				if text, err = a.readText(); err != nil {
					return err
				}
			}
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if id == "" {
				id = "fb-" + uuid.NewString()[:8]
			}
			w := feedback.Words{ID: id, Body: a.redactor(p).String(text), Severity: feedback.Severity(severity), URL: url,
				Source: "cli"}
			if _, ok := a.Getenv("RUNPLAN_BATCH"); ok {
				w.Source = "agent"
			}
			return a.enqueue(cmd.Context(), p, w, asJSONFlag)
		},
	}
	f := cmd.Flags()
	f.StringVar(&severity, "severity", "medium", "severity: "+strings.Join(feedback.Severities(), ", "))
	f.StringVar(&url, "on", "", "URL of the pull request or issue that it is about; the fix is announced there")
	f.StringVar(&id, "id", "", "id of lower-case letters, digits and dashes (default: generated)")
	f.BoolVar(&asJSONFlag, "json", false, "print a JSON object")
	return cmd
}

// enqueue adds an entry to the feedback of a repository.
func (a *App) enqueue(ctx context.Context, p *project, w feedback.Words, asJSONFlag bool) error {
	w.At = time.Now()
	if err := p.layout.Make(); err != nil {
		return fail(exitCannotRun, err, "")
	}
	s, err := store.OpenFeedback(ctx, p.layout.Feedback())
	if err != nil {
		return err
	}
	defer s.Close()
	added, err := feedback.Enqueue(ctx, s, w)
	if err != nil {
		return feedbackTrouble(err, exitUsage)
	}
	if asJSONFlag {
		row, err := s.Get(ctx, w.ID)
		if err != nil {
			return err
		}
		i, err := feedback.Read(row)
		if err != nil {
			return feedbackTrouble(err, exitCannotRun)
		}
		return asJSON(a.Stdout, shownFeedback(i))
	}
	if !added {
		fmt.Fprintf(a.Stdout, "feedback %s already exists\n", w.ID)
		return nil
	}
	fmt.Fprintf(a.Stdout, "feedback %s is pending. To continue: runplan self-fix process\n", w.ID)
	return nil
}

// feedbackTrouble adds the exit code and a hint to errors of the feedback loop.
func feedbackTrouble(err error, code int) error {
	var refused *feedback.Refusal
	var blocked *feedback.Blocked
	var alarm *feedback.Alarm
	var known *failure
	var answer *llm.AnswerError
	switch {
	case errors.As(err, &answer):
		return modelTrouble(context.Background(), err)
	case errors.As(err, &known):
		return fail(known.code, err, "%s", known.hint)
	case errors.As(err, &refused):
		return fail(code, err, "%s", refused.Do)
	case errors.As(err, &blocked):
		return fail(exitUsage, err, "%s", blocked.Do)
	case errors.As(err, &alarm):
		return fail(exitFailed, err, "it stays open until the test is green on the branch; revert the merge, or fix the code")
	case errors.Is(err, store.ErrNoFeedback):
		return usage(err, "runplan self-fix list shows all feedback")
	case errors.Is(err, feedback.ErrHistory):
		return fail(exitCannotRun, err,
			"the row was not changed; restore a backup of .runplan/feedback.sqlite, or move the file")
	case errors.Is(err, store.ErrFeedbackMoved):
		return fail(exitLocked, err, "look at it again: runplan self-fix list")
	}
	return err
}

// shownFeedback removes terminal control codes from text that others wrote. The stored row keeps the original text.
func shownFeedback(i feedback.Item) feedback.Item {
	i.Body, i.URL, i.Source = redact.Clean(i.Body), redact.Clean(i.URL), redact.Clean(i.Source)
	notes := make([]feedback.Note, len(i.Notes))
	for n, note := range i.Notes {
		note.Text = redact.Clean(note.Text)
		notes[n] = note
	}
	i.Notes = notes
	return i
}
