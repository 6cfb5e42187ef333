package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/knowledge/retrieve"

	"github.com/runplan/runplan/internal/language"
)

// piece is a range of lines of a file in the result: complete, or only as a description.
type piece struct {
	path       string
	start, end int
	chars      int
	described  bool // its lines are not shown
}

// readCode reads the files of code of a checkout.
func readCode(dir string) ([]retrieve.Lines, error) {
	out, err := run(dir, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	var all []retrieve.Lines
	for name := range strings.SplitSeq(out, "\x00") {
		if !language.IsCode(name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(data) > 1<<20 || strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) {
			continue
		}
		all = append(all,
			retrieve.Lines{Path: name, Lines: strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")})
	}
	return all, nil
}

// bm25 orders windows by their BM25 score.
func bm25(all []retrieve.Window) []piece {
	return ordered(all, func(w retrieve.Window) float64 { return w.Score })
}

// grep orders whole files by the number of task words in them, then by their frequency.
func grep(all []retrieve.Window, task string) []piece {
	words := retrieve.PlainWords(task)
	return ordered(all, func(w retrieve.Window) float64 {
		score := 0
		for i, n := range w.Counts {
			if n > 0 && len(words[i]) > 2 {
				score += 1000 + min(n, 999)
			}
		}
		return float64(score)
	})
}

// ordered returns the windows with a value, the highest first.
func ordered(all []retrieve.Window, value func(retrieve.Window) float64) []piece {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y retrieve.Window) int { return cmp.Compare(value(y), value(x)) })
	var out []piece
	for _, w := range all {
		if value(w) > 0 {
			out = append(out, piece{w.Path, w.Start, w.End, w.Chars, false})
		}
	}
	return out
}

// fill takes pieces in order while they fit.
func fill(ranked []piece, chars int) []piece {
	var out []piece
	for _, p := range ranked {
		if p.chars <= chars {
			chars -= p.chars
			out = append(out, p)
		}
	}
	return out
}
