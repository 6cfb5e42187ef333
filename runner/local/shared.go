package local

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/stamps"
)

// keeper protects the files that control git in all worktrees (hooks, settings, replaced objects) and the tool
// settings outside the workspaces. It stores their state when agents begin and restores what changes meanwhile.
// Otherwise the gates, the next attempt and runplan itself would use the changed files.
type keeper struct {
	mu    sync.Mutex
	ref   map[string]stamps.File // expected state, by path in the git folder; nil until the first agent begins
	watch *stamps.Watch          // settings outside the repository
	busy  []*shift
}

// shift is one running program of a batch: an agent, gates, or a commit with its hooks.
type shift struct {
	of         string   // its name in messages
	dir        string   // folder for files that are moved aside
	own        string   // settings of the agent's workspace, as a path in the git folder
	concurrent bool     // other programs ran too, so no change can be attributed to this one
	found      []change // its changes before other programs started
}

// change is one changed file of the git folder, or one changed setting of a tool.
type change struct {
	name   string // path in the git folder, or the path of the setting
	steers string // the tool and the effect of this setting; "" for the git folder
	left   bool   // kept as is: harmless, or possibly the user's
	mild   bool   // it does not make a program run or skip anything
	stuck  bool   // it could not be restored
	kind   string // type of a special workspace file that was removed; "" for all others
}

// path returns the display name of a change.
func (c change) path() string {
	if c.steers != "" {
		return c.name
	}
	return ".git/" + c.name
}

// effect says why a change matters.
func (c change) effect() string {
	if c.steers != "" {
		return "it sets " + c.steers
	}
	return "git uses it in all worktrees, including yours"
}

// shift returns the shift of a program that is about to run for c in workspace s.
func (w *work) shift(c runner.Command, s *Space, who string) *shift {
	return &shift{of: fmt.Sprintf("%s of batch %s", who, c.Place()), dir: w.attemptDir(c), own: w.ownSettings(s.GitDir)}
}

