package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
)

// history is a repository that commits are taken from.
type history struct{ name, source string }

// histories lists the bundles and repositories of folders, by name.
func histories(folders, only []string) ([]history, error) {
	var out []history
	for _, folder := range folders {
		folder, err := filepath.Abs(folder)
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("read the folder of histories: %w", err)
		}
		for _, e := range entries {
			h := history{strings.NewReplacer("__", "/", "+", "/").Replace(strings.TrimSuffix(e.Name(), ".bundle")),
				filepath.Join(folder, e.Name())}
			if !findRepository(&h.source) && !strings.HasSuffix(e.Name(), ".bundle") {
				continue
			}
			wanted := len(only) == 0 || slices.ContainsFunc(only, func(n string) bool { return strings.Contains(h.name, n) })
			if wanted && !slices.ContainsFunc(out, func(x history) bool { return x.name == h.name }) {
				out = append(out, h)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no git bundle and no repository in %s", strings.Join(folders, ", "))
	}
	slices.SortFunc(out, func(a, b history) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

// findRepository replaces a folder by the repository in it.
func findRepository(dir *string) bool {
	for _, sub := range []string{"", ".git", "repo"} {
		if _, err := os.Stat(filepath.Join(*dir, sub, "HEAD")); err == nil {
			*dir = filepath.Join(*dir, sub)
			return true
		}
	}
	return false
}

// git runs git in dir and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	args = append([]string{"-c", "core.quotePath=false", "-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c",
		"core.hooksPath=/dev/null"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[8], err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// clone makes a checkout of the history in dir, or uses the existing one.
func (h history) clone(ctx context.Context, dir string) (string, error) {
	to := filepath.Join(dir, strings.ReplaceAll(h.name, "/", "__"))
	if _, err := os.Stat(filepath.Join(to, ".git", "HEAD")); err == nil {
		return to, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.RemoveAll(to); err != nil {
		return "", err
	}
	if _, err := git(ctx, dir, "clone", "-q", "--no-checkout", "--", h.source, to); err != nil {
		return "", err
	}
	_, err := git(ctx, to, "update-ref", tip, "HEAD")
	return to, err
}

// tip is the end of the history in a clone.
const tip = "refs/selection/tip"

// fix is a commit that corrects something and changes code and tests.
type fix struct {
	repo, dir      string
	commit, parent string
	subject        string
	code           []string // code files that it modifies
	rest           []string // its other files: tests and their data
	gone           []string // files that it removes
}

var fixRE = regexp.MustCompile(`(?i)\b(?:fix\w*|bugs?|issue|panic\w*|crash\w*|wrong\w*|incorrect\w*|correct\w*|regression|handle\w*|should|prevent\w*|avoid\w*|resolve\w*|missing|invalid|fail\w*|broken|ensure|properly|don't|do not|allow|support|closes?|closed)\b|#\d+`)

// Limits of the used commits.
const (
	mostCode  = 4   // code files
	mostLines = 160 // changed lines of code
)

// fixes lists the fix commits of a clone in an order that seed decides.
func fixes(ctx context.Context, h history, dir string, seed uint64) ([]fix, error) {
	out, err := git(ctx, dir, "log", "--no-merges", "--min-parents=1", "--format=%x00%H %P%n%s%n", "--name-status",
		"--no-renames", tip)
	if err != nil {
		return nil, err
	}
	var all []fix
	for entry := range strings.SplitSeq(out, "\x00") {
		if f, ok := readFix(entry); ok {
			f.repo, f.dir = h.name, dir
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b fix) int { return cmp.Compare(a.commit, b.commit) })
	r := rand.New(rand.NewPCG(seed, 3))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, nil
}

// readFix reads one entry of the log.
func readFix(entry string) (fix, bool) {
	head, rest, _ := strings.Cut(entry, "\n")
	subject, names, _ := strings.Cut(rest, "\n")
	var f fix
	f.commit, f.parent, _ = strings.Cut(head, " ")
	f.subject = subject
	if f.parent == "" || !fixRE.MatchString(subject) {
		return f, false
	}
	tests := false
	for line := range strings.Lines(names) {
		status, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		lang := gates.LanguageOf(name)
		switch {
		case status == "D":
			f.gone = append(f.gone, name)
		case language.IsTest(name) || strings.Contains(name, "testdata/"):
			tests = tests || status != "D" && language.IsTest(name)
			f.rest = append(f.rest, name)
		case status == "M" && (lang == gates.LangGo || lang == gates.LangPython || lang == gates.LangNode):
			f.code = append(f.code, name)
		default:
			f.rest = append(f.rest, name)
		}
	}
	return f, tests && len(f.code) > 0 && len(f.code) <= mostCode && len(f.gone) == 0 && len(f.rest) < 40
}
