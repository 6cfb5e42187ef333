package setup

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
)

// NewConfigCommand returns the command config.
func NewConfigCommand(a *cli.App) *cobra.Command {
	var asJSONFlag, keys bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show each setting and where its value comes from",
		Long: `Show each setting, its value and its source: a file, a variable, or the default.
The command line overrides variables, variables override .runplan/config.toml, and that overrides your own file.` + cli.ExitStatus(cli.ExitOK, cli.ExitUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if keys && asJSONFlag {
				return cli.AsJSON(a.Stdout, config.Describe())
			}
			if keys {
				for _, k := range config.Describe() {
					fmt.Fprintf(a.Stdout, "%-28s %s\n", k.Key, k.Doc)
				}
				return nil
			}
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			values := p.Config.Values()
			if asJSONFlag {
				return cli.AsJSON(a.Stdout, values)
			}
			var rows [][]string
			for _, v := range values {
				rows = append(rows, []string{v.Key, v.Value, v.Source, v.Env})
			}
			return cli.Table(a.Stdout, []string{"key", "value", "from", "variable"}, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&keys, "keys", false, "list all settings with their meaning")
	cmd.AddCommand(newConfigSetCommand(a), newConfigUnsetCommand(a))
	return cmd
}
