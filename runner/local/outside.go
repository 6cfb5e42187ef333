package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/journal"
	"github.com/runplan/runplan/runner/stamps"
)

// EvidencePrefix is the default prefix of the refs, other than branches, with which several machines share a run. A
// normal clone does not fetch them.
const EvidencePrefix = "refs/runplan/"

// outside is the state around a workspace that agents must not change: the user's checkout, branches and tags. It does
// not prevent changes, but makes them visible.
type outside struct {
	checkout map[string]string // uncommitted files with size and time, and runplan's settings
	refs     map[string]string // the user's refs without "refs/"; neither refs of runs nor the stash
	commit   string            // checked-out commit
	branch   string            // checked-out branch, "" if detached
}

// lookOutside records the state before or after an agent. A script agent follows the user's own plan and is not
// watched.
func (w *work) lookOutside(ctx context.Context) (outside, error) {
	if literal(w.Agent) {
		return outside{}, nil
	}
	o := outside{checkout: map[string]string{}, refs: map[string]string{}}
	changed, untracked, err := w.Repo.Dirty(ctx)
	if err != nil {
		return o, err
	}
	for _, p := range slices.Concat(changed, untracked) {
		// Runplan itself writes to its folder.
		if p != journal.DirName && !strings.HasPrefix(p, journal.DirName+"/") {
			o.checkout[p] = stampOf(filepath.Join(w.Repo.Root, filepath.FromSlash(p)))
		}
	}
	if err := w.lookSettings(o.checkout); err != nil {
		return o, err
	}
	if o.commit, o.branch, err = w.Repo.Head(ctx); err != nil {
		o.branch = "(one without commits)" // the rest is still checked
	}
	for _, name := range stamps.Upward() { // tools find these files above the workspaces, even if git ignores them
		if st := stampOf(filepath.Join(w.Repo.Root, name)); st != "gone" {
			o.checkout[name] = st
		}
	}
	all, err := w.Repo.AllRefs(ctx)
	evidence := strings.TrimPrefix(EvidencePrefix, "refs/")
	for name, hash := range all {
		// Other runs move their branches; other code handles stashes and replaced objects.
		if !strings.HasPrefix(name, "heads/"+ofRuns) && !strings.HasPrefix(name, "replace/") &&
			!strings.HasPrefix(name, evidence) && name != "stash" {
			o.refs[name] = hash
		}
	}
	return o, err
}

// lookSettings adds the digests of the user's files in runplan's folder.
func (w *work) lookSettings(into map[string]string) error {
	for _, name := range []string{"config.toml", "lessons", "patterns", "prompts"} {
		err := filepath.WalkDir(filepath.Join(w.Layout.Root, name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				return nil
			}
			at := journal.DirName + "/" + w.Layout.Rel(path)
			into[at] = stampOf(path)
			if err == nil && d.Type().IsRegular() {
				if data, err := os.ReadFile(path); err == nil {
					into[at] = checksum.SHA256(data)
				}
			}
			return nil // an unreadable file keeps its stamp
		})
		if err != nil {
			return fmt.Errorf("check the settings of runplan: %w", err)
		}
	}
	return nil
}

func stampOf(path string) string {
	fi, err := os.Lstat(path)
	if err != nil {
		return "gone"
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		to, _ := os.Readlink(path)
		return "-> " + to
	}
	return fmt.Sprintf("%s %d %d", fi.Mode(), fi.Size(), fi.ModTime().UnixNano())
}

// touched reports the changes around the workspace since before. Without changes the report has no findings. A change
// of the checkout fails the attempt only if the configuration says so, because the user may have made the change.
func (w *work) touched(before outside, seen func() (outside, error), shared []change) gates.Report {
	findings := sharedFindings(shared, "the agent worked")
	now, err := seen()
	if err != nil {
		w.Note("it is unknown whether the agent wrote into your checkout: " + err.Error())
		now = before
	}
	severity, checkout, who := gates.Warning, "your checkout", "; if it was not you, it was the agent"
	if w.StrictCheckout {
		severity, checkout, who = gates.Error, "the checkout", ", outside of its workspace"
	}
	find := func(rule, path, what, back string) {
		findings = append(findings, gates.Finding{Rule: rule, Path: strings.TrimSuffix(path, "/"), Severity: severity,
			Message: what + " while the agent worked" + who + back})
	}
	if before.branch != now.branch || now.branch == "" && before.commit != now.commit {
		find("outside/refs", "", fmt.Sprintf("your checkout moved from %s to %s", place(before), place(now)), ": git switch "+
			switchTo(before))
	}
	for _, ref := range differing(before.refs, now.refs) {
		was, is := before.refs[ref], now.refs[ref]
		what, back, ours := w.refWords(ref, was, now.branch)
		if was == "" || !ours {
			continue // a new ref does no harm, and fetches move and prune remote-tracking refs
		}
		how := fmt.Sprintf("was moved from %s to %s", was, is)
		if is == "" {
			how = "was deleted (it was at " + was + ")"
		}
		find("outside/refs", "", what+" "+how, ": "+back)
	}
	for _, p := range differing(before.checkout, now.checkout) {
		find("outside/checkout", p, p+" in "+checkout+" changed", "")
	}
	rep := gates.Report{Gate: "outside", Status: gates.Warn, Findings: findings}
	if slices.ContainsFunc(findings, func(f gates.Finding) bool { return f.Severity == gates.Error }) {
		rep.Status = gates.Fail
	}
	return rep
}

