package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/runner/local"
	"github.com/runplan/runplan/temporal/clones"
)

func newWorkerGCCommand(a *cli.App, o *workerOptions) *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove the clones that no run uses",
		Long: `Remove the clones under --dir that no run has used for --keep-clones. All durable data of a run is in the
shared repository, and a clone is made again when needed. A worker does the same by itself, so this is
for folders without a worker, and with --list to show the contents of a folder.

Exit status:
    0  done
    2  usage or configuration
    5  a clone could not be removed
    6  a worker has the folder, and removes them itself`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := o.folder()
			if err != nil {
				return err
			}
			found, err := clones.List(dir, o.keep, time.Now())
			if err != nil {
				return err
			}
			if list || len(found) == 0 {
				return a.PrintLeftovers(found, list)
			}
			folder, _, err := clones.Take(dir, time.Now)
			if errors.Is(err, local.ErrLocked) {
				return fmt.Errorf("%w; it removes them itself, see --list", err)
			}
			if err != nil {
				return err
			}
			defer folder.Close()
			if found, err = clones.List(dir, o.keep, time.Now()); err != nil { // without the marks of ended workers
				return err
			}
			if _, err := folder.Prune(o.keep); err != nil {
				return err
			}
			return a.PrintLeftovers(found, list)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "only list")
	cmd.Flags().BoolVar(&a.JSON, "json", false, "print a JSON array")
	return cmd
}
