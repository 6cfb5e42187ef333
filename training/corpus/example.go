package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/knowledge/summary"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// idioms is the number of summaries of live code in a prompt (TRAIN-19).
const idioms = 3

// Idiom is a summary of a file of a live unit. It shows the style of the code base.
type Idiom struct {
	Unit string
	File summary.Summary
}

const systemText = `You write the code of a unit so that it keeps all promises of its blueprint: its purpose,
interfaces, dependencies and failure handling.
For each file, write a line "` + head + `{unit}/{file}", then the whole text of the file.`

// Messages returns the prompt to write the code of a unit or of one of its files: task, blueprint, idioms, and the
// files to write. It contains no chat tokens (TRAIN-20).
func Messages(unit, file, yaml string, shown []Idiom) []training.Message {
	var w strings.Builder
	fmt.Fprintf(&w, "BLUEPRINT:\n%s\n", strings.TrimSpace(yaml))
	if len(shown) > 0 {
		w.WriteString("\nHOW LIVE CODE LOOKS HERE:\n")
		for _, s := range shown {
			fmt.Fprintf(&w, "\n%s\n", strings.TrimSpace(s.File.PromptText()))
		}
	}
	if file == "" {
		fmt.Fprintf(&w, "\nWrite all source files of: %s\n", unit)
	} else {
		fmt.Fprintf(&w, "\nWrite one file of %s: %s\n", unit, blockName(unit, file))
	}
	return training.Question(systemText, w.String())
}

var identifier = lazyre.New(`[A-Za-z][A-Za-z0-9_]{2,}`)

func words(s string) map[string]bool {
	return lists.SetBy(identifier.FindAllString(s, -1), strings.ToLower)
}

// Relevant returns the summaries that share the most words with a blueprint, by Jaccard similarity. It skips summaries
// of the unit itself, because they would reveal the answer.
func Relevant(unit, yaml string, all []Idiom) []Idiom {
	want := words(yaml)
	type scored struct {
		Idiom
		score float64
	}
	var list []scored
	for _, i := range all {
		if i.Unit == unit {
			continue
		}
		have := words(i.File.PromptText())
		both := 0
		for w := range have {
			if want[w] {
				both++
			}
		}
		score := 0.0
		if both > 0 {
			score = float64(both) / float64(len(have)+len(want)-both)
		}
		list = append(list, scored{i, score})
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.File.Path, b.File.Path))
	})
	return lists.Map(list[:min(idioms, len(list))], func(s scored) Idiom { return s.Idiom })
}

// Example converts the pair into an example. A pair that failed gives a negative example with the rejected code.
func (p Pair) Example(spec curriculum.Spec, from training.Origin, all []Idiom) (training.Example, error) {
	yaml, file := p.Blueprint, ""
	if p.File != nil {
		file = *p.File
		yaml = cmp.Or(p.Scoped, yaml)
	}
	code, err := Blocks(p.Service, p.Output)
	if err != nil {
		return training.Example{}, err
	}
	quality := p.Fidelity
	positive := 1.0
	if p.Outcome == Failed {
		positive = 0
	}
	from.Receipt, from.Unit, from.At = p.ReviewSHA256, p.Service, p.CreatedAt.UTC()
	from.Files = training.SortedFiles(lists.Map(p.Output,
		func(f Source) training.File {
			return training.File{Path: f.Path, Blob: git.BlobName([]byte(f.Text), 40)}
		}))
	signals := []training.Signal{{Name: "fidelity", Value: &quality},
		{Name: "promoted", Value: &positive, Note: string(p.Outcome)}}
	if p.Outcome == Modified {
		// The review judged the code before the changes. The quality of the changed code is unknown.
		signals[0].Name = "fidelity_before_changes"
	}
	e := training.Example{
		Stage: spec.Stage, Base: spec.Base(), Source: training.Logged, Kind: p.Type,
		Prompt:     Messages(p.Service, file, yaml, Relevant(p.Service, yaml, all)),
		Completion: code, Positive: p.Outcome != Failed, Signals: signals, Origin: from,
	}
	if p.Outcome != Modified {
		e.Quality = &quality
	}
	return e, nil
}
