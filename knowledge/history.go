package knowledge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/knowledge/outline"
)

// maxMessage is how much of a commit message is kept.
const maxMessage = 4000

// logArgs ask for all that is wanted of a history in one pass. Settings of the user change nothing in it.
func logArgs(commits string) []string {
	return []string{"-c", "log.showSignature=false", "-c", "core.commitGraph=true", "log", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--no-mailmap", "--no-notes", "--no-decorate", "--encoding=UTF-8", "--format=%x01%H%x00%an%x00%ct%x00%B%x00", commits, "--"}
}

// parseLog reads the answer, newest commit first as git has it, and returns the oldest first.
func parseLog(out string) ([]store.Touched, error) {
	var all []store.Touched
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		f := strings.TrimLeft(fields[i], "\n")
		if hash, ok := strings.CutPrefix(f, "\x01"); ok {
			if i+3 >= len(fields) || len(hash) < 40 {
				return nil, fmt.Errorf("git log printed %q, which cannot be read", hash)
			}
			seconds, err := strconv.ParseInt(fields[i+2], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("git log printed the time %q of commit %s", fields[i+2], hash)
			}
			message := strings.TrimSpace(strings.ToValidUTF8(fields[i+3], "�"))
			if len(message) > maxMessage {
				message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
			}
			all = append(all, store.Touched{Commit: store.Commit{
				Hash: hash, Author: strings.ToValidUTF8(fields[i+1], "�"), Message: message, Time: time.Unix(seconds, 0).UTC().Format(time.RFC3339),
			}})
			i += 3
			continue
		}
		added, rest, ok := strings.Cut(f, "\t")
		removed, path, ok2 := strings.Cut(rest, "\t")
		if !ok || !ok2 || len(all) == 0 {
			if f != "" {
				return nil, fmt.Errorf("git log printed %q, which cannot be read", f)
			}
			continue
		}
		c := &all[len(all)-1]
		c.Files++
		if n, err := strconv.Atoi(added); err == nil { // "-" for a binary
			c.Insertions += n
		}
		if n, err := strconv.Atoi(removed); err == nil {
			c.Deletions += n
		}
		if outline.LanguageOf(path) != "" {
			c.Paths = append(c.Paths, path)
		}
	}
	slices.Reverse(all)
	return all, nil
}

// past is what git says of the commits that are not known yet, oldest first.
type past struct {
	head    string
	commits []store.Touched
	rewrote bool // what is known is no part of it any more
	err     error
}

// readPast asks git. What is known up to an ancestor of HEAD is kept; after a rebase all is read anew.
func readPast(ctx context.Context, repo *git.Repo, known string) past {
	head, _, err := repo.Head(ctx)
	if errors.Is(err, git.ErrNoCommits) {
		err = nil
	}
	p := past{head: head, err: err}
	commits := head
	switch {
	case err != nil || head == known || head == "":
		p.rewrote = err == nil && head != known
		return p
	case known != "":
		if ancestor, err := repo.IsAncestor(ctx, known, head); err == nil && ancestor {
			commits = known + ".." + head
		} else { // also where git has forgotten the old commit
			p.rewrote = true
		}
	}
	out, err := repo.Run(ctx, logArgs(commits)...)
	if err == nil {
		p.commits, err = parseLog(out)
	}
	if err != nil {
		p.err = fmt.Errorf("read the history: %w", err)
	}
	return p
}

// history brings the commits up to date.
func (x *indexer) history(ctx context.Context, p past) error {
	if p.err != nil {
		return p.err
	}
	added := x.added
	if p.rewrote {
		if err := x.tx.ClearHistory(ctx, x.state.ID); err != nil {
			return err
		}
	}
	if p.rewrote || x.state.Head == "" {
		added = nil // nothing is known of any path
	}
	x.state.Head, x.res.Commits = p.head, len(p.commits)
	return x.tx.AddHistory(ctx, x.state.ID, p.commits, x.ids, added)
}
