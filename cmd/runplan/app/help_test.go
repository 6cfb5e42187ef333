package app

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
)

// Each command that runs has an example, and its flags are those of the command (HELP-01).
func TestEachCommandHasAnExample(t *testing.T) {
	a := cli.App{Stdout: io.Discard, Stderr: io.Discard}
	root := newRootCommand(&a)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c == root || !c.Runnable() || c.Hidden || c.Name() == "help" || c.HasSubCommands() && c.Example == "" {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			_, rest, ok := strings.Cut(strings.TrimSpace(line), "runplan ")
			if !ok || !strings.Contains(examples, "runplan "+rest) {
				continue
			}
			for word := range strings.FieldsSeq(rest) {
				name, isFlag := strings.CutPrefix(word, "--")
				name, _, _ = strings.Cut(name, "=")
				if isFlag && name != "" && c.Flag(name) == nil {
					t.Errorf("%s: the example has --%s, which is no flag of it", c.CommandPath(), name)
				}
			}
		}
	}
	walk(root)
}
