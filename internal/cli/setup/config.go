package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/ui"
)

// NewConfigCommand returns the command config.
func NewConfigCommand(a *cli.App) *cobra.Command {
	var keys bool
	cmd := a.Command(cli.With{Exits: "0 2", JSON: "a JSON array"}, &cobra.Command{
		Use:   "config",
		Short: "Show each setting and where its value comes from",
		Long: `Show each setting, its value and its source: a file, a variable, or the default.
The command line overrides variables, variables override .runplan/config.toml, and that overrides your own file,
$RUNPLAN_HOME/config.toml.

Without RUNPLAN_HOME your files are in ~/.config/runplan ($XDG_CONFIG_HOME/runplan), or on macOS in
~/Library/Application Support/runplan.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all := config.Describe(); keys {
				return a.Print(all, func() {
					for _, k := range all {
						fmt.Fprintf(a.Stdout, "%-28s %s\n", k.Key, k.Doc)
					}
				})
			}
			p, err := a.OpenProject(cmd.Context())
			if err != nil {
				return err
			}
			values := p.Config.Values()
			var rows ui.Rows
			for _, v := range values {
				rows.Add(v.Key, v.Value, v.Source, v.Env)
			}
			return a.PrintTable(values, "", []string{"key", "value", "from", "variable"}, rows)
		},
	})
	cmd.Flags().BoolVar(&keys, "keys", false, "list all settings with their meaning")
	cmd.AddCommand(newConfigSetCommand(a), newConfigUnsetCommand(a))
	return cmd
}

func newConfigSetCommand(a *cli.App) *cobra.Command {
	return editCommand(a, 2, &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change one setting in a file",
		Long: `Set a key in .runplan/config.toml, or in your own file with --user. Comments and the order of the file
are kept. An invalid value is refused, and nothing is written. Lists are written as in TOML: '["lint", "tests"]'.`,
	})
}

func newConfigUnsetCommand(a *cli.App) *cobra.Command {
	return editCommand(a, 1, &cobra.Command{
		Use:   "unset KEY",
		Short: "Remove a setting from a file; the default applies again",
		Long:  `Remove a key from .runplan/config.toml, or from your own file with --user.`,
	})
}

// editCommand completes a command that changes one key: to its second argument, or with one argument to the default.
func editCommand(a *cli.App, args int, c *cobra.Command) *cobra.Command {
	var user bool
	c = a.Command(cli.With{Exits: "0 1 2 5"}, c)
	c.Args, c.ValidArgsFunction = cobra.ExactArgs(args), completeKeys
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var value *string
		if len(args) > 1 {
			value = &args[1]
		}
		return editConfig(cmd.Context(), a, args[0], value, user)
	}
	c.Flags().BoolVar(&user, "user", false, "in your user configuration, for all repositories")
	return c
}

func completeKeys(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lists.Map(config.Describe(), func(k config.Key) string { return k.Key + "\t" + k.Doc }),
		cobra.ShellCompDirectiveNoFileComp
}

// editConfig changes one key of a file. The whole configuration is loaded with the new text before it is written.
func editConfig(ctx context.Context, a *cli.App, key string, value *string, user bool) error {
	if err := a.NotAnAgent("a change of settings"); err != nil {
		return err
	}
	own, err := config.UserFile(a.Getenv)
	if err != nil {
		return err
	}
	files, file := []string{own}, own
	if !user {
		root, err := a.RootHere(ctx)
		if err != nil {
			return err
		}
		if root == "" {
			return cli.Usage(errors.New("not inside a git repository"),
				"change into one, or set it for all repositories: --user")
		}
		file = filepath.Join(root, ".runplan", "config.toml")
		files = append(files, file)
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings: %w", err)
	}
	changed, err := config.Edit(text, key, value)
	if err != nil {
		return cli.Usage(fmt.Errorf("%s: %w", cli.Rel(file), err), "runplan config --keys lists what can be set")
	}
	loaded, err := config.LoadWith(files, a.Getenv, file, changed)
	if err != nil {
		return cli.Usage(err, "nothing was written; runplan config --keys lists what can be set")
	}
	if err := a.CheckSettings(loaded, key); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(file, changed, 0o644); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	switch {
	case value == nil && bytes.Equal(text, changed):
		fmt.Fprintf(a.Stdout, "%s: %s is not set\n", cli.Rel(file), key)
		return nil
	case value == nil:
		fmt.Fprintf(a.Stdout, "%s: %s is no longer set\n", cli.Rel(file), key)
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s: %s = %s\n", cli.Rel(file), key, *value)
	return nil
}
