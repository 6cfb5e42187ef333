package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/page"
)

// acts returns the actions of the page's forms. Each runs the command that a person would type, so both have the same
// effect.
func acts(p *cli.Project) map[string]page.Act {
	resume := func(ctx context.Context, form url.Values) (string, error) {
		return resumeApart(ctx, p, form.Get("run"), form.Get("accept") == "yes")
	}
	return map[string]page.Act{
		"approve": func(ctx context.Context, form url.Values) (string, error) {
			args := []string{"approve", "--reason=" + form.Get("reason")}
			if name := form.Get("signature"); name != "" {
				args = append(args, "--signature="+name)
			}
			done := page.DoneApproved
			if form.Get("answer") != "yes" {
				args, done = append(args, "--deny"), page.DoneDenied
			}
			return done, ownCommand(ctx, p.App, append(args, "--", form.Get("id")))
		},
		"queue": func(ctx context.Context, form url.Values) (string, error) {
			args := []string{"blueprint", "queue", "close", "--approve", "--signature=" + form.Get("signature"), "--reason=" +
				form.Get("reason")}
			done := page.DoneAcknowledged
			if form.Get("fixed") == "yes" {
				args, done = append(args, "--fixed"), page.DoneFixed
			}
			return done, ownCommand(ctx, p.App, append(args, "--", form.Get("id")))
		},
		"inbox": func(ctx context.Context, form url.Values) (string, error) {
			return page.DoneInbox, ownCommand(ctx, p.App,
				[]string{"inbox", "done", "--outcome=" + form.Get("outcome"), "--", form.Get("id")})
		},
		page.ActCancel: func(ctx context.Context, form url.Values) (string, error) {
			return page.DoneCancelled, ownCommand(ctx, p.App, []string{"cancel", "--", form.Get("run")})
		},
		page.ActDiscard: func(ctx context.Context, form url.Values) (string, error) {
			args := []string{"discard"}
			if form.Get("all") == "yes" {
				args = append(args, "--all")
			}
			return page.DoneDiscarded, ownCommand(ctx, p.App, append(args, "--", form.Get("run")))
		},
		page.ActResume: resume,
		page.ActRetry:  resume, // resume tries all failed batches again
	}
}

// ownCommand runs one of runplan's own commands and discards its output. The error contains the hint.
func ownCommand(ctx context.Context, a *cli.App, args []string) error {
	_, err := commandOutput(ctx, a, args)
	return err
}

// commandOutput runs one of runplan's own commands and returns its standard output. The error contains the hint.
func commandOutput(ctx context.Context, a *cli.App, args []string) (string, error) {
	var out strings.Builder
	quiet := *a
	quiet.Stdin, quiet.Stdout, quiet.Stderr = strings.NewReader(""), &out, io.Discard
	err := hinted(quiet.Call(ctx, args...))
	return out.String(), err
}

func hinted(err error) error {
	if _, hint := cli.CodeOf(err); hint != "" {
		return fmt.Errorf("%w. What to do: %s", err, hint)
	}
	return err
}

// preview returns the effect of an action. The error is the refusal of its command.
func preview(ctx context.Context, p *cli.Project, act, run string) (page.Outcome, error) {
	switch act {
	case page.ActResume, page.ActRetry:
		return previewResume(ctx, p.App, run)
	case page.ActDiscard:
		return previewDiscard(ctx, p, run)
	}
	return page.Outcome{}, nil
}

// previewResume returns what a changed plan means for each batch, as resume --dry-run reports it.
func previewResume(ctx context.Context, a *cli.App, run string) (page.Outcome, error) {
	text, err := commandOutput(ctx, a, []string{"resume", "--dry-run", "--json", "--", run})
	if err != nil || strings.TrimSpace(text) == "" {
		return page.Outcome{}, err
	}
	var r gates.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return page.Outcome{}, fmt.Errorf("read what resume would do: %w", err)
	}
	out := page.Outcome{Changed: true}
	for _, f := range r.Findings {
		out.Lines = append(out.Lines, f.Message)
	}
	if len(out.Lines) == 0 {
		out.Lines = append(out.Lines, r.Note)
	}
	return out, nil
}