// ownSettings returns the file of a workspace's own settings, as a path in the git folder.
func (w *work) ownSettings(gitDir string) string {
	rel, err := filepath.Rel(w.Repo.Common, filepath.Join(gitDir, "config.worktree"))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// crowd records that a program without a shift is about to run, so no running shift is alone any longer.
func (w *work) crowd() {
	w.keeper.mu.Lock()
	defer w.keeper.mu.Unlock()
	w.join()
}

// join settles the changes so far. It attributes them to the only running shift, if it is alone.
func (w *work) join() {
	k := &w.keeper
	if len(k.busy) == 0 {
		return
	}
	first := k.busy[0]
	changes := w.settle(first)
	if len(k.busy) == 1 && !first.concurrent {
		first.found = append(first.found, changes...)
	} else {
		w.tell(first, changes)
	}
	for _, s := range k.busy {
		s.concurrent = true
	}
}

// begin starts a shift. While no shift runs, the user may change these files. With fresh (for agents) begin
// accepts the current state; without fresh it restores all changes since the last shift.
func (w *work) begin(s *shift, fresh bool) {
	if literal(w.Agent) {
		return // a script agent follows the user's own plan, which may change anything
	}
	k := &w.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	s.concurrent = len(k.busy) > 0
	switch {
	case s.concurrent:
		w.join()
	case fresh || k.ref == nil:
		w.record(s)
	default:
		w.tell(s, w.settle(s))
	}
	if f, ok := stamps.Read(filepath.Join(w.Repo.Common, s.own)); ok && s.own != "" {
		k.ref[s.own] = f
	}
	k.busy = append(k.busy, s)
}

// record stores the current state as the expected one. The caller holds the lock.
func (w *work) record(s *shift) {
	w.keeper.ref = w.readShared(w.keeper.settings(s.own))
	w.takeSettings()
}

// takeSettings records the settings outside the repository. The caller holds the lock.
func (w *work) takeSettings() {
	if w.keeper.watch == nil {
		dirs := []string{w.Layout.Workspace(w.info.Slug, 1)}
		if r := w.rooms.made; r != nil {
			// tools run by gates also read settings above this folder
			dirs = append(dirs, filepath.Join(r.Dir, "1", "room"))
		}
		w.keeper.watch = stamps.New(redact.AgentEnv(w.Environ, nil), w.Repo.Root, dirs,
			filepath.Join(w.Repo.Common, "config"))
	}
	w.keeper.watch.Take()
}

// readAhead reads the settings in the background while the first workspaces are made. Later records read only files
// that changed since.
func (w *work) readAhead() {
	if literal(w.Agent) {
		return
	}
	w.ahead.Do(func() {
		w.background.Go(func() {
			w.keeper.mu.Lock()
			defer w.keeper.mu.Unlock()
			if w.keeper.watch == nil {
				w.takeSettings()
			}
		})
	})
}

// end ends a shift and restores changed files. It returns the changes of this shift and reports the others as notes.
func (w *work) end(s *shift) []change {
	k := &w.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.Index(k.busy, s)
	if i < 0 {
		return nil
	}
	changes := w.settle(s)
	k.busy = slices.Delete(k.busy, i, i+1)
	if s.concurrent {
		w.tell(s, changes)
		changes = nil
	}
	return append(s.found, changes...)
}

// adopt ends a shift of the repository's own hooks. If no other shift ran, it accepts their changes as intended.
func (w *work) adopt(s *shift) {
	k := &w.keeper
	k.mu.Lock()
	if !s.concurrent && len(k.busy) == 1 && k.busy[0] == s {
		w.record(s)
	}
	k.mu.Unlock()
	w.end(s)
}

// tell reports changes that cannot be attributed to a single program.
func (w *work) tell(s *shift, changes []change) {
	for _, c := range changes {
		who := "several programs were running, so the author is unknown and no attempt fails for it"
		if !s.concurrent {
			who = "it was found before " + s.of
		}
		w.Note(fmt.Sprintf("%s changed: %s; %s", c.path(), c.effect(), who))
	}
}

// settle compares the git folder with the expected state and restores it. The caller holds the lock.
func (w *work) settle(s *shift) []change {
	k := &w.keeper
	now := w.readShared(k.settings(s.own))
	var changes []change
	if now["hooks"] != k.ref["hooks"] {
		// The folder itself was replaced. Files behind a link are outside the repository and stay unchanged.
		if err := w.rehang(s, k.ref["hooks"]); err != nil {
			w.Note(".git/hooks was replaced and cannot be restored: " + err.Error())
		}
		changes = append(changes, change{name: "hooks"})
		if now = w.readShared(k.settings(s.own)); now["hooks"] != k.ref["hooks"] {
			return changes // those files are outside the repository
		}
	}
	for _, name := range differing(k.ref, now) {
		was, had := k.ref[name]
		is, there := now[name]
		c := change{name: name}
		switch {
		case name == "config" && had && there && is.Mode.IsRegular():
			c.left, c.mild = stamps.Weigh(was.Data, is.Data)
		case name == shallowFile:
			c.left = true // without it, fetched commits lack their parents
		case strings.HasPrefix(name, replaceRefs):
			c.stuck = !w.restoreReplaced(s, name, is.Data, was.Data)
			changes = append(changes, c)
			continue
		}
		if c.left {
			k.ref[name] = is
		} else {
			file := stamps.Change{Path: filepath.Join(w.Repo.Common, filepath.FromSlash(name)), Was: was, Had: had, Is: is,
				There: there}
			c.stuck = !w.restoreFile(s, file, c.path(), "found-git-"+name)
		}
		changes = append(changes, c)
	}
	return append(changes, w.settleSettings(s)...)
}

// replaceRefs are the refs that make git show one object in place of another. shallowFile lists the commits whose
// parents are missing. Both change the history that every git command shows.
const (
	replaceRefs = "refs/replace/"
	shallowFile = "shallow"
)

// restoreReplaced resets a ref of [replaceRefs] to the object was; "" deletes the ref.
func (w *work) restoreReplaced(s *shift, ref, is, was string) bool {
	if err := w.Repo.UpdateRefs(context.Background(), git.RefUpdate{Ref: ref, New: was, Old: is}); err != nil {
		w.Note(fmt.Sprintf("%s: the ref %s changed and cannot be restored: %v", s.of, ref, err))
		return false
	}
	w.Note(fmt.Sprintf("%s: the ref %s %s; git showed object %s instead of the named one", s.of, ref,
		restored(was != ""), is))
	return true
}

// restored describes how a changed file was restored. existed says whether the file existed before.
func restored(had bool) string {
	if had {
		return "was restored"
	}
	return "was removed"
}

// rehang restores the hooks folder, or the link in its place.
func (w *work) rehang(s *shift, was stamps.File) error {
	path := filepath.Join(w.Repo.Common, "hooks")
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		if err := os.Remove(path); err != nil {
			return err
		}
	} else if err == nil {
		aside := filepath.Join(s.dir, "found-git-hooks")
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		if err := os.Rename(path, aside); err != nil {
			return err
		}
		w.Note(s.of + ": the changed folder .git/hooks is kept in " + journal.DirName + "/" + w.Layout.Rel(aside))
	}
	if was.Mode&fs.ModeSymlink != 0 {
		return os.Symlink(was.Data, path)
	}
	return os.MkdirAll(path, 0o755)
}

