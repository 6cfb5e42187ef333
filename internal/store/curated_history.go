package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/runplan/runplan/internal/lists"
)

// CoChangeLimit is the largest number of files in a commit that counts for co-change. A larger commit is a move, a
// reformatting or an import of third-party code, and would connect everything.
const CoChangeLimit = 50

// Touched is a commit with the paths that it touched.
type Touched struct {
	Commit
	Paths []string
	Words string // of its message, in the form of the search
}

// ClearHistory deletes all commits of a repository.
func (t *CuratedTx) ClearHistory(ctx context.Context, repo int64) error {
	for _, query := range []string{
		"DELETE FROM history WHERE commit_id IN (SELECT id FROM commits WHERE repo_id = ?)",
		"DELETE FROM co_changes WHERE file_a_id IN (SELECT id FROM files WHERE repo_id = ?)",
		"DELETE FROM commit_words WHERE rowid IN (SELECT id FROM commits WHERE repo_id = ?)",
		"DELETE FROM commits WHERE repo_id = ?",
	} {
		if err := t.exec(ctx, "delete the history", query, repo); err != nil {
			return err
		}
	}
	return nil
}

// pair is two files, the one with the lower id first.
type pair struct{ a, b int64 }

// together counts the commits in which pairs of files were touched, and keeps the latest commit.
type together map[pair]*seen

type seen struct {
	n          int
	time, last string
}

func (m together) add(files []int64, at, hash string, only func(a, b int64) bool) {
	for i, a := range files {
		for _, b := range files[:i] {
			if only != nil && !only(a, b) {
				continue
			}
			p := pair{min(a, b), max(a, b)}
			s := m[p]
			if s == nil {
				s = &seen{}
				m[p] = s
			}
			s.n++
			if at > s.time || at == s.time && hash > s.last {
				s.time, s.last = at, hash
			}
		}
	}
}

// AddHistory adds commits, oldest first, to files given by path; an error among them ends it. It ignores commits that
// are stored already: if the dates of commits are in no order, git also lists commits before the start of a range.
// added are the files that are new in this index: they get the known earlier history of their paths.
func (t *CuratedTx) AddHistory(ctx context.Context, repo int64, commits iter.Seq2[Touched, error],
	files map[string]int64, added []int64) error {
	pairs := together{}
	if len(added) > 0 {
		if err := t.adoptHistory(ctx, repo, added, pairs); err != nil {
			return err
		}
	}
	if commits != nil {
		if err := t.newCommits(ctx, repo, commits, files, pairs); err != nil {
			return err
		}
	}
	return t.writePairs(ctx, repo, pairs)
}

func (t *CuratedTx) newCommits(ctx context.Context, repo int64, commits iter.Seq2[Touched, error],
	files map[string]int64, pairs together) error {
	paths := map[string]int64{}
	known, err := rows[Tally](ctx, t.tx, "paths of the history", "SELECT path, id FROM history_paths")
	if err != nil {
		return err
	}
	for _, k := range known {
		paths[k.Name] = int64(k.Count)
	}
	var id int64
	if err := t.tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM commits").Scan(&id); err != nil {
		return fmt.Errorf("read commits: %w", explain(err))
	}
	last := id
	stored, err := t.tx.PrepareContext(ctx, "SELECT COUNT(*) FROM commits WHERE repo_id = ? AND hash = ?")
	if err != nil {
		return fmt.Errorf("read commits: %w", explain(err))
	}
	defer stored.Close()
	newPath, err := t.tx.PrepareContext(ctx, "INSERT INTO history_paths (path) VALUES (?)")
	if err != nil {
		return fmt.Errorf("write the history: %w", explain(err))
	}
	defer newPath.Close()
	for c, err := range commits {
		if err != nil {
			return err
		}
		if last > 0 {
			var n int
			if err := stored.QueryRowContext(ctx, repo, c.Hash).Scan(&n); err != nil {
				return fmt.Errorf("read commits: %w", explain(err))
			} else if n > 0 {
				continue
			}
		}
		id++
		if err := t.commits.add(ctx, id, repo, c.Hash, c.Author, c.Message, c.Time, int64(c.Files), c.Insertions,
			c.Deletions); err != nil {
			return err
		}
		if c.Words != "" {
			if err := t.messages.add(ctx, id, c.Words); err != nil {
				return err
			}
		}
		var touched []int64
		for _, p := range c.Paths {
			at, ok := paths[p]
			if !ok {
				if at, err = inserted(newPath.ExecContext(ctx, p)); err != nil {
					return fmt.Errorf("write the history: %w", explain(err))
				}
				paths[p] = at
			}
			if err := t.historyRows.add(ctx, id, at); err != nil {
				return err
			}
			if f, ok := files[p]; ok && !slices.Contains(touched, f) {
				touched = append(touched, f)
			}
		}
		if c.Files <= CoChangeLimit {
			pairs.add(touched, c.Time, c.Hash, nil)
		}
	}
	for _, b := range []*bulk{t.commits, t.historyRows} {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	return t.exec(ctx, "write the history", `INSERT INTO file_commits (file_id, commit_id)
		SELECT f.id, h.commit_id FROM history h JOIN history_paths p ON p.id = h.path_id JOIN files f ON f.repo_id = ? AND f.path = p.path
		WHERE h.commit_id > ? ORDER BY 1, 2 ON CONFLICT DO NOTHING`, repo, last)
}

