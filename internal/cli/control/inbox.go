package control

import (
	"context"
	"path/filepath"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/trust"
)

// InboxItems reads the inbox and removes terminal control codes. A missing inbox has no items.
func InboxItems(ctx context.Context, a *cli.App, all bool) ([]store.InboxItem, error) {
	dir, err := a.UserDir()
	if err != nil {
		return nil, err
	}
	box, found, err := cli.IfExists(store.ReadInbox(ctx, trust.InboxFile(dir)))
	if !found {
		return []store.InboxItem{}, err
	}
	defer box.Close()
	read := box.Pending
	if all {
		read = box.All
	}
	items, err := read(ctx)
	for i := range items {
		items[i] = ShownItem(items[i])
	}
	return items, err
}

// ShownItem removes control codes from text that others wrote. The inbox keeps the original text.
func ShownItem(i store.InboxItem) store.InboxItem {
	i.Body, i.Reply, i.Outcome, i.Repo = redact.Clean(i.Body), redact.Clean(i.Reply), redact.Clean(i.Outcome),
		redact.Clean(i.Repo)
	return i
}

// RepoName returns the name of the repository in which an item was written, "-" outside of one.
func RepoName(i store.InboxItem) string {
	if i.Repo == "" {
		return "-"
	}
	return ui.Sanitize(filepath.Base(i.Repo))
}
