package app

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/lists"
)

// everyday lists the commands of the short help, in the order of their use.
var everyday = []string{"init", "check", "run", "status", "log", "resume", "approve", "gate", "review", "doctor"}

// shortHelp shortens the help of the root command to everyday commands and a pointer to the others. The topic all
// lists every command by group.
func shortHelp(root *cobra.Command) {
	standard := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != root {
			standard(c, args)
			return
		}
		writeShortHelp(c.OutOrStdout(), root)
	})
	all := &cobra.Command{Use: "all", Short: "All commands, by topic", Hidden: true}
	all.SetHelpFunc(func(c *cobra.Command, _ []string) { writeAllHelp(c.OutOrStdout(), root) })
	root.AddCommand(all)
}

func writeShortHelp(w io.Writer, root *cobra.Command) {
	said := strings.Split(root.Long, "\n\n") // on a small terminal, show only the purpose and the first steps
	fmt.Fprintf(w, "%s\n\n%s\n\nEveryday commands:\n", said[0], said[len(said)-1])
	for _, name := range everyday {
		if c, _, err := root.Find([]string{name}); err == nil {
			fmt.Fprintf(w, "  %-10s  %s\n", c.Name(), c.Short)
		}
	}
	topics := lists.Map(root.Groups(),
		func(g *cobra.Group) string { return strings.ToLower(strings.TrimSuffix(g.Title, ":")) })
	fmt.Fprintf(w, "\nrunplan help COMMAND     an example, what it does, and its flags\nrunplan help all         "+
		"%s\nrunplan help exit-codes  what the exit codes mean\nrunplan --version        the version\n",
		strings.ReplaceAll(cells.Wrap("all commands by topic: "+strings.Join(topics, ", "), 54), "\n", "\n"+
			strings.Repeat(" ", 25)))
}

func writeAllHelp(w io.Writer, root *cobra.Command) {
	for _, g := range root.Groups() {
		fmt.Fprintf(w, "%s\n", g.Title)
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && !c.Hidden {
				fmt.Fprintf(w, "  %-10s  %s\n", c.Name(), c.Short)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "runplan help COMMAND says more about one of them.")
}
