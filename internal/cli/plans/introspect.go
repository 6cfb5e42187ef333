package plans

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// NewIntrospectCommand returns the command introspect.
func NewIntrospectCommand(a *cli.App) *cobra.Command {
	var mermaid bool
	return a.Command(cli.With{Exits: "0", JSON: "a JSON object"}, &cobra.Command{
		Use:   "introspect",
		Short: "Print the state machine of a run",
		Long: "Print the loop: seven stages, twenty states and their transitions, from the table that the " +
			"machine runs on.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loop := runner.DefaultLoop()
			switch {
			case a.JSON && mermaid:
				return cli.Usage(errors.New("--json and --mermaid exclude each other"), "choose one")
			case a.JSON:
				return cli.AsJSON(a.Stdout, loop)
			case mermaid:
				_, err := io.WriteString(a.Stdout, loop.Mermaid())
				return err
			}
			var rows [][]string // with two spaces between ways, which [ui.Rows.Add] would make one
			for _, s := range loop.States {
				var ways string
				for _, t := range loop.Transitions {
					if t.From == s.Name {
						ways += fmt.Sprintf("%s → %s  ", t.On, t.To)
					}
				}
				rows = append(rows, []string{string(s.Stage), string(s.Name), s.Scope, s.Does, ways})
			}
			return ui.Table(a.Stdout, []string{"stage", "state", "scope", "what it does", "ways out"}, rows)
		},
	}, func(f *cli.Flags) { f.BoolVar(&mermaid, "mermaid", false, "print a stateDiagram-v2") })
}