// settings returns the settings files of the workspaces in use, and own. The caller holds the lock.
func (k *keeper) settings(own string) []string {
	return append([]string{own}, lists.Map(k.busy, func(s *shift) string { return s.own })...)
}

// readShared reads the files that control git in all worktrees, and the settings files of workspaces.
func (w *work) readShared(settings []string) map[string]stamps.File {
	names := append([]string{"config", "config.worktree", "info/exclude", "info/attributes", "info/grafts",
		"objects/info/alternates", shallowFile}, settings...)
	out := map[string]stamps.File{}
	replaced, err := w.Repo.Replaced()
	if err != nil {
		w.Note(err.Error())
	}
	for name, hash := range replaced {
		out[replaceRefs+name] = stamps.File{Data: hash}
	}
	hooks := filepath.Join(w.Repo.Common, "hooks")
	if f, ok := stamps.Read(hooks); ok {
		out["hooks"] = f // a link
	}
	if real, err := filepath.EvalSymlinks(hooks); err == nil {
		filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			if rel, rerr := filepath.Rel(real, path); err == nil && rerr == nil && !d.IsDir() &&
				!strings.HasSuffix(path, ".sample") {
				names = append(names, "hooks/"+filepath.ToSlash(rel))
			}
			return nil // an unreadable hook cannot run
		})
	}
	for _, name := range names {
		if f, ok := stamps.Read(filepath.Join(w.Repo.Common, filepath.FromSlash(name))); ok && name != "" {
			out[name] = f
		}
	}
	return out
}

// sharedFindings returns findings for changes in the git folder and tool settings. while says when they were made.
func sharedFindings(changes []change, while string) []gates.Finding {
	var out []gates.Finding
	for _, c := range changes {
		f := gates.Finding{Rule: "outside/git", Severity: gates.Error, Message: c.path() +
			" changed while " + while + ": " + c.effect()}
		if c.steers != "" {
			f.Rule = "outside/settings"
		}
		if c.left || c.mild {
			f.Severity = gates.Warning
		}
		if c.kind != "" {
			f.Rule, f.Path = "special-file", c.name
			f.Message = fmt.Sprintf("the agent left the %s %s, which no commit can contain and which may block tools; it "+
				"was removed", c.kind, c.name)
		}
		switch {
		case c.kind != "":
		case c.stuck:
			f.Message += "; it could not be restored"
		case !c.left:
			f.Message += "; it was restored"
		}
		out = append(out, f)
	}
	return out
}
