//go:build !slim

package app

import (
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/learn"
)

// newTrainingCommand returns the command training. Releases are built with the tag slim, which leaves it to a program
// of its own.
func newTrainingCommand(a *cli.App) *cobra.Command { return learn.NewTrainingCommand(a) }
