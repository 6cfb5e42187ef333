package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/training"
)

// lesson is a stage's prompt with the expected answer.
type lesson struct {
	system     string
	prompt     string
	completion string
	texts      []*source // files whose contents are in the prompt
	signals    []training.Signal
}

// analysed is the answer to the analysis of a task, with the fields of that stage.
type analysed struct {
	Intent   string   `json:"intent"`
	Kind     string   `json:"task_type"`
	Concepts []string `json:"concepts"`
	Symbols  []string `json:"symbols"`
	Domain   string   `json:"domain"`
	Module   string   `json:"module"`
}

// analysis teaches what a task is about: the message is the task, and the answer follows from the changes of the
// commit (TRAIN-12).
func (m *maker) analysis(w *work, q query) (lesson, string) {
	a := analysed{Intent: q.intent, Kind: string(q.kind), Concepts: []string{}, Symbols: w.suggested(q),
		Module: w.module()}
	for _, k := range q.keywords {
		if len(a.Concepts) < 5 && len(k) > 3 &&
			!slices.ContainsFunc(q.symbols, func(s string) bool { return slices.Contains(retrieve.Humps(s), k) }) {
			a.Concepts = append(a.Concepts, phrase.Cut(k, 60))
		}
	}
	prompt, err := m.Retrieval.Render("task_analysis", map[string]string{
		"overview": w.tree.overview(), "task": q.fenced, "files": retrieve.Listed(q.files, 30),
		"symbols": retrieve.Listed(q.symbols, 30),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	texts := w.before()
	return lesson{prompt: prompt, completion: marshal(a), texts: texts, signals: []training.Signal{
		training.Known("files_known_before", float64(len(texts))/float64(len(w.changes)),
			fmt.Sprintf("%d of %d changed files existed", len(texts), len(w.changes))),
	}}, ""
}

// fenced returns a task as it appears in retrieval prompts. The guard of each example hides secrets.
func fenced(task string) string {
	return strings.TrimSpace(fence.Around("", fence.Clean(strings.TrimSpace(task))))
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always encode
	}
	return string(b)
}

// suggested returns needed symbols that the task does not name: changed ones first, then used ones.
func (w *work) suggested(q query) []string {
	out := []string{}
	add := func(name string) {
		if len(out) < 8 && len(name) <= 80 && !slices.Contains(out, name) && !slices.Contains(q.symbols, name) {
			out = append(out, name)
		}
	}
	for _, c := range w.changes {
		for _, i := range c.touched {
			add(c.before.symbols[i].name)
		}
	}
	for _, d := range w.deps {
		for _, u := range d.uses {
			add(u)
		}
	}
	return out
}

// module returns the folder that contains most of a change.
func (w *work) module() string {
	count := map[string]int{}
	best := ""
	for _, c := range w.changes {
		d := path.Base(path.Dir(c.path))
		count[d]++
		if best == "" || count[d] > count[best] {
			best = d
		}
	}
	if best == "." || len(best) > 60 {
		return ""
	}
	return best
}

// candidate is a file that scope asks about.
type candidate struct {
	*source
	why      string
	tier     int
	relevant bool
	reason   string
}

// scope teaches which files matter (TRAIN-12): changed files and files that the changed code uses. Files that only
// resemble the task do not.
func (m *maker) scope(w *work, q query) (lesson, string) {
	var sure []string
	var all []candidate
	changed := 0
	suggested := w.suggested(q)
	for _, c := range w.changes {
		if c.before == nil {
			continue
		}
		if q.names(c.before) != "" {
			sure = append(sure, c.path)
		} else if why := q.suspects(c, suggested); why != "" { // else no stage would offer it
			changed++
			all = append(all, candidate{source: c.before, why: why, tier: 1, relevant: true, reason: "it must be changed"})
		}
	}
	for _, list := range [][]related{w.deps, w.others} {
		for _, r := range list {
			if q.names(r.source) != "" {
				sure = append(sure, r.path)
				continue
			}
			x := candidate{source: r.source, why: r.why, tier: r.tier, relevant: len(r.uses) > 0,
				reason: "no part of it changes"}
			if x.relevant {
				x.reason = phrase.Cut("the change uses "+r.uses[0]+" of it", 80)
			}
			all = append(all, x)
		}
	}
	if changed == 0 && len(w.deps) == 0 {
		return lesson{}, "no relevant file would be offered"
	}
	relevant := lists.Count(all, func(c candidate) bool { return c.relevant })
	if relevant == 0 || relevant == len(all) {
		return lesson{}, "there is only one choice"
	}
	slices.SortStableFunc(all,
		func(a, b candidate) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.path, b.path)) })
	var lines, answer []string
	var texts []*source
	for i, c := range all {
		id := fmt.Sprintf("f%02d", i+1)
		lines = append(lines, c.line(id))
		answer = append(answer, fmt.Sprintf("%q:%s", id, marshal(verdict{c.relevant, c.reason})))
		texts = append(texts, c.source)
	}
	slices.Sort(sure)
	prompt, err := m.Retrieval.Render("scope", map[string]string{
		"task": q.fenced, "intent": q.intent, "kind": string(q.kind), "seeds": retrieve.Listed(slices.Compact(sure), 40),
		"candidates": fenced(strings.Join(lines, "\n")),
	})
	if err != nil {
		return lesson{}, err.Error()
	}
	needed := training.Known("files_needed", float64(changed+len(sure))/float64(changed+len(sure)+relevant-changed),
		fmt.Sprintf("%d of the relevant files are changed", changed+len(sure)))
	return lesson{prompt: prompt, completion: "{" + strings.Join(answer, ",") + "}", texts: texts,
		signals: []training.Signal{needed}}, ""
}

// verdict is scope's answer for a file.
type verdict struct {
	Relevant bool   `json:"relevant"`
	Reason   string `json:"reason"`
}

// line describes a candidate as scope does.
func (c candidate) line(id string) string {
	text := fmt.Sprintf("%s  %s  (%s)", id, fence.Line(c.path), c.why)
	about := slices.DeleteFunc([]string{c.about, c.top}, func(s string) bool { return s == "" })
	if len(about) > 0 {
		text += ": " + strings.Join(about, "; ")
	}
	return text
}
