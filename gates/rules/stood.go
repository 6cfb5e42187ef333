package rules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// report adds the findings to the report. A finding that the base had already is known: it is a remark, whatever the
// severity of its rule.
//
// It is known if the same rule found the same line in the base, ignoring white space: in the same file, or in a file
// that no longer has the line. A warning is also known if the line only changed after its first bracket. Of several
// equal findings, only as many are known as the base had. look searches the files of the base, by path; it is called
// only if there are findings. If the change is unknown, all findings are new.
func report(ctx context.Context, l *gates.Look, found []gates.Finding,
	look func(map[string][]byte) ([]gates.Finding, error)) error {
	if diff := l.Subject().Diff; diff != nil && len(found) > 0 {
		files, _, err := gates.Files(ctx, diff, func(c gates.Change) bool { return !c.Link })
		if err != nil {
			return err
		}
		before := map[string][]byte{}
		for _, f := range files {
			if f.Before != "" {
				before[f.Path] = []byte(f.Before)
			}
		}
		if len(before) > 0 {
			old, err := look(before)
			if err != nil {
				return fmt.Errorf("check the base: %w", err)
			}
			mark(found, old, files)
		}
	}
	for _, f := range found {
		l.Find(f)
	}
	return nil
}

// mark marks findings that are in old as known.
func mark(found, old []gates.Finding, files []gates.File) {
	now, before, fresh := map[string][]string{}, map[string][]string{}, map[string]map[int]bool{}
	for _, f := range files {
		now[f.Path], before[f.Path] = strings.Split(f.After, "\n"), strings.Split(f.Before, "\n")
		fresh[f.Path] = f.FreshLines()
	}
	key := func(f gates.Finding, texts map[string][]string) string {
		text := ""
		if lines := texts[f.Path]; f.Line > 0 && f.Line <= len(lines) {
			text = phrase.Line(lines[f.Line-1])
		}
		return f.Rule + "\x00" + text + "\x00" + f.Message
	}
	left := map[string]map[string]int{} // unmatched old findings: by key, then by file
	for _, f := range old {
		k := key(f, before)
		if left[k] == nil {
			left[k] = map[string]int{}
		}
		left[k][f.Path]++
	}
	// If there are more of a kind than before, those on changed lines are the new ones.
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	touched := func(f gates.Finding) int {
		for n := range 3 { // a rule over several lines reports the first line
			if fresh[f.Path][f.Line+n] {
				return 1
			}
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int { return touched(found[a]) - touched(found[b]) })
	take := func(i int, path string) bool {
		k := key(found[i], now)
		if left[k][path] == 0 {
			return false
		}
		left[k][path]--
		found[i].Known, found[i].Severity = true, gates.Note
		return true
	}
	rest := lists.Filter(order, func(i int) bool { return !take(i, found[i].Path) })
	rest = lists.Filter(rest, func(i int) bool { // it moved here from another file
		for path := range left[key(found[i], now)] {
			if path != found[i].Path && take(i, path) {
				return false
			}
		}
		return true
	})
	// A warning stays known if the rest of its line changed: def load(path, seen=[], deep=False).
	heads := map[string]int{}
	head := func(f gates.Finding, texts map[string][]string) string {
		text, _, _ := strings.Cut(key(f, texts), "(")
		return f.Path + "\x00" + f.Message + "\x00" + text
	}
	for _, f := range old {
		if k := key(f, before); left[k][f.Path] > 0 {
			left[k][f.Path]--
			heads[head(f, before)]++
		}
	}
	for _, i := range rest {
		if f := &found[i]; f.Severity == gates.Warning && heads[head(*f, now)] > 0 {
			heads[head(*f, now)]--
			f.Known, f.Severity = true, gates.Note
		}
	}
}

// laid writes the files of the base into a temporary folder for a program to read.
func laid(files map[string][]byte, look func(dir string, paths []string) error) error {
	dir, err := os.MkdirTemp("", "runplan-rules-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var paths []string
	for path, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return look(dir, paths)
}