// previewDiscard lists the worktrees and branches that discard would remove or keep.
func previewDiscard(ctx context.Context, p *cli.Project, run string) (page.Outcome, error) {
	var out page.Outcome
	s, err := control.OneRun(ctx, p, run)
	if err != nil {
		return out, hinted(err)
	}
	found, err := control.LeftAfter(ctx, p, s.Slug, false)
	if err != nil {
		return out, err
	}
	for _, x := range found {
		verb := "Removed"
		if !x.Remove {
			verb = "Kept"
		}
		out.Lines = append(out.Lines, fmt.Sprintf("%s: %s %s (%s).", verb, x.Kind, x.Name, x.Why))
	}
	return out, nil
}

// resumeWait limits the time that the page waits for a resumed run to begin.
const resumeWait = 20 * time.Second

// resumeApart runs resume in a separate process, which outlives the page. It returns when the run continues. The
// error is the refusal of the command.
func resumeApart(ctx context.Context, p *cli.Project, run string, accept bool) (string, error) {
	j, err := p.OpenJournal(ctx)
	if err != nil {
		return "", err
	}
	defer j.Close()
	from := 0
	for e, err := range journal.Events(ctx, j, run, 0) {
		if err != nil {
			return "", err
		}
		from = e.Seq + 1
	}
	path := filepath.Join(p.Layout.Logs(run), "resume.log")
	child, err := startResume(p, run, path, accept)
	if err != nil {
		return "", fmt.Errorf("start runplan resume: %w", err)
	}
	ended := make(chan int, 1)
	go func() {
		exit, _ := child.Wait()
		ended <- exit
	}()
	late := time.After(resumeWait)
	for {
		select {
		case exit := <-ended:
			if begun, err := resumedSince(ctx, j, run, from); begun || err != nil {
				return page.DoneResumed, err
			}
			return "", refusal(path, exit)
		case <-late:
			return page.DoneStarted, nil
		case <-time.After(100 * time.Millisecond):
			if begun, err := resumedSince(ctx, j, run, from); begun || err != nil {
				return page.DoneResumed, err
			}
		}
	}
}

// startResume starts runplan resume, with its output in the file at path.
func startResume(p *cli.Project, run, path string, accept bool) (*proc.Child, error) {
	self := cli.Self()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	args := []string{self, "resume", "--plain"}
	if accept {
		args = append(args, "--accept-changes")
	}
	return proc.Start(self, proc.Cmd{Args: append(args, "--", run), Dir: p.Repo.Root, Env: p.Environ},
		[3]*os.File{in, out, out})
}

// resumedSince reports whether a run was resumed by an event from seq on.
func resumedSince(ctx context.Context, j *store.Journal, run string, seq int) (bool, error) {
	for e, err := range journal.Events(ctx, j, run, seq) {
		if err != nil {
			return false, err
		}
		if e.Kind == runner.RunResumed {
			return true, nil
		}
	}
	return false, nil
}

// maxRefusal limits the bytes of a refusal that the page shows.
const maxRefusal = 4 << 10

// refusal returns the error that a process printed last.
func refusal(path string, exit int) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("runplan resume ended with exit status %d, and its output cannot be read: %w", exit, err)
	}
	text := string(data)
	if i := strings.LastIndex(text, "runplan: "); i >= 0 {
		text = text[i+len("runplan: "):]
	}
	text = phrase.Line(text)
	text = text[:min(len(text), maxRefusal)]
	text = strings.NewReplacer(" → more: ", ". More: ", " → ", ". What to do: ").Replace(text)
	return errors.New(redact.Clean(cmp.Or(text, fmt.Sprintf("runplan resume ended with exit status %d", exit))))
}
