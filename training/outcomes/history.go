package outcomes

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
)

// Limits of git queries for one run.
const (
	mostCommits = 5000 // commits that touch the run's files
	atOnce      = 50   // patches in memory at a time
)

// reverting matches the message that git writes for a revert.
var reverting = lazyre.New(`(?i)\breverts? commit ([0-9a-f]{7,64})\b`)

// history reads the commits on the branch since the run began that touch the run's files.
func (l *looker) history(ctx context.Context) error {
	since := l.run.Base + ".." + l.tip
	out, err := l.repo.Run(ctx, "rev-list", "--topo-order", "--reverse", since)
	if err != nil {
		return err
	}
	l.place = lists.Index(strings.Fields(out), func(commit string) string { return commit })
	if out, err = l.repo.Run(ctx, "log", "--format=%x01%H%n%B", "--no-color", "-i", "--grep=revert", since); err != nil {
		return err
	}
	l.reverts = parseReverts(out)
	l.patches = map[string][]string{}
	if !l.has(ctx, l.run.Head) {
		return nil
	}
	paths, err := l.repo.Run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", l.run.Base, l.run.Head)
	if err != nil {
		return err
	}
	names := strings.FieldsFunc(paths, func(r rune) bool { return r == 0 })
	if len(names) == 0 {
		return nil
	}
	args := []string{"--literal-pathspecs", "rev-list", "--no-merges", "--topo-order", "--reverse",
		fmt.Sprintf("--max-count=%d", mostCommits), since, "--"}
	if out, err = l.repo.Run(ctx, append(args, names...)...); err != nil {
		return err
	}
	ids, err := l.patchIDs(ctx, strings.Fields(out), false)
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(out) {
		if id := ids[c]; id != "" {
			l.patches[id] = append(l.patches[id], c)
		}
	}
	text, err := l.repo.Run(ctx, append(append([]string{"diff-tree"}, patchArgs()...), l.run.Base, l.run.Head)...)
	if err != nil {
		return err
	}
	if out, err = l.repo.Input(ctx, text+"\n", "patch-id", "--stable"); err != nil {
		return err
	}
	l.squash, _, _ = strings.Cut(out, " ")
	return nil
}

// parseReverts parses the output of git log into a map from commits to the commits that they revert.
func parseReverts(text string) map[string][]string {
	all := map[string][]string{}
	for part := range strings.SplitSeq(text, "\x01") {
		commit, message, _ := strings.Cut(part, "\n")
		for _, m := range reverting.FindAllStringSubmatch(message, -1) {
			all[commit] = append(all[commit], strings.ToLower(m[1]))
		}
	}
	return all
}

// patchArgs makes patches independent of the user's settings. Both sides have the same prefix, so that a reversed
// patch equals the patch of a revert.
func patchArgs() []string {
	return []string{"-p", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index", "--no-color",
		"--src-prefix=a/", "--dst-prefix=a/"}
}

// patchIDs returns the patch ids of commits, or of their inverse. Equal patches have equal ids on any branch. A commit
// without a patch has no id.
func (l *looker) patchIDs(ctx context.Context, commits []string, inverse bool) (map[string]string, error) {
	ids := map[string]string{}
	args := append([]string{"diff-tree", "--stdin", "--root"}, patchArgs()...)
	if inverse {
		args = append(args, "-R")
	}
	for part := range slices.Chunk(commits, atOnce) {
		text, err := l.repo.Input(ctx, strings.Join(part, "\n")+"\n", args...)
		if err != nil {
			return nil, err
		}
		out, err := l.repo.Input(ctx, text+"\n", "patch-id", "--stable")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if id, commit, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				ids[commit] = id
			}
		}
	}
	return ids, nil
}

// rewritten returns the share of a commit's added lines that were removed within some days. Before that time is over
// it returns the present share.
func (l *looker) rewritten(ctx context.Context, commit string, merged time.Time) (*float64, string, error) {
	until, so := merged.Add(time.Duration(l.days)*24*time.Hour), fmt.Sprintf("within %d days", l.days)
	at := l.tip
	if l.now.Before(until) {
		so = "so far"
	} else {
		out, err := l.repo.Run(ctx, "rev-list", "--max-count=1", "--first-parent", fmt.Sprintf("--before=%d", until.Unix()),
			l.tip)
		if err != nil {
			return nil, "", err
		}
		if out != "" {
			in, err := l.repo.IsAncestor(ctx, commit, out)
			if err != nil {
				return nil, "", err
			}
			if in {
				at = out
			}
		}
	}
	added, err := l.added(ctx, commit)
	if err != nil {
		return nil, "", err
	}
	moved, err := l.moved(ctx, commit, at)
	if err != nil {
		return nil, "", err
	}
	all, left := 0, 0
	for _, f := range added {
		all += f.Added
		path := f.Path
		if to, ok := moved[path]; ok {
			path = to
		}
		if _, err := l.repo.Run(ctx, "cat-file", "-e", at+":"+path); err != nil {
			continue // a deleted file has lost all its lines
		}
		out, err := l.repo.Run(ctx, "blame", "--no-textconv", "--incremental", at, "--", path)
		if err != nil {
			return nil, "", err
		}
		left += blamed(out, commit)
	}
	if all == 0 {
		return nil, "it adds no line", nil
	}
	gone := max(0, all-left)
	return new(float64(gone) / float64(all)), fmt.Sprintf("%d of %d added lines are gone %s", gone, all, so), nil
}

// added lists the files to which a commit added lines.
func (l *looker) added(ctx context.Context, commit string) ([]git.LineCount, error) {
	out, err := l.repo.Run(ctx, "diff-tree", "--root", "--no-commit-id", "-r", "-z", "--numstat", "--no-renames", commit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(git.ParseNumstat(out), func(f git.LineCount) bool { return f.Added <= 0 }), nil
}

// moved maps files to their later paths.
func (l *looker) moved(ctx context.Context, commit, at string) (map[string]string, error) {
	out, err := l.repo.Run(ctx, "diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", commit, at)
	if err != nil {
		return nil, err
	}
	to := map[string]string{}
	f := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+2 < len(f); i += 3 {
		to[f[i+1]] = f[i+2]
	}
	return to, nil
}

// blamed counts the lines that git blame --incremental attributes to a commit.
func blamed(text, commit string) int {
	n := 0
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) == 4 && f[0] == commit {
			if lines, err := strconv.Atoi(f[3]); err == nil {
				n += lines
			}
		}
	}
	return n
}
