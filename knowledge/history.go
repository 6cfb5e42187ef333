package knowledge

import (
	"context"
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

// history brings the commits up to date. What is known up to an ancestor of HEAD is kept; after a rebase all is read
// anew. It returns how many commits were read.
func history(ctx context.Context, tx *store.CuratedTx, repo *git.Repo, state *store.RepoState, head string, files map[string]int64, added []int64) (int, error) {
	commits := head
	if state.Head != "" {
		if head == "" {
			commits = ""
		} else if state.Head == head {
			commits = ""
		} else if known, err := repo.IsAncestor(ctx, state.Head, head); err == nil && known {
			commits = state.Head + ".." + head
		} else { // also where git has forgotten the old commit
			if err := tx.ClearHistory(ctx, state.ID); err != nil {
				return 0, err
			}
			added = nil
		}
	}
	var read []store.Touched
	if commits != "" {
		out, err := repo.Run(ctx, logArgs(commits)...)
		if err != nil {
			return 0, fmt.Errorf("read the history: %w", err)
		}
		if read, err = parseLog(out); err != nil {
			return 0, err
		}
	}
	if state.Head == "" {
		added = nil // nothing is known of any path
	}
	if err := tx.AddHistory(ctx, state.ID, read, files, added); err != nil {
		return 0, err
	}
	state.Head = head
	return len(read), nil
}
