package plans

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/planparse/draft"
)

// NewOutlineCommand returns the command outline.
func NewOutlineCommand(a *cli.App) *cobra.Command {
	var o planOptions
	return a.Command(cli.With{Exits: "0 1 2 5", Repo: true, JSON: "a JSON object"}, &cobra.Command{
		Use:   "outline DOC",
		Short: "Draft a plan from a document, without a model",
		Long: `Draft a plan from another document: a design note, a specification, the text of a change
request. Sections that describe work become batches with the files that they name; the items of
a test plan become their checks. Each batch names its line in the document. Text that is in no batch
is listed at the end, with the reason. Nothing is run. Read the draft, correct it, run it.

  runplan outline docs/design.md
  runplan outline docs/design.md --out - | less`,
		Args: cli.ExactlyOne("the path of a document"),
		RunE: a.InProject(func(_ context.Context, p *cli.Project, args []string) error {
			return outlineDocument(p, args[0], o)
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&o.out, "out", "", "output file, or - for standard output (default docs/plans/<date>-<document>.md)")
		f.BoolVar(&o.force, "force", false, "overwrite an existing file")
	})
}

// outlined is the output of outline --json.
type outlined struct {
	Document string         `json:"document"`
	Path     string         `json:"path"` // "" for standard output
	Batches  []outlineBatch `json:"batches"`
	Left     []draft.Left   `json:"left"`
	Markdown string         `json:"markdown,omitempty"` // set if no file was written
}

type outlineBatch struct {
	draft.Batch
	Origin string        `json:"origin"`
	Refs   []string      `json:"context_refs"`
	Checks []draft.Check `json:"checks"`
}

func outlineDocument(p *cli.Project, file string, o planOptions) error {
	plan, text, err := outlineOf(p.Repo.Root, file)
	switch {
	case errors.Is(err, errIsPlan):
		return cli.Fail(cli.ExitFailed, err, "judge it: runplan check %s", cli.Word(file))
	case errors.Is(err, draft.ErrNoWork):
		return cli.Fail(cli.ExitFailed, err,
			"give each piece of work a heading and name its files below it, or have a model read it: runplan plan --from %s",
			cli.Word(file))
	case err != nil:
		return err
	}
	o.from = file
	path, err := planFile(p, "", o)
	if err != nil {
		return err
	}
	if path != "" {
		if err := writePlan(path, text, o.force); err != nil {
			return err
		}
	}
	shown := cli.Rel(path)
	if p.JSON {
		out := outlined{Document: file, Path: shown, Left: append([]draft.Left{}, plan.Left...)}
		for _, b := range plan.Batches {
			out.Batches = append(out.Batches, outlineBatch{b, b.Origin, b.Refs, b.Checks})
		}
		if path == "" {
			out.Markdown = text
		}
		return cli.AsJSON(p.Hiding(), out)
	}
	if path == "" {
		fmt.Fprint(p.Stdout, text)
	} else {
		fmt.Fprintln(p.Stdout, shown)
	}
	fmt.Fprintf(p.Stderr, "%s; %s of %s in no batch, listed at the end\n", phrase.Count(len(plan.Batches), "batch"),
		phrase.Count(len(plan.Left), "part"), file)
	if path != "" {
		fmt.Fprintf(p.Stderr, "read and correct it, then: runplan check %s\n", cli.Word(shown))
	}
	return nil
}

// errIsPlan reports that a document is already a plan and needs no outline.
var errIsPlan = errors.New("the document already is a plan")

// outlineOf drafts a plan from a document, and checks that the parser reads it as intended.
func outlineOf(root, file string) (draft.Plan, string, error) {
	src, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return draft.Plan{}, "", cli.Usage(fmt.Errorf("%s: no such file", file), "give the path of a document")
	} else if err != nil {
		return draft.Plan{}, "", cli.Usage(err, "")
	}
	name, ok := cli.Below(root, file)
	if !ok {
		name = filepath.Base(file)
	}
	if p, err := planparse.Parse(name, src); err == nil && len(p.Errors()) == 0 {
		if c := p.Cover(src); len(p.Batches) > 1 && c.Share(c.Brief+c.Skipped) >= 50 {
			return draft.Plan{}, "",
				fmt.Errorf("%w, with %s in the format %s", errIsPlan, phrase.Count(len(p.Batches), "batch"), p.Format)
		}
	}
	plan, err := draft.Outline(name, src, func(p string) bool {
		if !filepath.IsLocal(filepath.FromSlash(p)) {
			return false
		}
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(p)))
		return err == nil && info.Mode().IsRegular()
	})
	if errors.Is(err, planparse.ErrEmpty) || errors.Is(err, planparse.ErrBinary) || errors.Is(err, planparse.ErrTooBig) {
		return plan, "", cli.Usage(err, "")
	} else if err != nil {
		return plan, "", err
	}
	text, err := plan.Markdown()
	return plan, text, err
}

// worksHint suggests to outline a file of which the parser reads hardly anything. It returns "" for a plan.
func worksHint(root, file string, p *planparse.Plan, r planparse.Report) string {
	if c := r.Coverage; c == nil || len(p.Batches) > 0 && c.Share(c.Brief+c.Skipped) >= 50 {
		return ""
	}
	plan, _, err := outlineOf(root, file)
	switch {
	case errors.Is(err, draft.ErrNoWork):
		return fmt.Sprintf("almost none of it reaches an agent, and %v", err)
	case err != nil:
		return ""
	}
	return fmt.Sprintf(
		"runplan reads less than half of it as work, but its sections describe more: runplan outline %[2]s drafts a plan "+
			"with %[1]s from them",
		phrase.Count(len(plan.Batches), "batch"), file)
}

// taskOfDocument returns the task text for making a plan from a document.
func taskOfDocument(file, task string) (string, error) {
	src, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", cli.Usage(fmt.Errorf("--from %s: no such file", file), "give the path of a document")
	} else if err != nil {
		return "", cli.Usage(fmt.Errorf("--from: %w", err), "")
	}
	if strings.TrimSpace(string(src)) == "" {
		return "", cli.Usage(fmt.Errorf("--from %s: the document is empty", file), "")
	}
	if task == "" {
		task = "Plan the work that the document " + filepath.ToSlash(file) + " describes"
	}
	return task + "\n\nKeep its requirement ids, such as REQ-1, in the tasks. The document:\n\n" +
		fence.Foreign("text", string(src)), nil
}
