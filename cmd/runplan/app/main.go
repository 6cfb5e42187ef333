// Package app is the command line of runplan: the tree of commands, its help and its documents. The packages below
// internal/cli hold the commands. It is not a main package, so that other programs can add engines to runplan.
package app

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/agents/script"
	"github.com/runplan/runplan/internal/cli"
)

// Main runs one command line and returns its exit code.
func Main(a cli.App) int {
	if len(a.Args) > 0 && a.Args[0] == cli.TestscriptCommand {
		return script.EngineMain(a.Args[1:], a.Environ, a.Stdout)
	}
	a.SaveMemory()
	a.Root, a.Words = newRootCommand, impliedWords
	return a.Execute(context.Background(), a.Args...)
}

// Commands returns all commands, of a process with an empty environment, for programs that describe them.
func Commands() *cobra.Command {
	return newRootCommand(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}, nil)
}
