package feedback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Published says where the change is visible.
type Published struct {
	Branch string `json:"branch"`
	Base   string `json:"base"`             // target branch
	Remote string `json:"remote,omitempty"` // remote of the pushed branch
	URL    string `json:"url,omitempty"`    // draft change request; "" if there is none
	Note   string `json:"note,omitempty"`   // why there is none
}

// String describes the publication for people.
func (p Published) String() string {
	if p.URL != "" {
		return "draft change request: " + p.URL
	}
	return "no change request: " + p.Note
}

// Target is the integration branch.
type Target struct {
	Branch  string
	Commit  string
	Default string // default branch, which is no allowed target; "" if unknown
}

// Check rejects the default branch: a fix goes to the integration branch, never directly to all users (C-18).
func (t Target) Check() error {
	switch {
	case t.Branch == "":
		return blocked("git switch to the integration branch", "HEAD is detached, so the target branch of a fix is unknown")
	case t.Branch == t.Default || t.Default == "" && (t.Branch == "main" || t.Branch == "master"):
		return blocked("switch to the integration branch, for example: git switch -c dev",
			"%s is the default branch, and fixes never target it", t.Branch)
	}
	return nil
}

// PRClient uses the remote and gh, the command line tool of GitHub.
type PRClient struct {
	Repo   *git.Repo
	Env    []string
	Reaper *proc.Reaper
	Redact func(string) string
	Remote string // "": origin, or else the first remote
	Dir    string // folder of texts for gh, by id
}

// toolTimeout bounds git push, git fetch and gh.
const toolTimeout = 5 * time.Minute

// program runs a program. said is its error output, for people.
func (f PRClient) program(ctx context.Context, args ...string) (out, said string, err error) {
	res, err := proc.Run(ctx, proc.Cmd{
		Args: args, Dir: f.Repo.Root, Env: f.Env, Limits: proc.Limits{Total: toolTimeout}, KeepStdout: 1 << 20,
		Reaper: f.Reaper, Redact: f.Redact,
	})
	if err != nil {
		return "", "", err
	}
	if ctx.Err() != nil {
		return "", "", context.Cause(ctx)
	}
	if !res.OK() {
		said = cmp.Or(oneLine(res.Tail), fmt.Sprintf("exit status %d", res.Exit))
		return strings.TrimSpace(string(res.Stdout)), said, nil
	}
	return strings.TrimSpace(string(res.Stdout)), "", nil
}

// gh runs gh. why is the reason, for people, why it could not do it.
func (f PRClient) gh(ctx context.Context, kind, verb string, args ...string) (out, why string, err error) {
	out, why, err = f.program(ctx, append([]string{"gh", kind, verb}, args...)...)
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return "", "gh is not installed", nil
	case why != "":
		why = fmt.Sprintf("gh %s %s: %s", kind, verb, why)
	}
	return out, why, err
}

// oneLine joins the output of a program for a message.
func oneLine(text string) string {
	return phrase.CutBytes(phrase.Line(redact.Clean(text)), 500)
}

// DefaultBranch returns the default branch of the remote, or "" if unknown.
func (f PRClient) DefaultBranch(ctx context.Context) (string, error) {
	remote, err := f.Repo.PushRemote(ctx, f.Remote)
	if err != nil || remote == "" {
		return "", err
	}
	out, err := f.Repo.Run(ctx, "symbolic-ref", "--quiet", "refs/remotes/"+remote+"/HEAD")
	if err != nil {
		return "", nil // the remote was never queried
	}
	return strings.TrimPrefix(out, "refs/remotes/"+remote+"/"), nil
}

var urlForm = lazyre.New(`https?://[^\s"'<>]+/pull/\d+`)

