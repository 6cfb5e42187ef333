package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/command"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
)

// NewVersionCommand returns the command version.
func NewVersionCommand(a *cli.App) *cobra.Command {
	var check bool
	return a.Command(cli.With{JSON: "JSON"}, &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  runplan version --check",
		Long: `Print the version of runplan, with its commit and day. With --check, also list the programs that runplan
starts, with their versions, and mark missing and old ones. It exits with 1 if a required program is missing or too
old.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := cli.BuildVersion()
			if check {
				info.Others = neighbors(cmd.Context(), a)
			}
			if err := a.Print(info, func() { printVersion(a, info) }); err != nil {
				return err
			}
			for _, n := range info.Others {
				if n.Name == "git" && n.State != "ok" {
					return cli.Fail(cli.ExitFailed, fmt.Errorf("git is %s", n.State), "%s", n.Advice)
				}
			}
			return nil
		},
	}, func(f *cli.Flags) {
		f.BoolVar(&check, "check", false, "list the programs that runplan starts, with missing and old ones")
	})
}

func printVersion(a *cli.App, info cli.VersionInfo) {
	fmt.Fprintf(a.Stdout, "runplan %s\n", info)
	var rows ui.Rows
	for _, n := range info.Others {
		rows.Add(n.Name, n.State, n.Version, n.Advice)
	}
	ui.Table(a.Stdout, nil, rows)
}

// requirement is the oldest version of a program that runplan works with.
type requirement struct {
	name   string
	args   []string
	oldest [2]int // major and minor version; zero for any
	advice string
}

func requirements() []requirement {
	return []requirement{
		{"git", []string{"git", "--version"}, [2]int{2, 30}, "install git 2.30 or newer"},
		{"bash", []string{"bash", "--version"}, [2]int{}, "install bash: literal plans and shell gates need it"},
		{"ast-grep", []string{"ast-grep", "--version"}, [2]int{0, 38}, "optional; npm install -g @ast-grep/cli"},
		{"bwrap", []string{"bwrap", "--version"}, [2]int{}, "optional, for --sandbox; install bubblewrap"},
		{"gh", []string{"gh", "--version"}, [2]int{2, 0}, "optional, for --land pr; see https://cli.github.com"},
	}
}

var versionNumber = lazyre.New(`(\d+)\.(\d+)(?:\.\d+)*`)

// neighbors runs the programs that runplan uses to get their versions: tools, then agents.
func neighbors(ctx context.Context, a *cli.App) []cli.Neighbor {
	all := requirements()
	for _, p := range command.Presets() {
		all = append(all, requirement{p.Program, []string{p.Program, "--version"}, [2]int{}, "optional agent; " + p.Install})
	}
	return lists.Map(all, func(r requirement) cli.Neighbor { return neighbor(ctx, a, r) })
}

func neighbor(ctx context.Context, a *cli.App, r requirement) cli.Neighbor {
	n := cli.Neighbor{Name: r.name, State: "missing", Advice: r.advice}
	if _, err := a.OnPath(r.name); err != nil {
		return n
	}
	text, err := proc.Output(ctx, proc.Cmd{Args: r.args, Env: a.Environ})
	if err != nil {
		n.State, n.Advice = "error", err.Error()
		return n
	}
	m := versionNumber.FindStringSubmatch(string(text))
	if m == nil {
		n.State, n.Advice = "ok", "its version is unknown"
		return n
	}
	n.State, n.Version = "ok", m[0]
	var have [2]int
	fmt.Sscan(m[1], &have[0])
	fmt.Sscan(m[2], &have[1])
	if slices.Compare(have[:], r.oldest[:]) < 0 {
		n.State = "old"
		return n
	}
	n.Advice = ""
	return n
}
