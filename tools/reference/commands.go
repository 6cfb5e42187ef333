package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/lists"
)

// reference renders all commands as one page of markdown.
func reference(root *cobra.Command) string {
	root.InitDefaultCompletionCmd() // cobra adds it only when a command runs
	root.InitDefaultVersionFlag()
	var b bytes.Buffer
	b.WriteString("# Command line\n\nThis page is generated from the commands: `make generate`.\n\n")
	overview(&b, root)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		fmt.Fprintf(&b, "## %s\n\n", c.CommandPath())
		fmt.Fprintf(&b, "```\n%s\n```\n\n", strings.TrimSpace(cmp.Or(c.Long, c.Short+".")))
		if c.Runnable() {
			fmt.Fprintf(&b, "Usage: `%s`\n\n", c.UseLine())
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimSpace(c.Example), "\n  ", "\n"))
		}
		if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "```\n%s```\n\n", flags.FlagUsages())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	settings(&b)
	b.WriteString("## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range cli.ExitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
	}
	return b.String()
}

// overview lists the commands by group, as the help does.
func overview(b *bytes.Buffer, root *cobra.Command) {
	b.WriteString("| | |\n|---|---|\n")
	for _, g := range root.Groups() {
		var links []string
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.Name() != "help" {
				links = append(links, fmt.Sprintf("[%s](#runplan-%s)", c.Name(), c.Name()))
			}
		}
		fmt.Fprintf(b, "| %s | %s |\n", strings.TrimSuffix(g.Title, ":"), strings.Join(links, " · "))
	}
	b.WriteString("\n")
}

// settings renders the keys of .runplan/config.toml with their defaults.
func settings(b *bytes.Buffer) {
	b.WriteString(
		"## Settings\n\nIn `.runplan/config.toml` for a repository, in `$RUNPLAN_HOME/config.toml` (or " +
			"`runplan/config.toml` in the system's\n" +
			"folder for configuration) for yourself. A flag overrides a variable, a variable the repository's file, and that " +
			"file yours.\n\n| key | default | variable | meaning |\n|---|---|---|---|\n")
	none := config.Loaded{Config: config.Default(), Sources: map[string]string{}}
	defaults := lists.By(none.Values(), func(v config.Value) string { return v.Key })
	for _, k := range config.Describe() {
		d := defaults[k.Key]
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Key, ticks(d.Value), ticks(d.Env), k.Doc)
	}
	b.WriteString("\n")
}

func ticks(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
