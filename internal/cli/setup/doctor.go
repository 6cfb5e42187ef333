package setup

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/suite"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/judge"
	"github.com/runplan/runplan/internal/cli/prepare"
	"github.com/runplan/runplan/internal/proc"
)

// checked is one line of doctor.
type checked struct {
	What string `json:"what"`
	// ok, missing, problem; error: could not be checked; unknown, skipped; of gates: not configured, off
	Status string `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// NewDoctorCommand returns the command doctor.
func NewDoctorCommand(a *cli.App) *cobra.Command {
	var asJSONFlag bool
	var agent, confined string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the requirements of a run, and show how to meet them",
		Long: "Check git, the repository, the settings, the agents, the models and the tools of gates." +
			doctorAgentHelp + doctorSandboxHelp +
			cli.ExitStatus(cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitCannotRun, cli.ExitInterrupted),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent != "" {
				return tryAgent(cmd.Context(), a, agent, asJSONFlag)
			}
			if confined != "" {
				return trySandbox(cmd.Context(), a, confined, asJSONFlag)
			}
			list := examine(a, cmd)
			bad, unseen := 0, 0
			var rows [][]string
			for _, c := range list {
				switch c.Status {
				case "problem":
					bad++
				case "error":
					unseen++
				}
				rows = append(rows, []string{c.Status, c.What, c.Detail, c.Fix})
			}
			var err error
			if asJSONFlag {
				err = cli.AsJSON(a.Stdout, list)
			} else {
				err = cli.Table(a.Stdout, []string{"", "what", "found", "to do"}, rows)
			}
			if err == nil && bad > 0 {
				err = cli.Fail(cli.ExitFailed, fmt.Errorf("%d problem(s)", bad), "")
			}
			if err == nil && unseen > 0 {
				err = cli.Fail(cli.ExitCannotRun, fmt.Errorf("%d item(s) could not be checked", unseen), "")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	cmd.Flags().StringVar(&agent, "agent", "",
		"try an agent in a scratch repository: it answers a question and writes a file")
	cmd.Flags().StringVar(&confined, "sandbox", "",
		"try the sandbox of an agent: what must work inside, and what must not")
	return cmd
}

// examineGates reports for each gate of the tree whether its tools are installed. It runs nothing of the tree.
func examineGates(ctx context.Context, a *cli.App, p *cli.Project) []checked {
	settings := judge.GateSettings(p, "", false)
	settings.Found = judge.Detected(ctx, p.Repo)
	var infos []gates.Info
	for _, g := range suite.All(p.Repo.Root, settings) {
		infos = append(infos, g.Info())
	}
	var out []checked
	for i, r := range gates.Examine(ctx, p.Repo.Root, a.Environ, infos) {
		found, fix := judge.FoundTools(r)
		if command := infos[i].Command; r.State != gates.StateOff && command != "" {
			found = strings.TrimSuffix(command+": "+found, ": ")
		}
		out = append(out, checked{"gate " + infos[i].Name, string(r.State), found, fix})
	}
	return out
}

// examine runs the checks of doctor. Only findings that would stop a run are problems.
func examine(a *cli.App, cmd *cobra.Command) []checked {
	var out []checked
	add := func(what, status, detail, fix string) { out = append(out, checked{what, status, detail, fix}) }
	ctx := cmd.Context()
	add("runplan", "ok", cli.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH, "")
	if v, err := proc.Output(ctx, proc.Cmd{Args: []string{"git", "--version"}, Env: a.Environ}); err != nil {
		add("git", "problem", err.Error(), "install git 2.30 or newer")
		return out
	} else {
		add("git", "ok", strings.TrimSpace(string(v)), "")
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		_, hint := cli.CodeOf(err)
		add("repository", "problem", err.Error(), hint)
		return out
	}
	add("repository", "ok", p.Repo.Root, "")
	if _, _, err := p.Repo.Head(ctx); err != nil {
		add("commits", "problem", err.Error(), "git add -A && git commit -m start")
	}
	if err := p.Repo.Ident(ctx); err != nil {
		add("author", "problem", err.Error(), "git config user.name and user.email")
	} else {
		add("author", "ok", "user.name and user.email are set", "")
	}
	if err := a.Signing(ctx, p); err != nil {
		_, hint := cli.CodeOf(err)
		add("signing", "problem", err.Error(), hint)
	}
	if free, err := prepare.FreeMiB(p.Repo.Root); err != nil {
		add("disk", "problem", err.Error(), "")
	} else if free < uint64(p.Config.Run.MinFreeMB) {
		add("disk", "problem", fmt.Sprintf("%d MiB free", free), "runplan gc, or free some space")
	} else {
		add("disk", "ok", fmt.Sprintf("%d MiB free", free), "")
	}
	add("agent script", "ok", "embedded", "")
	out = append(out, examineAgents(ctx, a, p)...)
	out = append(out, examineModels(ctx, a, p)...)
	out = append(out, examineGates(ctx, a, p)...)
	for _, tool := range []string{"bash", "gh", "ast-grep"} {
		if path, err := a.OnPath(tool); err != nil {
			add(tool, "missing", err.Error(),
				map[string]string{"bash": "install bash: literal plans and shell gates need it", "gh": "needed for --land pr only",
					"ast-grep": "optional"}[tool])
		} else {
			add(tool, "ok", path, "")
		}
	}
	return out
}
