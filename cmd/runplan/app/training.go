//go:build !slim

package app

import (
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/learn"
)

// newTrainingCommand returns the command training. Releases are built with the tag slim, which moves it to a separate
// program.
func newTrainingCommand(a *cli.App) *cobra.Command { return learn.NewTrainingCommand(a) }
