//go:build manuals

package app

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/runplan/runplan/internal/cli"
)

// The release builds one program with this tag to write the manual pages: the renderer is 1 MB that no user needs.
func init() {
	more = append(more, func() *cobra.Command {
		return &cobra.Command{
			Use: "manuals FOLDER", Short: "Write a manual page for each command", Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return manuals(cmd.Root(), args[0]) },
		}
	})
}

// manuals writes a manual page for each command into dir. Their date is SOURCE_DATE_EPOCH, else that of the release.
func manuals(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	at, err := time.Parse(time.RFC3339, cli.ReleaseDate)
	if err != nil {
		at = time.Unix(0, 0)
	}
	at = at.UTC()
	return doc.GenManTree(root,
		&doc.GenManHeader{Section: "1", Source: "runplan " + cli.Version(), Manual: "runplan", Date: &at}, dir)
}
