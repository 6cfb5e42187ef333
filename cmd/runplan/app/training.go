//go:build !slim

package app

import (
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/learn"
)

func newTrainingCommand(a *cli.App) *cobra.Command { return learn.NewTrainingCommand(a) }