// link is a commit that touched a file.
type link struct{ File, Commit int64 }

// adoptHistory gives new files of the index the commits that their paths already have.
func (t *CuratedTx) adoptHistory(ctx context.Context, repo int64, added []int64, pairs together) error {
	isNew, commits := lists.Set(added), map[int64]bool{}
	links, err := chunked(added, func(part []int64) ([]link, error) { // each part reads the whole history
		in, args := marks(part)
		return rows[link](ctx, t.tx, "the history of files",
			"SELECT f.id, h.commit_id FROM history h JOIN history_paths p ON p.id = h.path_id JOIN files f ON f.path = p.path "+
				"AND f.repo_id = ? JOIN commits c ON c.id = h.commit_id WHERE f.id IN ("+in+
				") AND c.repo_id = ? ORDER BY f.id, h.commit_id", append(append([]any{repo}, args...), repo)...)
	})
	if err != nil {
		return err
	}
	for _, l := range links {
		commits[l.Commit] = true
		if err := t.fileCommits.add(ctx, l.File, l.Commit); err != nil {
			return err
		}
	}
	if err := t.fileCommits.flush(ctx); err != nil {
		return err
	}
	for id := range commits { // the order does not matter: pairs are counted, and the latest is kept
		var c Commit
		if err := t.tx.QueryRowContext(ctx, "SELECT hash, timestamp, files_changed FROM commits WHERE id = ?",
			id).Scan(&c.Hash, &c.Time, &c.Files); err != nil {
			return fmt.Errorf("read a commit: %w", explain(err))
		}
		if c.Files > CoChangeLimit {
			continue
		}
		files, err := rows[int64](ctx, t.tx, "the files of a commit",
			"SELECT file_id FROM file_commits WHERE commit_id = ? ORDER BY file_id", id)
		if err != nil {
			return err
		}
		pairs.add(files, c.Time, c.Hash, func(a, b int64) bool { return isNew[a] || isNew[b] })
	}
	return nil
}

// writePairs adds pairs to the stored counts.
func (t *CuratedTx) writePairs(ctx context.Context, repo int64, pairs together) error {
	if len(pairs) == 0 {
		return nil
	}
	keys := slices.Collect(maps.Keys(pairs))
	slices.SortFunc(keys, func(x, y pair) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	// The later of two commits is decided by their times, then by their hashes, so that it does not matter whether
	// they were indexed together.
	b := newBulk(t.tx, "INSERT INTO co_changes (file_a_id, file_b_id, count, last_commit_hash)", 4,
		fmt.Sprintf(` ON CONFLICT (file_a_id, file_b_id) DO UPDATE SET count = count + excluded.count, last_commit_hash =
			(SELECT hash FROM commits WHERE repo_id = %d AND hash IN (co_changes.last_commit_hash, excluded.last_commit_hash) ORDER BY timestamp DESC, hash DESC LIMIT 1)`, repo), t.commits)
	for _, p := range keys {
		if err := b.add(ctx, p.a, p.b, int64(pairs[p].n), pairs[p].last); err != nil {
			return err
		}
	}
	return b.flush(ctx)
}
