package run

import (
	"fmt"
	"path/filepath"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/notify"
)

// openNotifier starts the notifications of a run. It returns nil if none are configured. Failed notifications are
// shown as notes; with --json they go to standard error, because standard output carries only events.
func (x *Execution) openNotifier(reaper *proc.Reaper, v *view) *notify.Notifier {
	if !x.Project.Notifies() {
		return nil
	}
	note := func(text string) {
		if x.Options.JSON {
			fmt.Fprintf(x.App.Stderr, "runplan: %s\n", ui.Sanitize(text))
			return
		}
		v.Note(text)
	}
	return notify.New(notify.Options{
		Hook: x.App.Hook(x.Project, reaper, note), Events: x.Project.Config.Notify.Events, Info: x.Info,
		Repository: filepath.Base(x.Project.Repo.Root),
	})
}
