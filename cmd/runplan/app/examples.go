package app

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// examples holds examples for the commands that do not define one with their flags. The key is the path of the command
// without the name of the program. TestEachCommandHasExample parses them. It is a variable because embed knows no
// constants.
//
//go:embed examples.txt
var examples string

// addExamples gives each command without an example the one of [examples], and puts examples first in the help.
func addExamples(root *cobra.Command) {
	all := map[string]string{}
	for line := range strings.Lines(examples) {
		if path, example, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			all[path] = "  " + strings.TrimSpace(example)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if path := strings.TrimPrefix(c.CommandPath(), root.Name()+" "); c.Example == "" {
			c.Example = all[path]
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	root.SetHelpTemplate(`{{with .Example}}{{.}}

{{end}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`)
	usageTemplate := root.UsageTemplate()
	root.SetUsageTemplate(strings.Replace(usageTemplate, "{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}", "", 1))
}
