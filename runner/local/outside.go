package local

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/runner"
)

// outside is what lies around a workspace and is no agent's business: the user's checkout, and what git runs or
// believes in all worktrees. Nothing here keeps an agent from writing there; but what it wrote can be seen.
type outside struct {
	checkout map[string]string // what is not as committed, with size and time
	shared   map[string]string // files of the git folder, with their content
}

// lookOutside takes stock before an agent begins.
func (w *work) lookOutside(ctx context.Context) (outside, error) {
	o := outside{checkout: map[string]string{}, shared: map[string]string{}}
	changed, untracked, err := w.Repo.Dirty(ctx)
	if err != nil {
		return o, err
	}
	for _, p := range slices.Concat(changed, untracked) {
		o.checkout[p] = stampOf(filepath.Join(w.Repo.Root, filepath.FromSlash(p)))
	}
	names := []string{"config", "info/exclude", "info/attributes"}
	if entries, err := os.ReadDir(filepath.Join(w.Repo.Common, "hooks")); err == nil {
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".sample") {
				names = append(names, "hooks/"+e.Name())
			}
		}
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(w.Repo.Common, filepath.FromSlash(name)))
		if err == nil {
			o.shared[name] = string(data)
		}
	}
	return o, nil
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

// powerful are settings that make git run programs, or fetch from elsewhere.
var powerful = regexp.MustCompile(`(?i)hookspath|fsmonitor|sshcommand|askpass|pager|editor|textconv|clean|smudge|process|helper|command|program|alias|insteadof|external|driver|worktree|include`)

// touched tells what changed around the workspace since before, and whether that alone fails the attempt. A change of
// the checkout does so only if the configuration says so: the user may work there, and nothing tells the two apart.
func (w *work) touched(ctx context.Context, before outside) (findings []gates.Finding, fails bool) {
	now, err := w.lookOutside(ctx)
	if err != nil {
		w.Note("whether the agent wrote into your checkout could not be found out: " + err.Error())
		return nil, false
	}
	find := func(rule, path, message string, sev gates.Severity) {
		findings = append(findings, gates.Finding{Rule: rule, Path: path, Severity: sev, Message: message})
		fails = fails || sev == gates.Error
	}
	for _, p := range differing(before.checkout, now.checkout) {
		sev, text := gates.Warning, p+" in your checkout changed while the agent worked; if it was not you, it was the agent"
		if w.StrictCheckout {
			sev, text = gates.Error, p+" in the checkout changed while the agent worked, outside of its workspace"
		}
		find("outside/checkout", strings.TrimSuffix(p, "/"), text, sev)
	}
	for _, p := range differing(before.shared, now.shared) {
		sev := gates.Error
		if p == "config" && !slices.ContainsFunc(linesMissing(now.shared[p], before.shared[p]), powerful.MatchString) {
			sev = gates.Warning // a name, an address, a branch
		}
		find("outside/git", "", ".git/"+p+" changed while the agent worked: git heeds it in all worktrees, yours too", sev)
	}
	return findings, fails
}

func differing(a, b map[string]string) []string {
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

// linesMissing are the lines of text that other does not have.
func linesMissing(text, other string) []string {
	have := strings.Split(other, "\n")
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\r\n"); !slices.Contains(have, l) {
			out = append(out, l)
		}
	}
	return out
}

// around is [work.lookOutside], but for what the user's own plan does.
func (w *work) around(ctx context.Context) (outside, error) {
	if literal(w.Agent) {
		return outside{}, nil
	}
	return w.lookOutside(ctx)
}

// watched looks around when the agent is done. It reports whether that ends the attempt, and then fills in e.
func (w *work) watched(ctx context.Context, e *runner.Event, c runner.Command, s *Space, before outside) (bool, error) {
	w.sights.Delete(c.Place())
	if literal(w.Agent) {
		return false, nil
	}
	if err := w.reveal(ctx, s); err != nil {
		return false, err
	}
	findings, fails := w.touched(ctx, before)
	if len(findings) == 0 {
		return false, nil
	}
	rep := outsideReport(findings, fails)
	if !fails {
		for _, f := range findings {
			w.Note("batch " + c.Batch + ": " + f.Message)
		}
		w.sights.Store(c.Place(), rep)
		return false, nil
	}
	first := findings[slices.IndexFunc(findings, func(f gates.Finding) bool { return f.Severity == gates.Error })]
	e.Outcome, e.Reason, e.Fingerprint = runner.OutcomeFailed, w.redact.String(first.Message), outsideKey(findings)
	e.Reports = w.trim([]gates.Report{rep})
	return true, nil
}

// seenOutside returns what the agent of a batch touched outside, if that did not end its attempt.
func (w *work) seenOutside(batch string) []gates.Report {
	if rep, ok := w.sights.LoadAndDelete(batch); ok {
		return []gates.Report{rep.(gates.Report)}
	}
	return nil
}

// outsideReport is the report of what was touched.
func outsideReport(findings []gates.Finding, fails bool) gates.Report {
	r := gates.Report{Gate: "outside", Status: gates.Warn, Findings: findings}
	if fails {
		r.Status = gates.Fail
	}
	return r
}

// reveal takes the marks from files by which an agent may tell git not to look at them, and names those that had one:
// a change could hide behind it from this commit, and from all that come after it in this workspace.
func (w *work) reveal(ctx context.Context, s *Space) error {
	out, err := s.Run(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return fmt.Errorf("look for files that are hidden from git: %w", err)
	}
	var assumed, skipped []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) < 3 {
			continue
		}
		switch tag, path := entry[0], entry[2:]; {
		case tag == 'S':
			skipped = append(skipped, path)
		case tag == 's':
			skipped = append(skipped, path)
			assumed = append(assumed, path)
		case tag >= 'a' && tag <= 'z':
			assumed = append(assumed, path)
		}
	}
	if len(skipped) > 0 {
		if v, err := s.Run(ctx, "config", "--type=bool", "--get", "core.sparseCheckout"); err == nil && v == "true" {
			skipped = nil // a checkout of a part of the files is made of these marks
		}
	}
	for flag, paths := range map[string][]string{"--no-assume-unchanged": assumed, "--no-skip-worktree": skipped} {
		for part := range slices.Chunk(paths, 200) {
			if _, err := s.Run(ctx, append([]string{"update-index", flag, "--"}, part...)...); err != nil {
				return fmt.Errorf("look at files that are hidden from git: %w", err)
			}
		}
	}
	if n := len(assumed) + len(skipped); n > 0 {
		w.Note(fmt.Sprintf("the agent told git not to look at %d file(s), such as %s; they are looked at all the same", n, slices.Concat(assumed, skipped)[0]))
	}
	return nil
}

// outsideKey names what was found outside, for the comparison of attempts.
func outsideKey(findings []gates.Finding) string {
	sum := sha256.New()
	for _, f := range findings {
		fmt.Fprintln(sum, f.Rule, f.Message)
	}
	return fmt.Sprintf("outside %x", sum.Sum(nil)[:8])
}
