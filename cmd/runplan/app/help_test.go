package app

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
)

// Each command that runs has an example, which uses only flags of the command (HELP-01).
func TestEachCommandHasExample(t *testing.T) {
	a := cli.App{Stdout: io.Discard, Stderr: io.Discard}
	root := newRootCommand(&a, nil)
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
			if !ok {
				continue
			}
			rest, _, _ = strings.Cut(rest, " | ")
			of, args, err := root.Find(strings.Fields(rest)) // an example of serve uses run
			if of == root {
				of, args, err = root.Find(append([]string{"run"}, args...)) // runplan PLAN
			}
			if err == nil {
				err = of.ParseFlags(args)
			}
			if err != nil {
				t.Errorf("%s: the example %q: %v", c.CommandPath(), rest, err)
			}
		}
	}
	walk(root)
}

// A command that is built alone has the same subcommands, flags and help as in the whole tree (START-02).
func TestSingleCommandMatchesWholeTree(t *testing.T) {
	help := func(c *cobra.Command) string {
		var b strings.Builder
		c.SetOut(&b)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	a := cli.App{Stdout: io.Discard, Stderr: io.Discard}
	root := newRootCommand(&a, nil)
	for _, g := range commandGroups() {
		for _, named := range g.commands {
			alone := newRootCommand(&a, []string{named.name, "--help"})
			if one, _, err := alone.Find([]string{named.name}); err != nil || one.Name() != named.name {
				t.Errorf("%s: made %s (%v)", named.name, one.Name(), err)
			}
			if other, _, _ := alone.Find([]string{"egress"}); named.name != "egress" && other != alone {
				t.Errorf("%s: other commands are built too", named.name)
			}
			var walk func(c *cobra.Command)
			walk = func(c *cobra.Command) {
				path := strings.Fields(c.CommandPath())[1:]
				one, _, err := alone.Find(path)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := help(one), help(c); got != want {
					t.Errorf("%v alone says\n%s\nand not\n%s", path, got, want)
				}
				for _, sub := range c.Commands() {
					walk(sub)
				}
			}
			c, _, _ := root.Find([]string{named.name})
			walk(c)
		}
	}
}

// One command is enough for --version and for the name of a command; help, completion and a mistyped command need all
// commands (START-02).
func TestCommandLineBuildsOneCommand(t *testing.T) {
	for line, want := range map[string]bool{
		"--version": false, "status": false, "run plan.md": false, "": true, "plan.md": true, "--help": true, "help": true,
		"staus": true, "completion bash": true, "__complete ru": true, "--max-attempts 3 plan.md": true,
	} {
		if _, one := onlyCommand(commandGroups(), strings.Fields(line)); one == want {
			t.Errorf("%q: onlyCommand returns %v", line, one)
		}
	}
}