// refWords returns the display name of a ref and the command that restores it to was. own is false for
// remote-tracking refs.
func (w *work) refWords(ref, was, checkedOut string) (what, back string, own bool) {
	kind, name, _ := strings.Cut(ref, "/")
	switch {
	case kind == "heads" && name == checkedOut:
		return "your branch " + name, "git reset --keep " + was, true
	case kind == "heads":
		return "your branch " + name, fmt.Sprintf("git branch -f %s %s", name, was), true
	case kind == "tags":
		return "your tag " + name, fmt.Sprintf("git tag -f %s %s", name, was), true
	}
	return "your ref refs/" + ref, fmt.Sprintf("git update-ref refs/%s %s", ref, was), kind != "remotes"
}

// place names the checked-out branch or commit; switchTo is the argument of git switch for it.
func place(o outside) string {
	if o.branch != "" {
		return "branch " + o.branch
	}
	return o.commit
}

func switchTo(o outside) string { return cmp.Or(o.branch, "--detach "+o.commit) }

func differing[V comparable](a, b map[string]V) []string {
	var out []string
	for p, v := range b {
		if old, ok := a[p]; !ok || old != v {
			out = append(out, p)
		}
	}
	for p := range a {
		if _, ok := b[p]; !ok {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// watched checks the changes around the workspace after the agent. It reports whether they end the attempt, and
// then completes e.
func (w *work) watched(e *runner.Event, c runner.Command, before outside, seen func() (outside, error),
	shared []change) bool {
	w.outsideReports.Delete(c.Place())
	if literal(w.Agent) {
		return false
	}
	rep := w.touched(before, seen, shared)
	if len(rep.Findings) == 0 {
		return false
	}
	if rep.Status != gates.Fail {
		for _, f := range rep.Findings {
			w.Note("batch " + c.Batch + ": " + f.Message)
		}
		w.outsideReports.Store(c.Place(), rep)
		return false
	}
	first := lists.First(rep.Findings, func(f gates.Finding) bool { return f.Severity == gates.Error })
	e.Outcome, e.Reason = runner.OutcomeFailed, w.redact.String(first.Message)
	e.Fingerprint = runner.Fingerprint(strings.Join(lists.Map(rep.Findings,
		func(f gates.Finding) string { return f.Rule + " " + f.Message }), "\n"))
	e.Reports = w.trim([]gates.Report{rep})
	return true
}

// seenOutside returns the outside changes of a batch's agent that did not end its attempt.
func (w *work) seenOutside(batch string) []gates.Report {
	if rep, ok := w.outsideReports.LoadAndDelete(batch); ok {
		return []gates.Report{rep.(gates.Report)}
	}
	return nil
}

// reveal clears the index flags by which an agent may hide files from git (assume-unchanged, skip-worktree), and
// notes them. Otherwise a change could stay hidden from this and all later commits of the workspace.
func (w *work) reveal(ctx context.Context, s *Space) error {
	if literal(w.Agent) {
		return nil
	}
	files, err := s.Unhide(ctx)
	if len(files) > 0 {
		w.Note(fmt.Sprintf("the agent told git to ignore changes of %d file(s), such as %s; they are checked anyway",
			len(files), files[0]))
	}
	return err
}

// manifests lists files in which projects name their dependencies, with the syntax for folders: in a workspace, which
// is not in the folder of the checkout, "../lib" means another folder (TEAM-09).
var manifests = map[string]*lazyre.Regexp{
	"package.json":     lazyre.New(`"(?:file|link|portal):([^"]+)"`),
	"go.mod":           lazyre.New(`(?m)^(?:[^/\n]|/[^/\n])*=>\s*(\.\.?/\S+)`),
	"go.work":          lazyre.New(`(?m)^\s*(?:use\s+)?(\.\.?/\S+)`),
	"Cargo.toml":       lazyre.New(`(?m)^[^#\n]*\bpath\s*=\s*["']([^"']+)["']`),
	"pyproject.toml":   lazyre.New(`(?m)^[^#\n]*\bpath\s*=\s*["']([^"']+)["']`),
	"requirements.txt": lazyre.New(`(?m)^\s*(?:-e\s+|--editable[ =]|[\w.-]+\s*@\s*)?(?:file:)?(\.\.?/\S+)`),
}

// maxManifests limits how many manifests are read at the start of a run.
const maxManifests = 200

// outward lists the dependencies of the checkout that lead out of the repository by a relative path, as "FILE: PATH".
func (w *work) outward(ctx context.Context) ([]string, error) {
	files, err := w.Repo.Named(ctx, slices.Sorted(maps.Keys(manifests))...)
	if err != nil {
		return nil, fmt.Errorf("find dependencies outside of the repository: %w", err)
	}
	var found []string
	for _, file := range files[:min(len(files), maxManifests)] {
		data, err := os.ReadFile(filepath.Join(w.Repo.Root, filepath.FromSlash(file)))
		if err != nil {
			continue // it is not checked out
		}
		for _, m := range manifests[path.Base(file)].FindAllStringSubmatch(string(data), -1) {
			to := path.Join(path.Dir(file), m[1])
			if line := file + ": " + m[1]; !path.IsAbs(m[1]) && (to == ".." || strings.HasPrefix(to, "../")) &&
				!slices.Contains(found, line) {
				found = append(found, line)
			}
		}
	}
	return found, nil
}

// noteOutward notes, once per run, dependencies that a workspace cannot find.
func (w *work) noteOutward(ctx context.Context) {
	found, err := w.outward(ctx)
	if err != nil {
		w.Note(err.Error())
	}
	if len(found) > 0 {
		w.Note("batches are worked on in worktrees under " + journal.DirName +
			", where these relative paths mean other folders: " +
			phrase.Few(found, 3) + "; use absolute paths, or create them in workspace.setup")
	}
}

// settleSettings restores changed tool settings outside the repository. Users rarely change these files while an agent
// works, and a changed one would affect the gates of all later runs. So settleSettings restores each change, no matter
// who made it, and keeps a copy of the changed file. The caller holds the keeper's lock.
func (w *work) settleSettings(s *shift) []change {
	var changes []change
	for _, c := range w.keeper.watch.Changes() {
		told := change{name: w.display(c.Path), steers: c.Tool + ": " + c.Steers, left: c.Reported, mild: c.Mild}
		told.stuck = !c.Reported && !w.restoreFile(s, c, told.name, "found-settings-"+c.Path)
		w.keeper.watch.Accept(c)
		changes = append(changes, told)
	}
	return changes
}

// restoreFile restores one file and keeps a copy of its changed state, under a name for its path. It notes what it did,
// and reports whether the file is restored.
func (w *work) restoreFile(s *shift, c stamps.Change, shown, name string) bool {
	note := fmt.Sprintf("%s: %s %s", s.of, shown, restored(c.Had))
	_, err := os.Lstat(c.Path)
	if err == nil {
		var kept string
		kept, err = w.keepFile(s.dir, c, name)
		note += "; its changed content is kept in " + kept
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = stamps.Put(c.Path, c.Was, c.Had)
	}
	if err != nil {
		note = fmt.Sprintf("%s: %s changed and cannot be restored; restore it by hand: %v", s.of, shown, err)
	}
	w.Note(note)
	return err == nil
}

// keepFile stores the changed state of a file, and returns the path. A file or link is copied without its secrets.
// Anything else, such as a folder or a named pipe, is moved away.
func (w *work) keepFile(dir string, c stamps.Change, name string) (string, error) {
	to := unused(filepath.Join(dir, strings.NewReplacer("-/", "-", "/", "-", `\`, "-", ":", "").Replace(name)))
	kept := journal.DirName + "/" + w.Layout.Rel(to)
	if c.There && !c.Is.Mode.IsDir() {
		text := c.Is.Data
		if c.Is.Mode&fs.ModeSymlink != 0 {
			text = "link to " + text + "\n"
		}
		return kept, errors.Join(os.MkdirAll(dir, 0o755), atomicfile.WriteLoose(to, []byte(w.redact.String(text)), 0o600))
	}
	err := errors.Join(os.MkdirAll(dir, 0o755), os.Rename(c.Path, to))
	if err == nil {
		return kept, nil
	}
	near := unused(c.Path + ".found-by-runplan") // on another file system
	if again := os.Rename(c.Path, near); again != nil {
		return "", errors.Join(err, again)
	}
	return near, nil
}

// unused returns path, or path with a number that makes it an unused name.
func unused(path string) string {
	for n, first := 2, path; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path = fmt.Sprintf("%s-%d", first, n)
	}
}

// display returns a path as people write it, with a tilde for their home.
func (w *work) display(path string) string {
	home := proc.Getenv(w.Environ, "HOME")
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}
