package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/runner"
)

// Part identifies a batch of a run, as in the trailers of its commit.
type Part struct{ Run, Batch string }

// Parts reads the batches in the message of a commit. A squashed commit may have several.
func Parts(message string) []Part {
	var out []Part
	run := ""
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line) // git indents the messages that it squashes
		if id, ok := strings.CutPrefix(line, "Runplan-Run: "); ok {
			run = strings.TrimSpace(id)
		}
		if key, ok := strings.CutPrefix(line, "Runplan-Batch: "); ok && run != "" {
			if p := (Part{run, strings.TrimSpace(key)}); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// Locate adds git's data about the commits: where each one is now, and its changed files.
func (r *Report) Locate(ctx context.Context, repo *git.Repo) error {
	var runs []string
	for _, b := range r.Batches {
		if b.Commit != nil && !slices.Contains(runs, b.Run) {
			runs = append(runs, b.Run)
		}
	}
	head, branch, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	r.On = branch
	on, err := carried(ctx, repo, head, runs)
	if err != nil {
		return err
	}
	l := locator{repo: repo, head: head, name: branch, on: on, run: r.Branch, aside: map[Part]string{}}
	l.name = cmp.Or(l.name, "HEAD")
	if l.tip, err = repo.Resolve(ctx, "refs/heads/"+r.Branch); err != nil {
		return err
	}
	if l.tip != "" {
		if l.aside, err = carried(ctx, repo, l.tip, runs); err != nil {
			return err
		}
	}
	var have []string
	for i := range r.Batches {
		b := &r.Batches[i]
		if b.Commit == nil {
			continue
		}
		there, err := l.place(ctx, b)
		if err != nil {
			return err
		}
		if there {
			have = append(have, b.Commit.Hash)
		}
	}
	files, err := changed(ctx, repo, have)
	if err != nil {
		return err
	}
	for i := range r.Batches {
		if c := r.Batches[i].Commit; c != nil {
			r.Batches[i].Files = files[c.Hash]
		}
	}
	return nil
}

// carried returns by batch the newest commit of a history whose message names it.
func carried(ctx context.Context, repo *git.Repo, tip string, runs []string) (map[Part]string, error) {
	out := map[Part]string{}
	if len(runs) == 0 {
		return out, nil
	}
	args := []string{"log", "--format=%x1e%H%x1f%B", "--no-notes", "--fixed-strings"}
	for _, run := range runs {
		args = append(args, "--grep=Runplan-Run: "+run)
	}
	text, err := repo.Run(ctx, append(args, tip, "--")...)
	if err != nil {
		return nil, fmt.Errorf("find the commits of the run: %w", err)
	}
	for _, record := range strings.Split(text, "\x1e") {
		hash, message, _ := strings.Cut(record, "\x1f")
		for _, p := range Parts(message) {
			if _, newer := out[p]; !newer {
				out[p] = hash
			}
		}
	}
	return out, nil
}

// locator finds where the commits of batches are.
type locator struct {
	repo       *git.Repo
	head, name string          // what is checked out
	tip, run   string          // the run branch
	on, aside  map[Part]string // commits that carry the trailers of a batch, on the one and on the other
}

// place describes where the commit of a batch is now. It reports whether git still has the commit in the journal.
func (l *locator) place(ctx context.Context, b *Batch) (there bool, err error) {
	c := b.Commit
	found, err := l.repo.Resolve(ctx, c.Hash)
	if err != nil {
		return false, err
	}
	there = found != ""
	reached := func(of string) bool {
		if !there || of == "" {
			return false
		}
		in, err := l.repo.IsAncestor(ctx, c.Hash, of)
		return err == nil && in
	}
	switch now := l.on[b.part]; {
	case now == c.Hash || reached(l.head):
		c.On, c.Where = true, "on "+l.name
	case now != "":
		c.On, c.Now, c.Where = true, now, fmt.Sprintf("on %s as %s, rewritten since", l.name, git.Short(now))
	case l.aside[b.part] == c.Hash || reached(l.tip):
		c.Where = fmt.Sprintf("on %s, not on %s", l.run, l.name)
	case there:
		c.Where = "no longer on " + l.name
	default:
		c.Where = "no longer in this repository"
	}
	return there, nil
}

// changed returns the files that commits changed against their first parent.
func changed(ctx context.Context, repo *git.Repo, commits []string) (map[string][]File, error) {
	out := map[string][]File{}
	if len(commits) == 0 {
		return out, nil
	}
	text, err := repo.Input(ctx, strings.Join(commits, "\n")+"\n", "diff-tree", "--stdin", "-r", "-z", "--root",
		"--numstat", "--no-renames", "--no-textconv", "--no-ext-diff")
	if err != nil {
		return nil, fmt.Errorf("read the changes of the run's commits: %w", err)
	}
	now := ""
	for field := range strings.SplitSeq(text, "\x00") {
		// The name of a commit ends with a line feed or a zero, by the version of git.
		if head, rest, ok := strings.Cut(field, "\n"); ok && slices.Contains(commits, head) {
			now, field = head, rest
			out[now] = []File{}
		}
		if slices.Contains(commits, field) {
			now = field
			out[now] = []File{}
			continue
		}
		parts := strings.SplitN(field, "\t", 3)
		if len(parts) != 3 || now == "" {
			continue
		}
		out[now] = append(out[now], File{Path: parts[2], Added: number(parts[0]), Removed: number(parts[1])})
	}
	return out, nil
}

// number reads a count of lines; "-" means a binary file.
func number(s string) *int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return &n
}

func (b Batch) merged() bool { return b.State == string(runner.Passed) }