// Publish pushes the branch and opens a draft change request for the integration branch (FIX-20). It refuses a change
// without a regression test, a change of another feedback, and the default branch. Without a remote or gh it says so,
// and the branch remains for people.
func (f PRClient) Publish(ctx context.Context, i Item, c Change) (Published, error) {
	switch {
	case c.Plan.Test.Path == "":
		return Published{}, refuse("", "the change has no regression test, so it is not published")
	case c.Plan.FeedbackID != i.ID:
		return Published{}, refuse("", "the plan belongs to feedback %s, not to %s", c.Plan.FeedbackID, i.ID)
	case c.Fix.Branch != Branch(i.ID):
		return Published{}, refuse("", "the fix is on %s, but the branch of feedback %s is %s", c.Fix.Branch, i.ID,
			Branch(i.ID))
	case c.Differential.Tip != c.Fix.Tip || c.Differential.Report.Status != gates.Pass &&
		c.Differential.Report.Status != gates.Warn:
		return Published{}, refuse("", "no check shows that the regression test fails without the fix and passes with it")
	}
	main, err := f.DefaultBranch(ctx)
	if err != nil {
		return Published{}, err
	}
	t := Target{Branch: c.Fix.Into, Default: main}
	if err := t.Check(); err != nil {
		return Published{}, err
	}
	out := Published{Branch: c.Fix.Branch, Base: t.Branch}
	remote, err := f.Repo.PushRemote(ctx, f.Remote)
	if err != nil {
		return Published{}, err
	}
	if remote == "" {
		out.Note = fmt.Sprintf("the repository has no remote to push to; the fix is on %s: git merge %s", out.Branch,
			out.Branch)
		return out, nil
	}
	if _, said, err := f.program(ctx, "git", "push", "--quiet", remote, c.Fix.Tip+":refs/heads/"+out.Branch); err != nil {
		return Published{}, err
	} else if said != "" {
		return Published{}, blocked("make sure that it can be pushed, then process the feedback again", "git push %s: %s",
			remote, said)
	}
	out.Remote = remote
	file, err := f.text(i.ID, "pull-request.md", Body(i, c))
	if err != nil {
		return Published{}, err
	}
	url, said, err := f.program(ctx, "gh", "pr", "create", "--draft", "--base", t.Branch, "--head", out.Branch, "--title",
		Title(i), "--body-file", file)
	switch {
	case errors.Is(err, proc.ErrNotFound):
		out.Note = fmt.Sprintf("%s was pushed to %s, and gh is not installed; open the change request yourself, or install "+
			"gh and process the feedback again", out.Branch, remote)
		return out, nil
	case err != nil:
		return Published{}, err
	case said != "" && strings.Contains(said, "already exists") && urlForm.FindString(said) != "":
		url = urlForm.FindString(said) // opened by a process that was killed
	case said != "":
		return Published{}, blocked("fix it, then process the feedback again; the branch is pushed", "gh pr create: %s", said)
	}
	if out.URL = urlForm.FindString(url); out.URL == "" {
		return Published{}, blocked("find the change request in the repository, then: runplan self-fix record "+i.ID+
			" --pr URL", "gh pr create printed no address of the change request: %q", oneLine(url))
	}
	return out, nil
}

// text writes a text for gh to a file, because command lines have a length limit.
func (f PRClient) text(id, name, text string) (string, error) {
	dir := filepath.Join(f.Dir, id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	return file, atomicfile.Write(file, []byte(text), 0o644)
}

// Title returns the title of the change request.
func Title(i Item) string {
	line, _, _ := strings.Cut(strings.TrimSpace(i.Body), "\n")
	return "Fix " + i.ID + ": " + phrase.Cut(fence.Line(line), 70)
}

// quote quotes the owner's text in a fence, so that GitHub sees no mention, image or command in it. It removes only
// control and invisible characters.
func quote(body string) string {
	shown := fence.Clean(body)
	text := fence.Around("text", strings.TrimRight(shown, "\n"))
	if n := utf8.RuneCountInString(strings.ReplaceAll(body, "\r\n", "\n")) - utf8.RuneCountInString(shown); n > 0 {
		text += fmt.Sprintf("\n(%d control characters and invisible characters were removed.)\n", n)
	}
	return text
}

// Body returns the text of the change request: the feedback, the owner's words, the finding, the change, and the table
// of the review (FIX-21).
func Body(i Item, c Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "feedback_id: %s\n\nThis draft answers a feedback:\n\n%s", i.ID, quote(i.Body))
	fmt.Fprintf(&b, "\n| | |\n| --- | --- |\n| severity | %s |\n| class | %s (%d %%) |\n| plan | %d of at most %d |\n| "+
		"lines | %d |\n| regression test | %s |\n", i.Severity, c.Triage.Class, c.Triage.ConfidencePct, c.Plan.Round,
		MaxRounds, c.Fix.Lines, cell(c.Plan.Test.Path))
	fmt.Fprintf(&b, "\n## Root cause\n\n%s\n## Change\n\n%s", fence.Foreign("text", c.Plan.RootCause),
		fence.Foreign("text", c.Plan.Change))
	fmt.Fprintf(&b, "\n## Regression test\n\nIt fails on %s and passes on %s. %s\n", git.Short(c.Differential.Base),
		git.Short(c.Differential.Tip), cell(c.Differential.Report.Note))
	b.WriteString("\n## Review\n\n" + Table(c.Review))
	return b.String()
}

// Table returns the table of the review passes.
func Table(r Reviewed) string {
	if r.Verdict == "" {
		return "(review gate not available)\n\n" + cell(r.Note) + "\n"
	}
	var b strings.Builder
	b.WriteString("| pass | status | findings | note |\n| --- | --- | ---: | --- |\n")
	for _, p := range r.Passes {
		fmt.Fprintf(&b, "| %d %s | %s | %d | %s |\n", p.Number, p.Name, p.Status, len(p.Findings), cell(p.Note))
	}
	fmt.Fprintf(&b, "\nVerdict: %s, confidence %d of 100.\n", r.Verdict, r.ConfidencePct)
	return b.String()
}

// cell makes foreign text safe for a markdown table cell.
func cell(text string) string {
	text = fence.Line(text)
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "@", "@\u200d", "[", `\[`, "]",
		`\]`, "*", `\*`, "_", `\_`, "#", `\#`).Replace(text)
}
