package blueprint

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/runplan/runplan/internal/phrase"
)

// AddOpenQuestions adds questions to the text of a blueprint and preserves everything else, including comments. It
// skips questions that are already in it and puts new ones first; added counts the new ones.
func AddOpenQuestions(name string, src []byte, questions []string) (out []byte, added int, err error) {
	b, err := Parse(name, src)
	if err != nil {
		return nil, 0, err
	}
	var fresh []string
	for _, q := range questions {
		if q = phrase.Line(q); q != "" && !slices.Contains(b.Intent.OpenQuestions, q) && !slices.Contains(fresh, q) {
			fresh = append(fresh, q)
		}
	}
	if len(fresh) == 0 {
		return src, 0, nil
	}
	want := slices.Concat(fresh, b.Intent.OpenQuestions)
	out = insertQuestions(src, b, fresh, want)
	after, err := Parse(name, out)
	if err != nil || !slices.Equal(after.Intent.OpenQuestions, want) || digestOf(after) != digestOf(b) {
		// The insertion does not understand this layout: the whole file is rewritten, without its comments.
		b.Intent.OpenQuestions = want
		out = []byte(b.YAML())
		if after, err = Parse(name, out); err != nil || !slices.Equal(after.Intent.OpenQuestions, want) {
			return nil, 0, errors.Join(fmt.Errorf("%s: the open questions could not be added; add them by hand", name), err)
		}
	}
	return out, len(fresh), nil
}

// insertQuestions inserts lines next to the existing questions, in place of an empty list, or at the end of the intent.
func insertQuestions(src []byte, b *Blueprint, fresh, all []string) []byte {
	d := &decoder{path: b.file, lines: map[string]int{}}
	root := d.mapping(string(src))
	if root == nil {
		return src
	}
	found := entry(root, "intent")
	if found == nil {
		return src
	}
	intent, _ := found.Value.(*ast.MappingNode)
	if intent == nil || len(intent.Values) == 0 {
		return src
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	indent := max(intent.Values[0].Key.GetToken().Position.Column-1, 0)
	items := func(list []string, at int) []byte {
		var w bytes.Buffer
		for _, q := range list {
			fmt.Fprintf(&w, "%s- %s\n", strings.Repeat(" ", at), yamlText(q))
		}
		return w.Bytes()
	}
	old := entry(intent, "open_questions")
	if old == nil {
		at := b.lines["intent"] // the line of the key; the list follows it
		text := append([]byte(strings.Repeat(" ", indent)+"open_questions:\n"), items(fresh, indent+2)...)
		return splice(lines, at, at, text)
	}
	key := lineOf(old.Key)
	seq, _ := old.Value.(*ast.SequenceNode)
	if seq == nil || seq.IsFlowStyle || len(seq.Values) == 0 {
		text := append([]byte(strings.Repeat(" ", indent)+"open_questions:\n"), items(all, indent+2)...)
		return splice(lines, key-1, key, text)
	}
	at := indent + 2
	if seq.Start != nil && seq.Start.Position != nil {
		at = max(seq.Start.Position.Column-1, 0)
	}
	first := lineOf(seq.Values[0])
	return splice(lines, first-1, first-1, items(fresh, at))
}

// splice replaces the lines from..to with text.
func splice(lines [][]byte, from, to int, text []byte) []byte {
	if from < 0 || to > len(lines) || from > to {
		return bytes.Join(lines, nil)
	}
	head := bytes.Join(lines[:from], nil)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		head = append(head, '\n')
	}
	return slices.Concat(head, text, bytes.Join(lines[to:], nil))
}
