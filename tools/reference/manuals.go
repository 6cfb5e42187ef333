package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/runplan/runplan/internal/cli"
)

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
