//go:build slim

package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/proc"
)

// trainer is the name of the full program. It has the commands that releases leave out of runplan.
const trainer = "runplan-training"

// newTrainingCommand returns the command training, which runs the program trainer from this program's folder or from
// PATH.
func newTrainingCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:                "training",
		Short:              "Turn the results of runs into training data (needs " + trainer + ")",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			path, err := trainerPath(a)
			if err != nil {
				return cli.Usage(fmt.Errorf("%s is not installed", trainer),
					"copy it from the release archive %s into the folder of runplan, or build runplan from its "+
						"source: make build", trainer)
			}
			child, err := os.StartProcess(path, append([]string{path}, a.Args...),
				&os.ProcAttr{Env: a.Environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
			if err != nil {
				return err
			}
			state, err := child.Wait()
			if err != nil || state.Success() {
				return err
			}
			return cli.Fail(state.ExitCode(), errors.New(""), "")
		},
	}
}

// trainerPath returns the path of the program trainer.
func trainerPath(a *cli.App) (string, error) {
	if self, err := os.Executable(); err == nil {
		name := trainer
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		path := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return proc.LookPath(trainer, a.Environ)
}
