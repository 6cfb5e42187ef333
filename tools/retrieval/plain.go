package main

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/runplan/runplan/knowledge/retrieve"

	"github.com/runplan/runplan/internal/language"
)

// window is the number of lines in a chunk of the plain search.
const window = 40

// piece is a range of lines of a file in the result: complete, or only as a description.
type piece struct {
	path       string
	start, end int
	chars      int
	described  bool // its lines are not shown
}

// text is a file of code.
type text struct {
	path  string
	lines []string
}

// readCode reads the files of code of a checkout.
func readCode(dir string) ([]text, error) {
	out, err := run(dir, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	var all []text
	for name := range strings.SplitSeq(out, "\x00") {
		if !language.IsCode(name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(data) > 1<<20 || strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) {
			continue
		}
		all = append(all, text{name, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")})
	}
	return all, nil
}

// wordsOf returns the words of a text for a plain search: whole names and their parts, in lower case.
func wordsOf(s string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(s,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		parts := retrieve.Humps(w)
		out = append(out, parts...)
		if len(parts) > 1 {
			out = append(out, strings.ToLower(w))
		}
	}
	return out
}

// document is a unit that BM25 ranks.
type document struct {
	piece
	count map[string]int
	words int
}

func documents(all []text, lines int) []document {
	var out []document
	for _, t := range all {
		step := lines
		if step == 0 {
			step = max(1, len(t.lines))
		}
		for from := 0; from < len(t.lines); from += step {
			to := min(from+step, len(t.lines))
			body := strings.Join(t.lines[from:to], "\n")
			d := document{piece: piece{path: t.path, start: from + 1, end: to, chars: len([]rune(body)) + len(t.path) + 8},
				count: map[string]int{}}
			for _, w := range wordsOf(t.path + "\n" + body) {
				d.count[w]++
				d.words++
			}
			out = append(out, d)
		}
	}
	return out
}

// bm25 orders documents by their BM25 score for a task, with the usual constants.
func bm25(docs []document, task string) []piece {
	const k1, b = 1.2, 0.75
	words := slices.Compact(slices.Sorted(slices.Values(wordsOf(task))))
	df := map[string]int{}
	total := 0
	for _, d := range docs {
		total += d.words
		for _, w := range words {
			if d.count[w] > 0 {
				df[w]++
			}
		}
	}
	mean := float64(total) / float64(max(1, len(docs)))
	score := make([]float64, len(docs))
	order := make([]int, len(docs))
	for i, d := range docs {
		order[i] = i
		for _, w := range words {
			if n := float64(d.count[w]); n > 0 {
				idf := math.Log(1 + (float64(len(docs)-df[w])+0.5)/(float64(df[w])+0.5))
				score[i] += idf * n * (k1 + 1) / (n + k1*(1-b+b*float64(d.words)/mean))
			}
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(score[y], score[x]) })
	var out []piece
	for _, i := range order {
		if score[i] > 0 {
			out = append(out, docs[i].piece)
		}
	}
	return out
}

// grep orders whole files by the number of task words in them, then by their frequency.
func grep(docs []document, task string) []piece {
	words := slices.Compact(slices.Sorted(slices.Values(wordsOf(task))))
	score := make([]int, len(docs))
	order := make([]int, len(docs))
	for i, d := range docs {
		order[i] = i
		for _, w := range words {
			if n := d.count[w]; n > 0 && len(w) > 2 {
				score[i] += 1000 + min(n, 999)
			}
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(score[y], score[x]) })
	var out []piece
	for _, i := range order {
		if score[i] > 0 {
			out = append(out, docs[i].piece)
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
